"""What a strategy is worth on a fabric: its task graph simulated, its bounds, its routing gap."""

from collections import Counter
from dataclasses import asdict, replace

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.finder import lay_rings
from topoopt.jobs import Job, TransformerWork, transformer_of
from topoopt.plans import Bounds, Outcome, RoutingGap
from topoopt.routing import Fabric, link_loads, max_load_s, optimal_max_load
from topoopt.schema.files import noun_from
from topoopt.search.bounds import lower_bounds
from topoopt.search.demands import demands
from topoopt.search.task_graphs import task_graph_of
from topoopt.search.windows import windows
from topoopt.simulation import (
    AtLeast,
    SimResult,
    SimulationOptions,
    TaskGraph,
    analytic_step,
    collective_options,
    simulate,
)
from topoopt.workloads import Traffic
from topoopt.workloads.strategy import ParallelStrategy

DEFAULT = SimulationOptions()


def with_rings(fabric: Fabric, traffic: Traffic, degree: int, seed: int) -> Fabric:
    """Return the fabric with rings of exactly the groups in the traffic; circuits that change have none."""
    if fabric.reconfiguration is not None:
        return fabric
    rings = {
        group.members: fabric.rings.get(group.members)
        or lay_rings(fabric.topology, fabric.routes, group.members, degree, seed)
        for group in traffic.allreduce
    }
    return replace(fabric, rings=rings)


def simulated(
    job: Job,
    strategy: ParallelStrategy,
    fabric: Fabric,
    simulator: str = "analytic",
    options: SimulationOptions | None = None,
) -> SimResult:
    """Simulate one iteration; of many micro-batches in a pipeline as many as are needed to know all of them.

    Without options collectives run as the job's settings say.
    """
    options = options or options_of(job)
    if isinstance(job.work, TransformerWork) and (simulator, options) == ("analytic", DEFAULT):
        result = raced(job, strategy, fabric, np.inf)
        assert isinstance(result, SimResult)
        return result
    return simulate(simulator, task_graph_of(job, strategy), fabric, options)


def options_of(job: Job) -> SimulationOptions:
    """Return the options by which collectives run as a job's settings say."""
    return collective_options(job.settings.collective)


def raced(job: Job, strategy: ParallelStrategy, fabric: Fabric, to_beat_s: float) -> SimResult | AtLeast:
    """Simulate one iteration of a transformer until it shows that it does not take less than ``to_beat_s``."""
    result = analytic_step(transformer_of(job).layout(strategy).step, fabric, to_beat_s)
    return simulate("analytic", task_graph_of(job, strategy), fabric, DEFAULT) if result is None else result


def outcome(result: SimResult) -> Outcome:
    """Return the figures of a simulation that a plan keeps."""
    count: Counter[str] = Counter()
    for row in result.algorithms:
        count[row.algorithm] += row.count
    return noun_from(Outcome, result, algorithms=dict(count))


def bounds(job: Job, strategy: ParallelStrategy, result: SimResult) -> Bounds:
    """Return the lower bounds of the simulated strategy on the job's cluster.

    Micro-batches that were left out add what the last round of those simulated adds: bounds are sums of what rounds
    take, or the largest of such sums, which grows no slower. What it adds is not overrated, for the round before is
    taken at the most that its bounds can be. That of hops is tried for some sets only, and grows by what computing
    takes at most.
    """
    cluster, left = job.cluster, result.left_out
    graph = asked_for(job, strategy, result)
    found = windows(graph, cluster)
    here = lower_bounds(cluster, found, demands(graph, cluster, found))
    if left is None:
        return here
    earlier = windows(left.shorter, cluster)
    late, early = demands(graph, cluster, found, True), demands(left.shorter, cluster, earlier, True)
    most = replace(early, grid=early.grid.undercut_by_none)
    last, before = lower_bounds(cluster, found, late), lower_bounds(cluster, earlier, most)
    more_s = {
        name: left.rounds * max(getattr(last, name) - getattr(before, name), 0.0) for name in asdict(here)
    }
    computing_s = left.rounds * (here.compute_s - before.compute_s)
    return Bounds(
        here.compute_s + computing_s,
        max(here.injection_s, last.injection_s + more_s["injection_s"]),
        max(here.average_hop_s, last.average_hop_s + min(more_s["average_hop_s"], max(computing_s, 0.0))),
        here.critical_path_s + more_s["critical_path_s"],
    )


def asked_for(job: Job, strategy: ParallelStrategy, result: SimResult) -> TaskGraph:
    """Return the graph that was to be simulated, its collectives as such and not yet as transfers of an algorithm."""
    return task_graph_of(job, strategy) if result.algorithms else result.graph


LARGEST_FOR_ROUTING = 4096
"""Servers above which the bytes of each pair are not weighed against each other: n² of them."""
LARGEST_AFRESH = 512
"""Servers up to which the best routing is looked for from the beginning; above, from that of the plan."""


def background(fabric: Fabric, demand: Floats, result: SimResult) -> Floats:
    """Return the bytes on each link that are not transfers: those of AllReduce rings."""
    return np.maximum(result.link_bytes - link_loads(fabric.topology, fabric.routes, demand), 0.0)


def routing_gap(fabric: Fabric, traffic: Traffic, result: SimResult, *, compute: bool = True) -> RoutingGap:
    """Compare the busiest link with the best routing of the same transfers beside the same rings.

    Loads are in seconds of link time; the rings' bytes stay where they are. On clusters of more than
    :data:`LARGEST_FOR_ROUTING` servers, or without ``compute``, the optimum is not looked for, and its bound is 0.
    """
    busiest = max_load_s(fabric.topology, result.link_bytes)
    if not compute or fabric.topology.servers > LARGEST_FOR_ROUTING:
        return RoutingGap(busiest, 0.0, False, "not computed")
    demand = traffic.mp_matrix()
    known = result.link_bytes if fabric.topology.servers > LARGEST_AFRESH else None
    best = optimal_max_load(fabric.topology, demand, background(fabric, demand, result), known)
    return RoutingGap(busiest, min(best.lower_bound_s, busiest), best.exact, best.method)
