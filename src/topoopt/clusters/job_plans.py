"""Plans of the jobs of a cluster: one for each distinct model, size and batch, kept for the next time."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from topoopt.catalog import Sizing
from topoopt.clusters.job_shape import KEPT, JobShape, shape_job
from topoopt.clusters.pace import IterationTimes, JobPlan
from topoopt.clusters.served_job import cycle_s, dedicated_serving, sharing_serving
from topoopt.clusters.settings import Planning
from topoopt.clusters.trace import TraceJob
from topoopt.finder import FabricRequest, build_fabric
from topoopt.pricing import pricing_of
from topoopt.search import (
    baseline_fabric,
    compare_job,
    make_plan,
    options_of,
    simulated,
    starting_strategy,
    task_graph_of,
)
from topoopt.simulation import simulate


@dataclass(frozen=True, eq=False)
class Prepared:
    """A job of the trace, ready to run.

    Attributes
    ----------
    work : float
        Iterations to do, on as many servers as the trace asks for.
    plans : mapping from number of servers to JobPlan
        Of every size that it may have on this cluster.
    """

    job: TraceJob
    work: float
    plans: Mapping[int, JobPlan]

    @property
    def wish(self) -> int:
        """The servers that it asks for, or the most that the cluster has for it."""
        return max(size for size in self.plans if size <= max(self.job.servers, min(self.plans)))


MakePlan = Callable[[JobShape], JobPlan]


@lru_cache(KEPT)
def dedicated_plan(shape: JobShape, planning: Planning) -> JobPlan:
    """Plan a job on links of its own: strategy, topology and routing together.

    Raises
    ------
    KeyboardInterrupt
        If the search was interrupted: half of one is not the plan of this job.
    """
    if shape.serving:
        return dedicated_serving(shape, planning)
    plan = make_plan(shape_job(shape, planning), planning.search, fabrics=(), weigh_routes=False)
    if plan.search.stopped_because == "interrupted":
        raise KeyboardInterrupt
    time_s = plan.outcome.iteration_time_s
    if planning.simulator != plan.outcome.simulator:
        # A packet takes one path, so every transfer of the others does, too.
        options = replace(options_of(plan.job), split="one" if planning.simulator == "packet" else "spread")
        result = simulated(plan.job, plan.strategy, plan.fabric, planning.simulator, options)
        time_s = result.iteration_time_s
    return JobPlan(task_graph_of(plan.job, plan.strategy), _always(time_s), plan.fabric.topology)


@lru_cache(KEPT)
def sharing_plan(
    shape: JobShape, fabric: str, interfaces: int, bandwidth_bps: float, planning: Planning
) -> JobPlan:
    """Plan a job on a fabric of a given kind, of its own size; the strategy is searched for that fabric.

    Parameters
    ----------
    interfaces, bandwidth_bps : int, float
        Of a server, and of one interface.
    """
    if shape.serving:
        return sharing_serving(shape, fabric, interfaces * bandwidth_bps, planning)
    job = shape_job(shape, planning)
    prices = pricing_of()  # only asked for a price that is not looked at
    rule = Sizing(fabric, "", lambda spec, prices: (interfaces, bandwidth_bps))
    topology = baseline_fabric(job, rule, prices, planning.search.seed).topology
    starts = (starting_strategy(job),)
    (row,) = compare_job(job, planning.search, (rule,), prices, starts, required=True).rows
    return JobPlan(task_graph_of(job, row.strategy), _always(row.outcome.iteration_time_s), topology)


@lru_cache(KEPT)
def reference_time_s(shape: JobShape, planning: Planning) -> float:
    """Return the iteration time, data parallel, with an ideal switch of d·B a server to itself.

    It turns the durations of a trace into iterations, the same on every fabric. Of a served model it is a cycle.
    """
    if shape.serving:
        return cycle_s(shape, planning)
    job, cluster = shape_job(shape, planning), planning.cluster
    graph = task_graph_of(job, starting_strategy(job))
    size = shape.servers, cluster.degree, cluster.link_bandwidth_bps
    request = FabricRequest(*size, graph.groups, latency_s=cluster.link_latency_s)
    return simulate("analytic", graph, build_fabric("ideal-switch", request)).iteration_time_s


def _always(time_s: float) -> IterationTimes:
    return IterationTimes(time_s, (time_s,))
