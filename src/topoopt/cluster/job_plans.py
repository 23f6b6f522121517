"""Plans of the jobs of a cluster: one for each distinct model, size and batch."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from topoopt.cluster.pace import IterationTimes
from topoopt.cluster.settings import ClusterSettings
from topoopt.cluster.trace import TraceJob
from topoopt.cost import find_prices
from topoopt.finder import FABRICS
from topoopt.hardware import largest_degree
from topoopt.job import Job, make_job
from topoopt.plan import Plan
from topoopt.search import (
    BaselineRule,
    baseline_fabric,
    make_plan,
    search_baseline,
    starting_strategy,
    task_graph_of,
)
from topoopt.simulate import TaskGraph, simulate
from topoopt.topology import Topology
from topoopt.workload import load_model


@dataclass(frozen=True, slots=True)
class JobShape:
    """What decides how a job is planned; jobs of one shape share a plan."""

    model: str
    servers: int
    batch_per_accelerator: int = 0


@dataclass(frozen=True, eq=False)
class JobPlan:
    """A job of some shape, ready to be placed.

    Attributes
    ----------
    graph : TaskGraph
        One iteration, on the job's own servers.
    alone : IterationTimes
        With the fabric to itself.
    topology : Topology
        Links between its own servers; on a fabric that jobs share, those of that fabric for a job of this size.
    """

    graph: TaskGraph
    alone: IterationTimes
    topology: Topology


MakePlan = Callable[[JobShape], JobPlan]
Progress = Callable[[str, int, int], None]
"""Called with what is going on, how much of it is done, and how much there is (0: nobody knows)."""


def silent(stage: str, done: int, total: int) -> None:
    """Report nothing."""


def shape_of(job: TraceJob, size: int) -> JobShape:
    """Return the shape of a job of the trace on so many servers."""
    return JobShape(job.model, size, job.batch_per_accelerator)


def shaped_job(shape: JobShape, settings: ClusterSettings) -> Job:
    """Return the job on servers of the cluster; with few servers, ports that none of them can use stay dark."""
    graph = load_model(shape.model, servers=shape.servers)
    if shape.batch_per_accelerator:
        graph = replace(graph, batch_per_accelerator=shape.batch_per_accelerator)
    logical = settings.logical
    degree = min(logical.degree, largest_degree(shape.servers))
    return make_job(graph, replace(logical, servers=shape.servers, degree=degree), settings.costs)


def dedicated_plan(shape: JobShape, settings: ClusterSettings, on_progress: Progress = silent) -> JobPlan:
    """Plan a job on links of its own: strategy, topology and routing together."""
    plan = shard_plan(shape, settings, on_progress)
    time_s = plan.outcome.iteration_time_s
    graph = task_graph_of(plan.job, plan.strategy)
    return JobPlan(graph, IterationTimes(time_s, (time_s,)), plan.fabric.topology)


def shard_plan(shape: JobShape, settings: ClusterSettings, on_progress: Progress = silent) -> Plan:
    """Return the whole plan of a job on links of its own.

    Raises
    ------
    KeyboardInterrupt
        If the search was interrupted: half of one is not the plan of this job.
    """
    job = shaped_job(shape, settings)
    plan = make_plan(
        job,
        settings.search,
        fabrics=(),
        prices=settings.prices,
        on_progress=on_progress,
        weigh_routes=False,
    )
    if plan.search.stopped_because == "interrupted":
        raise KeyboardInterrupt
    return plan


def sharing_plan(shape: JobShape, rule: BaselineRule, settings: ClusterSettings) -> JobPlan:
    """Plan a job on a fabric of a given kind, of its own size; the strategy is searched for that fabric.

    ``rule`` gives interfaces and bandwidth whatever the number of servers.
    """
    job = shaped_job(shape, settings)
    prices = find_prices(settings.prices)
    fabric = baseline_fabric(job, rule, prices, settings.seed)
    start = starting_strategy(job)
    row = search_baseline(job, rule, fabric, settings.search, prices, (start,))
    time_s = row.outcome.iteration_time_s
    graph = task_graph_of(job, row.strategy)
    return JobPlan(graph, IterationTimes(time_s, (time_s,)), fabric.topology)


def reference_time_s(shape: JobShape, settings: ClusterSettings) -> float:
    """Return the iteration time, data parallel, with an ideal switch of d·B a server to itself.

    It turns the durations of a trace into iterations, the same on every fabric.
    """
    job = shaped_job(shape, settings)
    graph = task_graph_of(job, starting_strategy(job))
    cluster = settings.logical
    switch = FABRICS["ideal-switch"](
        shape.servers,
        cluster.degree,
        cluster.link_bandwidth_bps,
        graph.groups,
        latency_s=cluster.link_latency_s,
    )
    return simulate("analytic", graph, switch).iteration_time_s
