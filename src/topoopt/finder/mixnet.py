"""The fabric mixnet: a fat-tree of some ports of every server, and optical circuits inside regions for the others.

References
----------
.. [1] X. Liao et al., "MixNet", SIGCOMM 2025: 2 of 8 NICs electrical, regions of up to 64 accelerators.
"""

from dataclasses import dataclass

from topoopt.errors import InvalidInput
from topoopt.finder.fabric_request import FabricRequest
from topoopt.routing import Fabric, RegionalReconfiguration, make_routes
from topoopt.topology import fat_tree

MIXNET_DELAY_S = 25e-3
"""A change of circuits, as MixNet's testbed measures it."""

REGION_SERVERS = 8
"""Servers of a region: 64 accelerators in servers of 8."""

MIXNET_SETTINGS = frozenset(
    {"delay_s", "electrical_ports", "region_servers", "circuits", "hiding", "routing"}
)


@dataclass(frozen=True, slots=True)
class MixNetBuilder:
    """Builds the fabric; called like :class:`topoopt.finder.FabricBuilder`."""

    family: str = "mixnet"

    def __call__(self, request: FabricRequest) -> Fabric:
        """Return the electrical fat-tree, of full bisection, and the rule by which circuits follow the traffic.

        A quarter of a server's ports is electrical, and at least one, unless the shape says how many. Groups get no
        rings of their own: these go in member order over the electrical fabric.

        Raises
        ------
        InvalidInput
            If there is no port of one kind, or a number is outside what is possible.
        """
        degree, latency_s, shape = request.degree, request.latency_s, request.shape
        shape.refuse_all_but(self.family, MIXNET_SETTINGS)
        electrical = electrical_ports(degree, shape.electrical_ports)
        each_bps = request.each_bps()
        rule = RegionalReconfiguration(
            degree - electrical,
            each_bps,
            latency_s,
            electrical * each_bps,
            REGION_SERVERS if shape.region_servers is None else shape.region_servers,
            MIXNET_DELAY_S if shape.delay_s is None else shape.delay_s,
            shape.circuits or "break",
            shape.hiding or "all-but-first",
        )
        tree = fat_tree(request.servers, electrical * each_bps, latency_s, switches=shape.switches)
        return Fabric(self.family, tree, make_routes(shape.routing or "ecmp", tree, request.seed), {}, rule)


def electrical_ports(degree: int, asked: int | None = None) -> int:
    """Return how many of a server's ports are on the electrical fabric.

    Raises
    ------
    InvalidInput
        If none would be left for circuits, or none for the electrical fabric.

    Examples
    --------
    >>> [electrical_ports(degree) for degree in (2, 4, 8)], electrical_ports(8, 4)
    ([1, 1, 2], 4)
    """
    if degree < 1:
        raise InvalidInput(f"degree: must be at least 1, got {degree}")
    if degree < 2:
        raise InvalidInput(
            f"mixnet: a server needs 2 ports or more, one electrical and one optical, got degree {degree}"
        )
    chosen = max(degree // 4, 1) if asked is None else asked
    if not 1 <= chosen < degree:
        raise InvalidInput(
            f"mixnet: electrical_ports must be 1..{degree - 1} of {degree} ports, got {chosen}"
        )
    return chosen
