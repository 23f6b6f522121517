"""Every fabric that a deployment may run on: how each is built for it, and which routes keys and values may take."""

from collections.abc import Iterator, Mapping

from topoopt.base.errors import TopoOptError
from topoopt.catalog import ClusterSpec
from topoopt.finder import FabricRequest, build_fabric, lay_rings
from topoopt.inference.network.demand import ServingTraffic
from topoopt.inference.network.placement import Placement
from topoopt.inference.network.wirings import candidate_wirings
from topoopt.routing import Fabric, KShortestRoutes, Routes, balanced_routes
from topoopt.topologies import DirectWiring, Topology

OWN = "topoopt"
SERVING_FABRICS: Mapping[str, str] = {
    OWN: "cables chosen for this deployment",
    "ideal-switch": "one non-blocking switch",
    "fat-tree": "full bisection",
    "rail": "leaf and spine for each interface",
    "full-mesh": "a link to every server, which share its bandwidth",
    "expander": "random regular graph",
    "torus": "most square torus",
}
"""Fabrics by name, with what they are; each gives a server all of its bandwidth."""

WAYS = ("shortest", "spread")
"""How bytes go over cables between servers: over shortest ways, weighted such that the fullest link is least full; or
split over ways of up to one hop more, so that a burst has more links and all of them together more bytes."""


def serving_fabrics(
    name: str, cluster: ClusterSpec, placement: Placement, per_request: ServingTraffic, seed: int = 0
) -> Iterator[tuple[Fabric, str]]:
    """Yield what a fabric may be for a deployment, each with its way; of all but topoopt one wiring.

    Raises
    ------
    TopoOptError
        If it cannot be built for so many servers.
    """
    if name != OWN:
        yield from _fixed(name, cluster, placement, per_request, seed)
        return
    for wiring in candidate_wirings(cluster, placement, per_request.as_traffic()):
        topology = wiring.topology(cluster.link_bandwidth_bps, cluster.link_latency_s)
        for way in WAYS:
            routes = _routes(topology, way, per_request)
            yield _with_rings(topology, routes, per_request, cluster.degree, seed, wiring), way


def _fixed(
    name: str, cluster: ClusterSpec, placement: Placement, per_request: ServingTraffic, seed: int
) -> Iterator[tuple[Fabric, str]]:
    request = FabricRequest(
        placement.servers,
        cluster.degree,
        cluster.link_bandwidth_bps,
        tuple(group.members for group in per_request.reduces),
        cluster.link_latency_s,
        cluster.server_bandwidth_bps,
        seed,
    )
    built = build_fabric(name, request)
    yield built, WAYS[0]
    if built.topology.nodes == built.topology.servers:
        routes = _routes(built.topology, WAYS[1], per_request)
        yield _with_rings(built.topology, routes, per_request, cluster.degree, seed, None, name), WAYS[1]


def _routes(topology: Topology, way: str, per_request: ServingTraffic) -> Routes:
    if way == WAYS[1]:
        return KShortestRoutes(topology, k=8, slack=1, weighting="inverse-length")
    try:
        return balanced_routes(topology, per_request.transfers, KShortestRoutes(topology))
    except TopoOptError:
        return KShortestRoutes(topology)


def _with_rings(
    topology: Topology,
    routes: Routes,
    traffic: ServingTraffic,
    degree: int,
    seed: int,
    wiring: DirectWiring | None,
    name: str = OWN,
) -> Fabric:
    rings = {
        group.members: lay_rings(topology, routes, group.members, degree, seed) for group in traffic.reduces
    }
    return Fabric(name, topology, routes, rings, wiring=wiring)
