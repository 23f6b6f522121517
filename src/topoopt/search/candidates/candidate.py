"""Candidate: a strategy on a fabric wired for it, simulated as the task graph of its kind of work."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from weakref import WeakValueDictionary

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.base.errors import Infeasible
from topoopt.finder import STRIDES, USUAL_RULES, FinderRules, find_topology, lay_rings
from topoopt.jobs import (
    Job,
    OperatorsWork,
    TrafficWork,
    TransformerWork,
    job_traffic,
    operators_of,
    transformer_of,
)
from topoopt.plans import Bounds, Outcome, RoutingGap
from topoopt.routing import Fabric, link_loads, max_load_s, optimal_max_load
from topoopt.schema.files import noun_from
from topoopt.search.bounds.lower_bound import demands, lower_bounds
from topoopt.search.bounds.strategy_bound import strategy_bound_s
from topoopt.search.bounds.transfer_windows import windows
from topoopt.simulation import (
    COLLECTIVE,
    COLLECTIVES,
    COMPUTE,
    TRANSFER,
    AtLeast,
    IterationCosts,
    SimResult,
    SimulationOptions,
    TaskGraph,
    TaskRows,
    analytic_flows,
    analytic_step,
    build_task_graph,
    collective_options,
    pipeline_task_graph,
    simulate,
    task_graph_from_edges,
)
from topoopt.workloads import ParallelStrategy, Traffic
from topoopt.workloads.pipelined_step import PipelinedStep

LAYOUTS_TO_KEEP = 32
"""Task graphs of layouts that are kept: all of them are simulated on every fabric."""
LARGE_GRAPH = 300_000
"""Tasks above which only a layout's last graph is kept (200 bytes per task); fabrics are the inner loop."""


def _of_operators(job: Job, strategy: ParallelStrategy, iterations: int) -> TaskGraph:
    kept = job.cluster.servers <= LARGEST_TO_KEEP
    costs = job.cluster.accelerators_per_server, job.cluster.intra_server_bandwidth_bps
    settings = job.settings.as_run
    return (_kept_task_graph if kept else _last_task_graph)(
        operators_of(job),
        strategy,
        IterationCosts(
            *costs, settings.embedding_bytes_factor, iterations, settings.bucket_bytes, settings.microbatches
        ),
    )


def _known_task_graph(work: OperatorsWork, strategy: ParallelStrategy, costs: IterationCosts) -> TaskGraph:
    """Return the graph. Jobs whose other settings differ have the same; one that anybody still has is not made anew."""
    known = _IN_USE.get((work, strategy, costs))
    if known is None:
        known = build_task_graph(work.graph, strategy, work.timer, costs)
        _IN_USE[work, strategy, costs] = known
    return known


_IN_USE: WeakValueDictionary[tuple[OperatorsWork, ParallelStrategy, IterationCosts], TaskGraph] = (
    WeakValueDictionary()
)
_kept_task_graph = lru_cache(maxsize=4)(_known_task_graph)
_last_task_graph = lru_cache(maxsize=1)(_known_task_graph)


def _of_traffic(job: Job, strategy: ParallelStrategy, iterations: int) -> TaskGraph:
    """Return all transfers and AllReduces at once; where servers compute, too, a part beside that, the rest after."""
    work = job.work
    assert isinstance(work, TrafficWork)
    servers = job.cluster.servers
    if not work.compute_s:
        nothing = np.zeros(0, np.int64)
        return task_graph_from_edges(servers, _moved(work.demand, 1.0), nothing, nothing)
    hidden, after = _moved(work.demand, work.hidden_share), _moved(work.demand, 1.0, work.hidden_share)
    compute = TaskRows(COMPUTE, servers, duration_s=work.compute_s, server=np.arange(servers))
    # nothing of the rest moves before every server that takes part has computed
    waiting = servers + sum(row.count for row in hidden)
    ends = [end for rows in after for end in _ends(rows)]
    edges = [(server, waiting + task) for task, at in enumerate(ends) for server in at]
    before, behind = np.array(edges, np.int64).reshape(-1, 2).T
    return task_graph_from_edges(servers, [compute, *hidden, *after], before, behind)


def _moved(demand: Traffic, until: float, begin: float = 0.0) -> list[TaskRows]:
    """Return the part of all transfers and AllReduces from one share of their bytes to another, without empty ones."""

    def part(sizes: Ints) -> Ints:
        whole: Ints = np.rint(sizes * until).astype(np.int64) - np.rint(sizes * begin).astype(np.int64)
        return whole

    moved, groups = demand.transfers, demand.allreduce
    sizes = part(moved.size_bytes)
    kept = sizes > 0
    rows = [
        TaskRows(TRANSFER, int(kept.sum()), src=moved.src[kept], dst=moved.dst[kept], size_bytes=sizes[kept])
    ]
    of_groups = part(np.array([group.size_bytes for group in groups], np.int64))
    members = tuple(group.members for group, size in zip(groups, of_groups, strict=True) if size > 0)
    if members:
        alike = COLLECTIVES.index("allreduce")
        reduced = of_groups[of_groups > 0]
        rows.append(TaskRows(COLLECTIVE, len(members), size_bytes=reduced, collective=alike, members=members))
    return rows


def _ends(rows: TaskRows) -> Sequence[tuple[int, ...]]:
    """Return the servers that take part in each task of some rows."""
    if rows.members:
        return rows.members
    return [(int(src), int(dst)) for src, dst in zip(rows.src, rows.dst, strict=True)]  # type: ignore[arg-type]


def _of_transformer(job: Job, strategy: ParallelStrategy, iterations: int) -> TaskGraph:
    step = transformer_of(job).layout(strategy).step
    large = analytic_flows(step) * iterations >= LARGE_GRAPH
    return (_last_of_step if large else _of_step)(step, iterations)


_of_step = lru_cache(maxsize=LAYOUTS_TO_KEEP)(pipeline_task_graph)


def _last_of_step(step: PipelinedStep, iterations: int) -> TaskGraph:
    if (step, iterations) not in _LAST:
        _LAST.clear()  # before the next one is made
        _LAST[step, iterations] = pipeline_task_graph(step, iterations)
    return _LAST[step, iterations]


_LAST: dict[tuple[PipelinedStep, int], TaskGraph] = {}
TASK_GRAPHS: Mapping[str, Callable[[Job, ParallelStrategy, int], TaskGraph]] = {
    "operators": _of_operators,
    "traffic": _of_traffic,
    "transformer": _of_transformer,
}
DEFAULT = SimulationOptions()
LARGEST_FOR_ROUTING = 4096
"""Servers above which the bytes of each pair are not weighed against each other: n² of them."""
LARGEST_AFRESH = 512
"""Servers up to which the best routing is looked for from the beginning; above, from that of the plan."""
LARGEST_TO_KEEP = 256
"""Servers up to which the simulation of a strategy of operators is kept with it. Of 1,024 that is 250 MB each."""
WHOLE = "all-to-allreduce"
"""The degree split that gives every interface to the wiring of all servers."""


@dataclass(frozen=True, eq=False, slots=True)
class Candidate:
    """A candidate for the plan.

    Attributes
    ----------
    fabric : Fabric
        Fabric with rings of exactly the groups that the strategy has.
    time_s : float
        The simulated iteration time.
    rules : FinderRules
        Rules by which the fabric was wired.
    job : Job
        Job as it was simulated.
    kept : SimResult, optional
        Result of that simulation; not kept for many servers, since the times of all tasks take a hundred bytes each.
    """

    strategy: ParallelStrategy
    fabric: Fabric
    time_s: float
    rules: FinderRules
    job: Job
    kept: SimResult | None

    @property
    def result(self) -> SimResult:
        """Result of the simulation, which is repeated where it was not kept."""
        return self.kept or simulated(self.job, self.strategy, self.fabric)

    def time_again_s(self, job: Job) -> float:
        """Return the time as a job with other settings; that which is known where these are no others."""
        if self._runs_alike(job):
            return self.time_s
        return _time_again_s(self, job) if self.kept is None else self.result_again(job).iteration_time_s

    def result_again(self, job: Job) -> SimResult:
        """Return the same with all that was simulated."""
        return self.result if self._runs_alike(job) else simulated(job, self.strategy, self.fabric)

    def _runs_alike(self, job: Job) -> bool:
        return job.work is self.job.work and job.settings.as_run == self.job.settings.as_run

    def with_result(self, result: SimResult, job: Job, fabric: Fabric | None = None) -> "Candidate":
        """Return the candidate with the result of a simulation as this job, or on another fabric."""
        time_s = result.iteration_time_s
        return replace(self, fabric=fabric or self.fabric, time_s=time_s, job=job, kept=result)

    def whole(self) -> "Candidate":
        """Return the candidate with its result kept."""
        return self if self.kept is not None else replace(self, kept=self.result)


@lru_cache(maxsize=4)
def _time_again_s(candidate: Candidate, job: Job) -> float:
    """Return the cached time of a long simulation: strides are compared with the answer, and listed with it."""
    return simulated(job, candidate.strategy, candidate.fabric).iteration_time_s


def fabric_for(
    job: Job, strategy: ParallelStrategy, rules: FinderRules = USUAL_RULES, seed: int = 0
) -> Fabric:
    """Run the topology finder on a strategy's traffic.

    Where the degree split leaves all servers too few interfaces for the wiring of the rules, they get all of them.
    """
    try:
        return _found(job, strategy, rules, seed)
    except Infeasible:
        if rules.wiring == STRIDES or rules.degree_split == WHOLE:
            raise
        return _found(job, strategy, replace(rules, degree_split=WHOLE), seed)


def _found(job: Job, strategy: ParallelStrategy, rules: FinderRules, seed: int) -> Fabric:
    cluster = job.cluster
    return find_topology(
        _traffic(job, strategy) if cluster.servers <= LARGEST_TO_KEEP else job_traffic(job, strategy),
        degree=cluster.degree,
        bandwidth_bps=cluster.link_bandwidth_bps,
        latency_s=cluster.link_latency_s,
        links=cluster.links,
        rules=rules,
        seed=seed,
    )


@lru_cache(maxsize=4)
def _traffic(job: Job, strategy: ParallelStrategy) -> Traffic:
    return job_traffic(job, strategy)


def wired_candidate(job: Job, strategy: ParallelStrategy, rules: FinderRules, seed: int) -> Candidate:
    """Return a strategy on the fabric that the finder wires for it."""
    return candidate_on(job, strategy, fabric_for(job, strategy, rules, seed), rules, seed)


def candidate_on(
    job: Job, strategy: ParallelStrategy, fabric: Fabric, rules: FinderRules, seed: int
) -> Candidate:
    """Return a strategy on a fabric that was wired by the rules for it or for one like it."""
    ready = with_rings(fabric, job_traffic(job, strategy), job.cluster.degree, seed)
    found = simulated_candidate(job, strategy, ready, rules, simulated(job, strategy, ready))
    large = job.cluster.servers > LARGEST_TO_KEEP and job.work.kind == "operators"
    return replace(found, kept=None) if large else found


def simulated_candidate(
    job: Job, strategy: ParallelStrategy, fabric: Fabric, rules: FinderRules, result: SimResult
) -> Candidate:
    """Return the candidate, keeping its result."""
    return Candidate(strategy, fabric, result.iteration_time_s, rules, job, result)


def same_links(a: Fabric, b: Fabric) -> bool:
    """Return whether two fabrics are wired alike, parallel links included."""
    return all(
        np.array_equal(getattr(a.topology, column), getattr(b.topology, column))
        for column in ("src", "dst", "ports")
    )


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
    """Simulate one iteration; with many micro-batches in a pipeline, only as many as determine the rest.

    Without options collectives run by the job's settings.
    """
    options = options or options_of(job)
    if isinstance(job.work, TransformerWork) and (simulator, options) == ("analytic", DEFAULT):
        result = raced(job, strategy, fabric, np.inf)
        assert isinstance(result, SimResult)
        return result
    return simulate(simulator, task_graph_of(job, strategy), fabric, options)


def options_of(job: Job) -> SimulationOptions:
    """Return the options of collectives in a job's settings."""
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
    return noun_from(
        Outcome, result, algorithms=dict(count), folded=result.folded.words if result.folded else ""
    )


def iteration_bounds(
    job: Job, strategy: ParallelStrategy, result: SimResult, asked: Job | None = None
) -> Bounds:
    """Return the lower bounds of the simulated strategy on the job's cluster, and of any strategy of the job as asked.

    Each omitted micro-batch round adds as much as the last simulated one: bounds are sums over rounds, or the
    largest of such sums, which grows no slower. The addition is not overestimated, since the round before is taken
    with the highest possible bounds. The bound by hops is tried for some sets only, and grows by at most the
    computing time.
    """
    cluster, left = job.cluster, result.left_out
    graph = asked_for(job, strategy, result)
    found = windows(graph, cluster)
    folded = result.folded
    here = lower_bounds(cluster, found, demands(graph, cluster, found, folded=folded))
    here = replace(here, any_strategy_s=strategy_bound_s(asked or job))
    if left is None:
        return here
    earlier = windows(left.shorter, cluster)
    late = demands(graph, cluster, found, True, folded)
    early = demands(left.shorter, cluster, earlier, True, folded)
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
        here.any_strategy_s,
    )


def asked_for(job: Job, strategy: ParallelStrategy, result: SimResult) -> TaskGraph:
    """Return the graph that was to be simulated, its collectives as such and not yet as transfers of an algorithm."""
    return task_graph_of(job, strategy) if result.algorithms else result.graph


def background(fabric: Fabric, demand: Floats, result: SimResult) -> Floats:
    """Return the bytes on each link that are not transfers: those of AllReduce rings."""
    return np.maximum(result.link_bytes - link_loads(fabric.topology, fabric.routes, demand), 0.0)


def routing_gap(fabric: Fabric, traffic: Traffic, result: SimResult, *, compute: bool = True) -> RoutingGap:
    """Compare the busiest link with the best routing of the same transfers beside the same rings.

    Loads are in seconds of link time; the rings' bytes stay where they are. On clusters of more than
    :data:`LARGEST_FOR_ROUTING` servers, without ``compute`` or if interrupted, there is no optimum, and its bound is 0.
    """
    busiest = max_load_s(fabric.topology, result.link_bytes)
    if not compute or fabric.topology.servers > LARGEST_FOR_ROUTING:
        return RoutingGap(busiest, 0.0, False, "not computed")
    demand = traffic.mp_matrix()
    known = result.link_bytes if fabric.topology.servers > LARGEST_AFRESH else None
    try:
        best = optimal_max_load(fabric.topology, demand, background(fabric, demand, result), known)
    except KeyboardInterrupt:
        return RoutingGap(busiest, 0.0, False, "interrupted")
    return RoutingGap(busiest, min(best.lower_bound_s, busiest), best.exact, best.method)


def task_graph_of(job: Job, strategy: ParallelStrategy, iterations: int = 1) -> TaskGraph:
    """Return the task graph of a job under a strategy."""
    return TASK_GRAPHS[job.work.kind](job, strategy, iterations)
