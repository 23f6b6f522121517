"""Wirings to simulate for a strategy, and transfers balanced over the links of a wiring.

The load is a cheap proxy that ignores when bytes are sent: AllReduce bytes on the fullest link, plus the mean of
the rest over all links. The simulation chooses among the few that remain.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from operator import itemgetter

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.base.errors import Infeasible, NoRoute
from topoopt.catalog import ClusterSpec
from topoopt.finder import LARGEST_MATRIX, STRIDES, FinderRules, is_wiring_file, layout_splits, wirings_of
from topoopt.jobs import Job, job_traffic
from topoopt.plans import ChosenWiring
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
from topoopt.search.candidates.candidate import (
    WHOLE,
    Candidate,
    background,
    fabric_for,
    same_links,
    simulated,
    with_rings,
)
from topoopt.search.options import SearchOptions
from topoopt.topologies import hops_from, turn_of
from topoopt.workloads import ParallelStrategy, Traffic, no_transfers

MOST_PATHS, MOST_DETOUR = 16, 2
"""Candidate paths of a pair and hops beyond the shortest: sparse demands come within 2 % of the optimum with
these and stay 30 to 70 % above it on shortest paths (random demands on 6 to 64 servers of degree 4)."""
LARGEST_FOR_DETOURS = 256
"""Servers up to which every pair has that many candidates; half as many above: where 64 of 512 servers exchange
with all others on a random graph these leave the fullest link 1 % fuller, shortest paths alone 33 %."""
MOST_STEPS = 40_000_000
"""Links of all candidate paths together above that size: 12 bytes each. Pairs have as many paths as that allows."""
WORTH_BALANCING = 1e-3
"""Excess of the fullest link over the least possible above which re-weighting the candidate paths is tried."""
LARGEST_FOR_ALL_WAYS = 256
"""Servers up to which direct links have equal splits over all shortest paths. A pair of a torus of 1,024 servers has
130 links on these, and simulating them takes minutes and 10 GB; above, :data:`FEW_WAYS` shortest paths are used."""
FEW_WAYS = 2
GROUPS = "group rings"
"""Name of the wiring by groups: replicas of parts of layers, each group separately, and the links between."""
CLIQUES = "cliques"
"""Name of the wiring that joins the servers of each expert exchange, and of its degree split."""
MOST_KEPT, FEWER_KEPT, MANY = 4, 2, 256
"""Wirings simulated per strategy, and fewer above a number of servers."""
FOR_ALL = ("proportional", WHOLE)
"""Degree splits by which the group of all servers always gets interfaces."""
LARGEST_FOR_OTHERS = 512
"""Servers of a transformer or of a traffic matrix above which all servers are joined along strides only: laying the
rings of its many groups over relays takes long, and gains nothing there."""
SLACK = 1.1
"""Factor of the load of the best strides up to which another wiring is simulated."""
_LARGEST_MATRIX = 2048


def splits_to_try(options: SearchOptions, splits: Iterable[str]) -> tuple[str, ...]:
    """Return the degree splits, that of the options first.

    Where one wiring of all servers is requested, others must not exclude it: they give all servers interfaces. A
    wiring file leaves nothing to split.
    """
    if is_wiring_file(options.wiring):
        return (options.degree_split,)
    all_of_them = dict.fromkeys((options.degree_split, *splits))
    named = options.wiring not in ("", STRIDES)
    return tuple(
        split for split in all_of_them if split in FOR_ALL or split == options.degree_split or not named
    )


def rules_to_try(cluster: ClusterSpec, options: SearchOptions, splits: tuple[str, ...]) -> list[FinderRules]:
    """Return the rules by which a strategy may be wired: the requested ones first, then strides."""
    usual = [replace(options.rules, degree_split=split) for split in splits_to_try(options, splits)]
    if not options.any_wiring:
        return usual
    names = wirings_of(cluster.servers, cluster.degree, cluster.links)
    return usual + [replace(rules, wiring=name) for name in names for rules in usual]


def most_kept(job: Job) -> int:
    """Return the number of wirings to simulate for a strategy of operators."""
    return MOST_KEPT if job.cluster.servers <= MANY else FEWER_KEPT


def kept_wirings(
    job: Job, strategy: ParallelStrategy, rules: list[FinderRules], seed: int, most: int
) -> list[tuple[FinderRules, Fabric]]:
    """Return the wirings on which to simulate a strategy, with its rings: the first rules, and those of least load.

    Among equal wirings, only the first is kept.
    """
    first, *others = _loaded(job, strategy, rules, seed)
    return [(one, fabric) for _, one, fabric in (first, *sorted(others, key=itemgetter(0))[: most - 1])]


def other_wirings(
    job: Job, strategy: ParallelStrategy, best: Fabric, options: SearchOptions, most: int
) -> list[tuple[FinderRules, Fabric]]:
    """Return the wirings, not of strides, that may be faster for a strategy than the best one of strides."""
    if not options.any_wiring or job.cluster.servers > LARGEST_FOR_OTHERS:
        return []
    traffic = job_traffic(job, strategy)
    rules = rules_to_try(job.cluster, options, layout_splits(traffic, job.cluster.degree))
    rows = _loaded(job, strategy, [one for one in rules if one.wiring != STRIDES], options.seed)
    limit_s = SLACK * load_s(best, traffic)
    return [(one, fabric) for load, one, fabric in sorted(rows, key=itemgetter(0))[:most] if load < limit_s]


def _loaded(
    job: Job, strategy: ParallelStrategy, rules: list[FinderRules], seed: int
) -> list[tuple[float, FinderRules, Fabric]]:
    """Return the different fabrics that the rules wire for a strategy, with their loads."""
    traffic = job_traffic(job, strategy)
    rows: list[tuple[float, FinderRules, Fabric]] = []
    for one in rules:
        try:
            fabric = with_rings(fabric_for(job, strategy, one, seed), traffic, job.cluster.degree, seed)
        except (Infeasible, NoRoute):
            if one.wiring == STRIDES:
                raise
            continue
        if not any(same_links(fabric, other) for _, _, other in rows):
            rows.append((load_s(fabric, traffic), one, fabric))
    return rows


def load_s(fabric: Fabric, traffic: Traffic) -> float:
    """Return the seconds of the fullest link's AllReduces, and those of all links' other bytes on the average."""
    topology = fabric.topology
    reduced = np.zeros(len(topology))
    for group in traffic.allreduce:
        rings = fabric.rings[group.members]
        each_bytes = group.wire_bytes / len(group.members) / len(rings)
        for ring in rings:
            reduced += each_bytes * np.bincount(topology.link_ids(*ring.edges()), minlength=len(topology))
    crossed = _bytes_times_hops(fabric, traffic)
    fullest = float((reduced / topology.bandwidth_bps).max())
    return 8.0 * (fullest + crossed / float(topology.bandwidth_bps.sum()))


def _bytes_times_hops(fabric: Fabric, traffic: Traffic) -> float:
    topology, servers = fabric.topology, traffic.servers
    if not traffic.mp_bytes:
        return 0.0
    sources = np.arange(servers)
    if servers <= _LARGEST_MATRIX:
        return float((traffic.mp_matrix() * hops_from(topology, sources)[:, :servers]).sum())
    some = sources[:: servers // 64]
    return traffic.mp_bytes * float(hops_from(topology, some)[:, :servers].mean())


def by_groups(row: Candidate) -> bool:
    """Return whether groups got their interfaces by a family of wirings or completely, and not along strides."""
    rules = row.rules
    return (rules.lifts_groups or rules.degree_split == CLIQUES) and not row.fabric.topology.offsets


def best_strides(candidates: Iterable[Candidate]) -> Candidate | None:
    """Return the fastest of those in which all servers are joined along strides; None where there is none."""
    along = [row for row in candidates if row.fabric.wiring is None and not by_groups(row)]
    return min(along, key=lambda row: row.time_s, default=None)


def wiring_name(row: Candidate) -> str:
    """Return the family of wirings that a candidate is of."""
    if row.fabric.wiring is not None:
        return row.fabric.wiring.family
    if not by_groups(row):
        return STRIDES
    return CLIQUES if row.rules.degree_split == CLIQUES else GROUPS


def chosen_wiring(job: Job, best: Candidate, looked_at: Iterable[Candidate]) -> ChosenWiring:
    """Return the chosen wiring; ``looked_at`` was simulated before gradient buckets were settled, as in ``job``."""
    made, topology = best.fabric.wiring, best.fabric.topology
    along = made is None and not by_groups(best)
    strides, time_s = best_strides(looked_at), best.time_s if along else None
    if time_s is None and strides is not None:
        time_s = strides.time_again_s(job)
    over = None if time_s is None else time_s / best.time_s - 1
    if made is not None:
        return ChosenWiring(made.family, made.group, made.recipe, time_s, over)
    if not along:
        return ChosenWiring(wiring_name(best), 1, {"degree_split": best.rules.degree_split}, time_s, over)
    group = topology.servers if topology.offsets else 1
    recipe = {"offsets": list(topology.offsets)} if topology.offsets else {}
    return ChosenWiring(STRIDES, group, recipe, time_s, over)


def usual_routes(fabric: Fabric, seed: int = 0) -> Fabric:
    """Return a fabric of direct links with fewer paths per pair, where all shortest paths would be too many."""
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
    if not traffic.mp_bytes or traffic.servers > LARGEST_MATRIX:
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
    if not is_direct(fabric) or not traffic.mp_bytes or traffic.servers > LARGEST_MATRIX:
        return fabric
    ring_bytes = lay_traffic(
        "", "", replace(traffic, alltoall=(), transfers=no_transfers()), fabric
    ).link_bytes
    fixed, demand, topology = ring_bytes, traffic.mp_matrix(), fabric.topology
    others = list(_rebalanced(traffic, fabric, fixed))
    if topology.servers > LARGEST_FOR_DETOURS:
        return others[0] if others else fabric
    best, least_s = fabric, max_load_s(topology, fixed + link_loads(topology, fabric.routes, demand))
    for other in others:
        peak_s = max_load_s(topology, fixed + link_loads(topology, other.routes, demand))
        if peak_s < least_s * (1 - WORTH_BALANCING):
            best, least_s = other, peak_s
    return best


def _rebalanced(traffic: Traffic, fabric: Fabric, fixed: Floats) -> Iterator[Fabric]:
    """Yield the fabric with the weights of several sets of candidate paths, ``fixed`` bytes on its links anyway."""
    demand, topology = traffic.mp_matrix(), fabric.topology
    step = turn_of(topology, demand) if topology.servers > LARGEST_FOR_DETOURS else topology.servers
    for paths in _candidates(fabric, int(np.count_nonzero(demand[:step]))):
        routes = balanced_routes(topology, demand, paths, fixed, step)
        if routes is not fabric.routes:
            yield replace(fabric, routes=routes)


def _candidates(fabric: Fabric, pairs: int) -> Iterator[Routes]:
    """Yield sets of candidate paths, as many as the number of pairs allows."""
    topology = fabric.topology
    if topology.servers <= LARGEST_FOR_DETOURS:
        # All equal paths would be too many, and ECMP lists 64 of them.
        yield KShortestRoutes(topology, k=8, slack=1) if fabric.routes.method == "ecmp" else fabric.routes
        yield KShortestRoutes(topology, k=MOST_PATHS, slack=MOST_DETOUR)
        return
    # the mean hops from some servers: exact where all are alike
    some = np.arange(0, topology.servers, max(topology.servers // 16, 1))
    mean_hops = float(hops_from(topology, some).mean())
    most = int(MOST_STEPS / (pairs * (1 + mean_hops)))
    if most >= 2:
        yield KShortestRoutes(topology, k=min(most, MOST_PATHS // 2), slack=MOST_DETOUR)
