"""The noun Network: what one may buy, a fabric with so many ports of such a bandwidth at every server."""

from collections.abc import Mapping
from dataclasses import dataclass

from topoopt.base.units import format_bandwidth

USUAL_LINKS = "pluggable"
"""Link technology that names do not say."""

TIMED_AS: Mapping[str, str] = {"topoopt-ocs": "topoopt", "topoopt-hybrid": "topoopt"}
"""Fabrics that carry a job as another one does, of the same links: they are bought and rewired otherwise."""


@dataclass(frozen=True, slots=True, order=True)
class Network:
    """One point of the grid.

    Attributes
    ----------
    fabric : str
        A name of :data:`topoopt.studies.choice.CHOSEN_FABRICS`.
    degree : int
        Ports of a server.
    bandwidth_bps : float
        Of one port.
    links : str
        How the links are made: the technology of their ends.
    """

    fabric: str
    degree: int
    bandwidth_bps: float
    links: str = USUAL_LINKS

    @property
    def server_bandwidth_bps(self) -> float:
        """Bandwidth of all ports of a server together, each way: d·B."""
        return self.degree * self.bandwidth_bps

    @property
    def timed(self) -> "Network":
        """The network whose iteration times it has: neither who switches circuits nor what ends a link changes them."""
        return Network(TIMED_AS.get(self.fabric, self.fabric), self.degree, self.bandwidth_bps)

    @property
    def name(self) -> str:
        """What people call it.

        Examples
        --------
        >>> Network("topoopt", 4, 400e9).name, Network("rail", 8, 800e9, "linear").name
        ('topoopt 4 × 400 Gb/s', 'rail 8 × 800 Gb/s, linear')
        """
        links = "" if self.links == USUAL_LINKS else f", {self.links}"
        return f"{self.fabric} {self.degree} × {format_bandwidth(self.bandwidth_bps)}{links}"
