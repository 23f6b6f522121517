"""Transfers shifted from the fullest links to other candidate paths, once a plan is found."""

from dataclasses import replace

from topoopt.job import Job, job_traffic
from topoopt.routing import Fabric, KShortestRoutes, balanced_routes
from topoopt.search.candidate import Candidate
from topoopt.search.worth import background, routing_gap, simulated

MOST_PATHS, MOST_DETOUR = 16, 2
"""Candidate paths of a pair and hops beyond the shortest: sparse demands come within 2 % of the optimum with
these and stay 30 to 70 % above it on shortest paths (random demands on 6 to 64 servers of degree 4)."""
LARGEST_FOR_BALANCING = 256
"""Servers above which candidate paths are not re-weighted: it takes longer than it gains."""
WORTH_BALANCING = 1e-3
"""Routing gap above which re-weighting the candidate paths is tried."""
LARGEST_FOR_ALL_WAYS = 256
"""Servers up to which direct links have equal splits over all shortest ways. Of a torus of 1,024 servers a pair has 130
links on these, and simulating them takes minutes and 10 GB; above, :data:`FEW_WAYS` shortest paths are taken."""
FEW_WAYS = 2


def usual_routes(fabric: Fabric, seed: int = 0) -> Fabric:
    """Return a fabric of direct links with fewer ways of a pair, where all of them would be too many."""
    topology = fabric.topology
    large = topology.servers > LARGEST_FOR_ALL_WAYS and topology.nodes == topology.servers
    if not large or fabric.routes.method != "ecmp":
        return fabric
    return replace(fabric, routes=KShortestRoutes(topology, k=FEW_WAYS, seed=seed))


def balanced(job: Job, candidate: Candidate) -> Candidate:
    """Return the candidate with other paths for its transfers, where these make the job faster."""
    fabric, traffic = candidate.fabric, job_traffic(job, candidate.strategy)
    if not traffic.mp_bytes or job.cluster.servers > LARGEST_FOR_BALANCING:
        return candidate
    if routing_gap(fabric, traffic, candidate.result).gap < WORTH_BALANCING:
        return candidate
    demand = traffic.mp_matrix()
    fixed = background(fabric, demand, candidate.result)
    best = candidate
    for paths in (fabric.routes, KShortestRoutes(fabric.topology, k=MOST_PATHS, slack=MOST_DETOUR)):
        routes = balanced_routes(fabric.topology, demand, paths, fixed)
        other = replace(fabric, routes=routes)
        again = replace(candidate, fabric=other, result=simulated(job, candidate.strategy, other))
        if again.time_s < best.time_s:
            best = again
    return best
