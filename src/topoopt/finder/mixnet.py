"""The fabric mixnet: a fat-tree of some ports of every server, and optical circuits inside regions for the others.

References
----------
.. [1] X. Liao et al., "MixNet", SIGCOMM 2025: 2 of 8 NICs electrical, regions of up to 64 accelerators.
"""

from topoopt.base.errors import InvalidInput
from topoopt.catalog import NETWORKS
from topoopt.finder.fabric_request import FabricRequest
from topoopt.routing import Fabric, RegionalReconfiguration, make_routes
from topoopt.topologies import fat_tree


def mixnet(request: FabricRequest) -> Fabric:
    """Return the electrical fat-tree, of full bisection, and the rule by which circuits follow the traffic.

    A quarter of a server's ports is electrical, and at least one, unless the shape says how many. Groups get no
    rings of their own: these go in member order over the electrical fabric.

    Raises
    ------
    InvalidInput
        If there is no port of one kind, or a number is outside what is possible.
    """
    degree, latency_s = request.degree, request.latency_s
    settings = request.shape.chosen("mixnet", NETWORKS["mixnet"].settings | {"routing"})
    routing, switches = settings.pop("routing", "ecmp"), settings.pop("switches", False)
    electrical = electrical_ports(degree, settings.pop("electrical_ports", None))
    each_bps = request.each_bps()
    electrical_bps = electrical * each_bps
    rule = RegionalReconfiguration(degree - electrical, each_bps, latency_s, electrical_bps, **settings)
    tree = fat_tree(request.servers, electrical_bps, latency_s, switches=switches)
    return Fabric("mixnet", tree, make_routes(routing, tree, request.seed), {}, rule)


def electrical_ports(degree: int, ports: int | None = None) -> int:
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
    if degree < 2:
        raise InvalidInput(
            f"mixnet: a server needs 2 ports or more, one electrical and one optical, got degree {degree}"
        )
    chosen = max(degree // 4, 1) if ports is None else ports
    if not 1 <= chosen < degree:
        raise InvalidInput(
            f"mixnet: electrical_ports must be 1..{degree - 1} of {degree} ports, got {chosen}"
        )
    return chosen
