"""The grid of networks that one may buy: every degree, bandwidth, fabric and link technology."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from topoopt.base.errors import InvalidInput, check_known
from topoopt.base.units import format_bandwidth
from topoopt.catalog import NETWORKS, compared_by, largest_degree, networks_of

USUAL_LINKS = "pluggable"
"""Link technology that names do not say."""


@dataclass(frozen=True, slots=True, order=True)
class Network:
    """One point of the grid.

    Attributes
    ----------
    fabric : str
        A name of ``topoopt.catalog.networks_of("choose")``.
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
        return Network(NETWORKS[self.fabric].carried_as, self.degree, self.bandwidth_bps)

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


USUAL_DEGREES = (1, 2, 4, 8)
USUAL_BANDWIDTHS_BPS = (100e9, 200e9, 400e9, 800e9)
MOST_NETWORKS = 10_000
"""More are taken for a mistake."""


def network_grid(
    servers: int,
    degrees: Sequence[int] = USUAL_DEGREES,
    bandwidths_bps: Sequence[float] = USUAL_BANDWIDTHS_BPS,
    fabrics: Sequence[str] | None = None,
    links: Sequence[str] = (USUAL_LINKS,),
) -> tuple[Network, ...]:
    """Return every combination, each once, by fabric, degree and bandwidth.

    Raises
    ------
    InvalidInput
        For an axis without values, an unknown fabric, a degree that no server has, or a bandwidth that is none.
    """
    fabrics = compared_by("choose") if fabrics is None else fabrics
    axes: Mapping[str, Sequence[object]] = {
        "degrees": degrees,
        "bandwidths": bandwidths_bps,
        "fabrics": fabrics,
        "link_technologies": links,
    }
    for word, values in axes.items():
        if not values:
            raise InvalidInput(f"{word}: none leaves nothing to choose from; give one or more")
    for fabric in fabrics:
        if fabric in NETWORKS.sizings() and fabric not in networks_of("choose"):
            raise InvalidInput(
                f"fabrics: {fabric} has the bandwidth that the price of topoopt buys, and is no point of a grid; "
                "a fat-tree without blocking is ideal-switch, one with 2:1 oversub-fat-tree"
            )
        check_known("fabrics", fabric, networks_of("choose"))
    for degree in degrees:
        if not 1 <= degree <= largest_degree(servers):
            raise InvalidInput(
                f"degrees: {servers} servers can use 1..{largest_degree(servers)} ports each, got {degree}"
            )
    for bandwidth_bps in bandwidths_bps:
        if not 0 < bandwidth_bps < float("inf"):
            raise InvalidInput(f"bandwidths: expected bits per second above 0, got {bandwidth_bps}")
    count = prod(len(set(values)) for values in axes.values())
    if count > MOST_NETWORKS:
        raise InvalidInput(
            f"degrees × bandwidths × fabrics × link_technologies: {count:,} networks, allowed are "
            f"{MOST_NETWORKS:,}; take values out"
        )
    return tuple(
        Network(fabric, degree, float(bandwidth_bps), one)
        for fabric, degree, bandwidth_bps, one in dict.fromkeys(
            product(fabrics, degrees, bandwidths_bps, links)
        )
    )
