"""Every fabric that a deployment may run on: how each is built for it, and which routes keys and values may take.

A wiring for a deployment: ports between prefill and decode servers, and the others inside each pool.

The degree of a server is split. ``across`` of its ports go to servers of the other pool, such that a prefill server
has as many different decode servers as it can and their groups overlap; the others join the servers of its own pool,
which exchange tokens of experts, as nearly regular as the ports allow. The remaining ports join the pools again.
"""

from collections.abc import Iterator

import numpy as np

from topoopt.base.arrays import Ints
from topoopt.base.errors import Infeasible, InvalidInput, NoRoute, TopoOptError
from topoopt.catalog import OWN, ClusterSpec
from topoopt.finder import FabricRequest, build_fabric, find_topology, lay_rings, named_wiring, wirings_of
from topoopt.inference.network.placement import Placement
from topoopt.inference.network.traffic import ServingTraffic
from topoopt.routing import Fabric, KShortestRoutes, Routes, balanced_routes
from topoopt.topologies import DirectWiring, Topology, wiring_of_arcs
from topoopt.workloads import Traffic

FAMILY = "prefill-decode"
MOST_FAMILIES = 3
"""Families of wirings that are tried, those of fewest hops first."""


WAYS = ("shortest", "spread")
"""Routing over cables between servers: shortest paths, weighted to minimize the fullest link's load; or paths of
up to one more hop, so that a burst has more links, at the cost of more bytes on all of them together."""


def serving_fabrics(
    name: str, cluster: ClusterSpec, placement: Placement, per_request: ServingTraffic, seed: int = 0
) -> Iterator[tuple[Fabric, str]]:
    """Yield the fabrics to try for a deployment, each with its routing; except for topoopt there is one wiring.

    Raises
    ------
    TopoOptError
        If it cannot be built for this many servers.
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


def candidate_wirings(cluster: ClusterSpec, placement: Placement, demand: Traffic) -> Iterator[DirectWiring]:
    """Yield wirings of the servers that a deployment uses, each with every server connected.

    Parameters
    ----------
    demand : Traffic
        Traffic with KV transfers between any replicas; the topology finder wires one topology for it.
    """
    n, degree = placement.servers, cluster.degree
    pools = _pools(placement)
    prefill, decode = pools or (np.arange(n), np.zeros(0, np.int64))
    for name in wirings_of(n, degree, "duplex")[:MOST_FAMILIES]:
        try:
            yield named_wiring(name, n, degree, "duplex")
        except Infeasible:
            continue
    if degree >= n - 1:
        yield pair_wiring(prefill, decode, n, degree, 0, mesh=True)
    for across in range(1, degree + 1) if pools else ():
        try:
            yield pair_wiring(prefill, decode, n, degree, across)
        except Infeasible:
            continue
    found = _found(cluster, demand)
    if found is not None:
        yield found


def _pools(placement: Placement) -> tuple[Ints, Ints] | None:
    """Return the servers of prefill and of decode, None where there is no prefill pool, or some server has both."""
    prefill, decode = np.unique(placement.prefill), np.unique(placement.decode)
    if not len(placement.prefill) or np.intersect1d(prefill, decode).size:
        return None
    return prefill, decode


def _found(cluster: ClusterSpec, demand: Traffic) -> DirectWiring | None:
    """Return the wiring found by TopologyFinder, None where there is no demand or it cannot be wired."""
    if not (len(demand.transfers) or demand.allreduce):
        return None
    try:
        fabric = find_topology(demand, degree=cluster.degree, bandwidth_bps=cluster.link_bandwidth_bps)
    except (InvalidInput, Infeasible, NoRoute):
        return None
    return wiring_of_topology(fabric.topology, cluster.degree)


def wiring_of_topology(topology: Topology, degree: int) -> DirectWiring:
    """Return the cables of a topology of servers alone, one for each port that two servers spend on each other."""
    src, dst = (np.repeat(end, topology.ports).astype(np.int64) for end in (topology.src, topology.dst))
    return wiring_of_arcs("by demand", "duplex", topology.servers, degree, (src, dst))


def pair_wiring(
    prefill: Ints, decode: Ints, servers: int, degree: int, across: int, mesh: bool = False
) -> DirectWiring:
    """Return the wiring.

    Parameters
    ----------
    prefill, decode : int64 arrays
        Servers of each pool; none of both.
    across : int
        Ports of a server to the other pool, at most; the larger pool has fewer in use.
    mesh : bool
        Whether every two servers are joined first; the remaining ports are used as above.

    Raises
    ------
    Infeasible
        If the servers are not all connected.
    """
    free = np.full(servers, degree)
    cables: list[tuple[int, int]] = []
    if mesh:
        cables += [(a, b) for a in range(servers) for b in range(a + 1, servers)]
        free -= servers - 1
        across = degree
    _add_across(cables, free, prefill, decode, across)
    for pool in (prefill, decode):
        _add_inside(cables, free, pool)
    _add_across(cables, free, prefill, decode, degree)
    ends = np.array(cables, np.int64).reshape(-1, 2)
    reached, fresh = {0}, [0]
    near: dict[int, list[int]] = {}
    for a, b in ends.tolist():
        near.setdefault(a, []).append(b)
        near.setdefault(b, []).append(a)
    while fresh:
        for one in near.get(fresh.pop(), []):
            if one not in reached:
                reached.add(one)
                fresh.append(one)
    connected = len(reached) == servers
    if not connected:
        raise Infeasible(f"wiring: {across} of {degree} ports to the other pool leave servers apart")
    arcs = np.concatenate((ends[:, 0], ends[:, 1])), np.concatenate((ends[:, 1], ends[:, 0]))
    if mesh:
        return wiring_of_arcs("full-mesh", "duplex", servers, degree, arcs)
    recipe = {"prefill": prefill.tolist(), "decode": decode.tolist(), "across": across}
    return wiring_of_arcs(FAMILY, "duplex", servers, degree, arcs, recipe)


def _add_across(cables: list[tuple[int, int]], free: Ints, prefill: Ints, decode: Ints, most: int) -> None:
    """Join prefill servers with windows of decode servers, each window some servers on from the one before."""
    count = min(int(np.minimum(free[prefill], most).sum()), int(np.minimum(free[decode], most).sum()))
    left = {int(one): min(int(free[one]), most) for one in (*prefill, *decode)}
    joined: dict[tuple[int, int], int] = {}
    for _ in range(count):
        source = max(prefill.tolist(), key=lambda one: (left[one], -one))
        if left[source] <= 0:
            return
        start = int(np.searchsorted(prefill, source)) * len(decode) // len(prefill)
        order = np.roll(decode, -start).tolist()
        end = min(
            order,
            key=lambda one: (left[one] <= 0, joined.get((source, one), 0), -left[one], order.index(one)),
        )
        if left[end] <= 0:
            return
        cables.append((source, end))
        joined[source, end] = joined.get((source, end), 0) + 1
        for one in (source, end):
            left[one] -= 1
            free[one] -= 1


def _add_inside(cables: list[tuple[int, int]], free: Ints, pool: Ints) -> None:
    """Join the servers of a pool with their remaining ports: a wiring of few hops, then servers with most ports
    left."""
    regular = int(free[pool].min()) if len(pool) > 1 else 0
    names = wirings_of(len(pool), regular, "duplex") if 2 <= regular < len(pool) - 1 else ()
    if names:
        src, dst = named_wiring(names[0], len(pool), regular, "duplex").arcs
        for a, b in zip(src.tolist(), dst.tolist(), strict=True):
            if a < b:
                _plug(cables, free, int(pool[a]), int(pool[b]))
    joined: dict[tuple[int, int], int] = {}
    for a, b in cables:
        joined[min(a, b), max(a, b)] = joined.get((min(a, b), max(a, b)), 0) + 1
    while True:
        able = [one for one in pool.tolist() if free[one] > 0]
        if len(able) < 2:
            return
        first = max(able, key=lambda one: (free[one], -one))
        others = [one for one in able if one != first]
        second = min(
            others, key=lambda one: (joined.get((min(first, one), max(first, one)), 0), -free[one], one)
        )
        key = min(first, second), max(first, second)
        joined[key] = joined.get(key, 0) + 1
        _plug(cables, free, first, second)


def _plug(cables: list[tuple[int, int]], free: Ints, a: int, b: int) -> None:
    cables.append((a, b))
    free[[a, b]] -= 1
