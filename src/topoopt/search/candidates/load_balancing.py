"""Transfers shifted from the fullest links to other paths, once a strategy is found: for plans and other fabrics."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.jobs import Job, job_traffic
from topoopt.routing import (
    Fabric,
    KShortestRoutes,
    Routes,
    balanced_routes,
    exact_max_load,
    lay_traffic,
    link_loads,
    max_load_s,
    turned_routes,
)
from topoopt.search.candidates.candidate import Candidate, background, simulated
from topoopt.topologies import Topology, hops_from, turn_of
from topoopt.workloads import Traffic, no_transfers

MOST_PATHS, MOST_DETOUR = 16, 2
"""Candidate paths of a pair and hops beyond the shortest: sparse demands come within 2 % of the optimum with
these and stay 30 to 70 % above it on shortest paths (random demands on 6 to 64 servers of degree 4)."""
LARGEST_FOR_DETOURS = 256
"""Servers up to which every pair has so many candidates. Above, it is half as many: where 64 of 512 servers exchange
with all others on a random graph these leave the fullest link 1 % fuller, shortest paths alone 33 %."""
MOST_STEPS = 40_000_000
"""Links of all candidate paths together above that size: 12 bytes each. Pairs have as many paths as that allows."""
WORTH_BALANCING = 1e-3
"""Excess of the fullest link over the least possible above which re-weighting the candidate paths is tried."""
LARGEST_FOR_ALL_WAYS = 256
"""Servers up to which direct links have equal splits over all shortest ways. Of a torus of 1,024 servers a pair has 130
links on these, and simulating them takes minutes and 10 GB; above, :data:`FEW_WAYS` shortest paths are taken."""
FEW_WAYS = 2


def usual_routes(fabric: Fabric, seed: int = 0) -> Fabric:
    """Return a fabric of direct links with fewer ways of a pair, where all of them would be too many."""
    large = fabric.topology.servers > LARGEST_FOR_ALL_WAYS and is_direct(fabric)
    if not large or fabric.routes.method != "ecmp":
        return fabric
    few = KShortestRoutes(fabric.topology, k=FEW_WAYS, seed=seed)
    return replace(fabric, routes=turned_routes(fabric.topology, few))


def is_direct(fabric: Fabric) -> bool:
    """Return whether servers forward for each other, over links that stay: then paths can be chosen."""
    return fabric.reconfiguration is None and fabric.topology.nodes == fabric.topology.servers


def balanced(job: Job, candidate: Candidate) -> Candidate:
    """Return the candidate with other paths for its transfers, where these make the job faster."""
    fabric, traffic = candidate.fabric, job_traffic(job, candidate.strategy)
    if not traffic.mp_bytes:
        return candidate
    if job.cluster.servers > LARGEST_FOR_DETOURS:
        others = [balanced_fabric(traffic, fabric)]
    else:
        demand, topology = traffic.mp_matrix(), fabric.topology
        fixed = background(fabric, demand, candidate.result)
        least = exact_max_load(topology, demand, fixed)  # an interval takes longer than to try
        busiest_s = max_load_s(topology, candidate.result.link_bytes)
        if least is not None and busiest_s <= least.lower_bound_s * (1 + WORTH_BALANCING):
            return candidate
        others = list(_rebalanced(traffic, fabric, fixed))
    best = candidate
    for other in others:
        if other is not fabric:
            result = simulated(job, candidate.strategy, other)
            best = min(best, candidate.with_result(result, job, other), key=lambda row: row.time_s)
    return best


def balanced_fabric(traffic: Traffic, fabric: Fabric) -> Fabric:
    """Return a fabric of direct links with the routes that leave its fullest link emptiest.

    It needs rings for the groups of the traffic. Where the fullest link stays as full it is returned itself. On many
    servers there is one set of candidate paths only, and nothing to choose from.
    """
    if not is_direct(fabric) or not traffic.mp_bytes:
        return fabric
    fixed, demand, topology = _ring_bytes(traffic, fabric), traffic.mp_matrix(), fabric.topology
    others = list(_rebalanced(traffic, fabric, fixed))
    if topology.servers > LARGEST_FOR_DETOURS:
        return others[0] if others else fabric
    best, least_s = fabric, max_load_s(topology, fixed + link_loads(topology, fabric.routes, demand))
    for other in others:
        peak_s = max_load_s(topology, fixed + link_loads(topology, other.routes, demand))
        if peak_s < least_s * (1 - WORTH_BALANCING):
            best, least_s = other, peak_s
    return best


def _ring_bytes(traffic: Traffic, fabric: Fabric) -> Floats:
    """Return the bytes on each link that are no transfers."""
    return lay_traffic("", "", replace(traffic, alltoall=(), transfers=no_transfers()), fabric).link_bytes


def _rebalanced(traffic: Traffic, fabric: Fabric, fixed: Floats) -> Iterator[Fabric]:
    """Yield the fabric with the weights of several sets of candidate paths, ``fixed`` bytes on its links anyway."""
    demand, topology = traffic.mp_matrix(), fabric.topology
    step = turn_of(topology, demand) if topology.servers > LARGEST_FOR_DETOURS else topology.servers
    for paths in _candidates(fabric, int(np.count_nonzero(demand[:step]))):
        routes = balanced_routes(topology, demand, paths, fixed, step)
        if routes is not fabric.routes:
            yield replace(fabric, routes=routes)


def _candidates(fabric: Fabric, pairs: int) -> Iterator[Routes]:
    """Yield sets of candidate paths, as many as so many pairs can have."""
    topology = fabric.topology
    if topology.servers <= LARGEST_FOR_DETOURS:
        # All equal paths would be too many, and ECMP lists 64 of them.
        yield KShortestRoutes(topology, k=8, slack=1) if fabric.routes.method == "ecmp" else fabric.routes
        yield KShortestRoutes(topology, k=MOST_PATHS, slack=MOST_DETOUR)
        return
    most = int(MOST_STEPS / (pairs * (1 + _mean_hops(topology))))
    if most >= 2:
        yield KShortestRoutes(topology, k=min(most, MOST_PATHS // 2), slack=MOST_DETOUR)


def _mean_hops(topology: Topology) -> float:
    """Return the mean hops from some servers: exact where all are alike."""
    some = np.arange(0, topology.servers, max(topology.servers // 16, 1))
    return float(hops_from(topology, some).mean())
