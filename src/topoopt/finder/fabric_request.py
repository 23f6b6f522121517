"""The noun FabricRequest: for which servers, interfaces and groups a fabric is built, and what some can be told."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from topoopt.base.errors import InvalidInput
from topoopt.catalog import DEFAULT_LATENCY_S


@dataclass(frozen=True, slots=True)
class FabricShape:
    """Settings of a fabric; what is left at its default is the fabric's own choice.

    Attributes
    ----------
    switches : bool
        Every switch is a node, as the packet simulator needs it; else parallel switches are merged into
        trunks, which is faster and, where traffic is spread over all paths, the same. Any fabric takes it.
    routing : str, optional
        Name in the table of routing methods, for all fabrics of fixed links.
    arity : int, optional
        The k of a k-ary fat-tree.
    oversubscription : float, optional
        Bandwidth into the first switch over bandwidth out of it; for fat-trees and rails.
    leaf_ports : int, optional
        Ports of a switch of a rail.
    strides : tuple of int
        Of the circulant that is called ``topoopt``.
    wiring : str
        In place of strides, of what is called ``topoopt``: a family of wirings or a wiring file.
    twisted : bool
        For a torus.
    delay_s : float, optional
        How long a change of circuits takes; for reconfigurable fabrics.
    host_forwarding : bool, optional
        Whether servers relay between changes of circuits; for reconfigurable fabrics.
    electrical_ports, region_servers : int, optional
        Ports of a server on the electrical fabric, and servers that circuits can join; for regional circuits.
    circuits, hiding : str, optional
        How regional circuits are chosen, and how much of a change is waited for; see
        :class:`topoopt.routing.RegionalReconfiguration`.
    """

    switches: bool = False
    routing: str | None = None
    arity: int | None = None
    oversubscription: float | None = None
    leaf_ports: int | None = None
    strides: tuple[int, ...] = ()
    twisted: bool = False
    delay_s: float | None = None
    host_forwarding: bool | None = None
    electrical_ports: int | None = None
    region_servers: int | None = None
    circuits: str | None = None
    hiding: str | None = None
    wiring: str = ""

    def chosen(self, fabric: str, known: frozenset[str]) -> dict[str, Any]:
        """Return what is set, by name, of the settings that the named fabric knows.

        Raises
        ------
        InvalidInput
            Naming the first setting that it knows nothing of; switches are passed over.
        """
        values = ((one.name, getattr(self, one.name), one.default) for one in fields(self))
        chosen = {name: value for name, value, usual in values if value != usual}
        for name, value in chosen.items():
            if name not in known | {"switches"}:
                takes = ", ".join(sorted(known - {"switches"})) or "none"
                raise InvalidInput(
                    f"fabric {fabric}: has no {name} to set, got {value}; what can be set here: {takes}"
                )
        return {name: value for name, value in chosen.items() if name in known}


AS_USUAL = FabricShape()
"""Everything the fabric's own choice, switches merged into trunks."""


@dataclass(frozen=True, slots=True)
class FabricRequest:
    """What every builder of a fabric takes.

    Attributes
    ----------
    servers : int
    degree, bandwidth_bps : int, float
        Interfaces of a server, and the bandwidth of one, each way.
    groups : sequence of tuple of int
        Members of each AllReduce group, as :attr:`topoopt.simulation.TaskGraph.groups` gives them: they get rings.
    latency_s : float
        Of one link.
    server_bandwidth_bps : float, optional
        All interfaces of a server together, in place of what the fabric has by default.
    seed : int
    shape : FabricShape
        What only some fabrics can be told.
    """

    servers: int
    degree: int
    bandwidth_bps: float
    groups: Sequence[tuple[int, ...]] = ()
    latency_s: float = DEFAULT_LATENCY_S
    server_bandwidth_bps: float | None = None
    seed: int = 0
    shape: FabricShape = AS_USUAL

    def __post_init__(self) -> None:
        if self.degree < 1:
            raise InvalidInput(f"degree: must be at least 1, got {self.degree}")

    def each_bps(self, share: float = 1.0) -> float:
        """Return the bandwidth of an interface; ``share`` of d·B is the default of all of them together."""
        together_bps = self.server_bandwidth_bps
        if together_bps is None:
            together_bps = self.degree * self.bandwidth_bps * share
        return together_bps / self.degree
