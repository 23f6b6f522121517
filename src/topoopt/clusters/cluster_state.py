"""The state of a cluster between two events: jobs to come, queued and running, and their plans."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from topoopt.catalog import Sizing
from topoopt.clusters.job_shape import KEPT, JobShape, shape_job
from topoopt.clusters.pace import IterationTimes, JobPlan, PlacedJob
from topoopt.clusters.result import JobRecord, ServedRecord
from topoopt.clusters.served_job import (
    WatchedSends,
    cycle_s,
    dedicated_serving,
    served_record,
    sharing_serving,
)
from topoopt.clusters.served_model import serving_of_text
from topoopt.clusters.settings import Planning
from topoopt.clusters.shards import Shard, Shards
from topoopt.clusters.statistics import CountedJob
from topoopt.clusters.trace import TraceJob
from topoopt.finder import FabricRequest, build_fabric
from topoopt.pricing import pricing_of
from topoopt.search import (
    Fidelity,
    baseline_fabric,
    compare_job,
    for_search,
    job_of_baseline,
    make_plan,
    options_of,
    simulated,
    starting_strategy,
    task_graph_of,
    tried_elsewhere,
)
from topoopt.simulation import simulate


@dataclass(frozen=True, eq=False)
class Prepared:
    """A job of the trace, ready to run.

    Attributes
    ----------
    work : float
        Iterations to do, on the servers that the trace requests.
    plans : mapping from number of servers to JobPlan
        Plans for every size that the job may have on this cluster.
    """

    job: TraceJob
    work: float
    plans: Mapping[int, JobPlan]

    @property
    def wish(self) -> int:
        """Requested servers, at most those that the cluster has."""
        return max(size for size in self.plans if size <= max(self.job.servers, min(self.plans)))


MakePlan = Callable[[JobShape], JobPlan]


class ActiveJob(CountedJob):
    """A job from when it has servers until it ends.

    Attributes
    ----------
    servers : tuple of int
        Present servers, in the order of the job's own.
    ready_s : float
        Time at which its wiring is (or was) ready.
    running : bool
        Whether it iterates.
    sends : WatchedSends
        Sends of a served model.
    stretch : float
        For a served model, the longest time of its sends relative to the cycle, at least 1.
    """

    def __init__(self, index: int, prepared: Prepared, shard: Shard, now_s: float, ready_s: float) -> None:
        super().__init__(index, prepared.job)
        self.plans: Mapping[int, JobPlan] = prepared.plans
        self.servers, self.ready_s = shard.servers, ready_s
        self.running, self.sends, self.stretch = False, WatchedSends(), 1.0
        self.times: IterationTimes = self.plan.alone
        self._work, self._since_s = prepared.work, now_s
        self._stopped_s, self.moves = ready_s - now_s, shard.moves
        self._first_servers, self._assigned_s, self._start_s = shard.servers, now_s, ready_s

    @property
    def plan(self) -> JobPlan:
        """The plan of its present size."""
        return self.plans[len(self.servers)]

    @property
    def placed(self) -> PlacedJob:
        """Job and placement, for the pace of a fabric."""
        return PlacedJob(self.job.job, self.plan.graph, self.servers, spread=bool(self.job.serving))

    def expected_end_s(self, now_s: float) -> float:
        """Return the end time at the present pace."""
        if self.running:
            return self.end_s
        return max(self.ready_s, now_s) + self.left_s(self.plan.alone.mean_s, len(self.servers))

    def left_s(self, iteration_s: float, size: int) -> float:
        """Return the remaining time on ``size`` servers at the given iteration time."""
        return max(self._work - self.done, 0.0) * iteration_s * self.job.servers / size

    def begin(self, now_s: float) -> None:
        """Start to iterate, or continue after a change of size."""
        self.running, self._since_s = True, now_s

    def resize(self, shard: Shard, now_s: float, ready_s: float) -> None:
        """Continue with another shard once it is ready."""
        self.servers, self.ready_s = shard.servers, ready_s
        self._stopped_s += ready_s - now_s
        self.moves += shard.moves
        self._resizes.append((now_s, len(shard.servers)))

    def advance(self, now_s: float) -> None:
        """Count the work done until now."""
        if not self.running or now_s <= self._since_s:
            return
        span_s, self._since_s = now_s - self._since_s, now_s
        self._count(span_s / self.times.mean_s, span_s)

    def end(self, now_s: float) -> None:
        """Count all work; a job too short to advance the clock takes the time of its iterations."""
        self.advance(now_s)
        if not self.iterations:
            left_s = self.left_s(self.times.mean_s, len(self.servers))
            self._count(left_s / self.times.mean_s, left_s)

    def _count(self, iterations: float, span_s: float) -> None:
        self.run_s += span_s
        self.alone_s += iterations * (self.times.alone_s or self.times.mean_s)
        self.iterations += iterations
        self.done += iterations * len(self.servers) / self.job.servers
        for sample_s in self.times.samples_s:
            self.weights[sample_s] += iterations / len(self.times.samples_s)
        if self.job.serving:
            self.sends.count(self.times, iterations)

    def retime(self, times: IterationTimes, now_s: float) -> None:
        """Continue at another pace; a served model at its own, whatever its sends take."""
        self.advance(now_s)
        if self.job.serving:
            cycle_s = float(self.plan.graph.duration_s[0])
            self.stretch = max(self.stretch, times.mean_s / cycle_s)
            times = replace(times, mean_s=cycle_s)
        self.times = times
        self.end_s = now_s + self.left_s(times.mean_s, len(self.servers))

    @property
    def _counted(self) -> float:
        return self._work

    def record(self) -> JobRecord:
        """Return the record of the job, with the calibration error of its iteration times."""
        return replace(CountedJob.record(self), interval_share=self.plan.interval_share)

    def _served(self) -> ServedRecord:
        words = serving_of_text(self.job.serving, "serving")
        return served_record(self.sends, self.stretch, self.plan.service, words)


@dataclass(slots=True)
class WaitingJob:
    """A job in the queue.

    Attributes
    ----------
    shard : tuple of Shard
        Shard wired for it by look-ahead, if any.
    free_s : float
        Time at which the servers of that shard were expected to be free.
    """

    index: int
    prepared: Prepared
    shard: tuple[Shard, ...] = ()
    free_s: float = 0.0


class ClusterState:
    """Time, jobs and servers; :func:`~topoopt.clusters.run.go_on` goes on to the next event.

    Attributes
    ----------
    pending : list of WaitingJob
        Jobs that have not come yet, the next one last.
    changes : list of (float, int, int)
        Changes of the running jobs: time, number of running jobs, and their servers.
    """

    def __init__(self, jobs: tuple[Prepared, ...], servers: int, shards: Shards) -> None:
        self.now_s = 0.0
        self.pending = [WaitingJob(index, job) for index, job in enumerate(jobs)][::-1]
        self.queue: list[WaitingJob] = []
        self.active: list[ActiveJob] = []
        self.ended: list[ActiveJob] = []
        self.changes: list[tuple[float, int, int]] = []
        self.servers, self.shards = servers, shards

    def arrive(self, waiting: WaitingJob) -> None:
        """Enqueue a job: behind all others, or, if it is a served model, before all training."""
        served = [other.prepared.job.serving for other in self.queue]
        first = served.index("") if "" in served else len(served)
        self.queue.insert(first if waiting.prepared.job.serving else len(served), waiting)

    def give_up_wirings(self) -> None:
        """Release servers wired ahead for training, so that a model to be served gets them first."""
        for waiting in self.queue:
            if waiting.shard and not waiting.prepared.job.serving:
                self.shards.release(waiting.prepared.job.job, self.now_s)
                waiting.shard = ()

    def place(self, waiting: WaitingJob, shard: Shard) -> None:
        """Assign a shard to a job of the queue; it begins when the shard is ready."""
        self.queue.remove(waiting)
        self.shards.idle.difference_update(shard.servers)
        ready_s = max(self.now_s, shard.wired_s) + self.shards.change_s
        self.active.append(ActiveJob(waiting.index, waiting.prepared, shard, self.now_s, ready_s))

    def pause(self, job: ActiveJob) -> None:
        """Release the servers of a job."""
        job.advance(self.now_s)
        job.running = False
        self.shards.release(job.job.job, self.now_s)
        self.shards.idle.update(job.servers)

    def free_s(self) -> list[float]:
        """Return the expected time at which each server becomes free."""
        free_s = [self.now_s] * self.servers
        for job in self.active:
            end_s = job.expected_end_s(self.now_s)
            for server in job.servers:
                free_s[server] = end_s
        return free_s


@lru_cache(KEPT)
def dedicated_plan(shape: JobShape, planning: Planning) -> JobPlan:
    """Plan a job on dedicated links: strategy, topology and routing together.

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
    time_s = plan.iteration_time_s
    if planning.simulator != plan.outcome.simulator:
        # A packet takes one path, so every transfer of the others does, too.
        options = replace(options_of(plan.job), split="one" if planning.simulator == "packet" else "spread")
        result = simulated(plan.job, plan.strategy, plan.fabric, planning.simulator, options)
        time_s = result.iteration_time_s
    share = getattr(plan.job.work, "interval_share", None)
    graph = task_graph_of(plan.job, plan.strategy)
    return JobPlan(graph, _always(time_s), plan.fabric.topology, interval_share=share)


@lru_cache(KEPT)
def sharing_plan(
    shape: JobShape, fabric: str, interfaces: int, bandwidth_bps: float, planning: Planning
) -> JobPlan:
    """Plan a job on a fabric of its own size of the given kind; the strategy is searched for that fabric.

    Parameters
    ----------
    interfaces, bandwidth_bps : int, float
        Interfaces per server, and bandwidth per interface.
    """
    if shape.serving:
        return sharing_serving(shape, fabric, interfaces * bandwidth_bps, planning)
    asked = shape_job(shape, planning)
    job, tried = tried_elsewhere(for_search(asked))
    prices = pricing_of()  # only asked for a price that is not looked at
    rule = Sizing(fabric, "", lambda spec, prices: (interfaces, bandwidth_bps))
    topology = baseline_fabric(job, rule, prices, planning.search.seed).topology
    starts = (starting_strategy(job),)
    fidelity = Fidelity(options=options_of(asked), tried=tried)
    (row,) = compare_job(job, planning.search, (rule,), prices, starts, fidelity=fidelity, required=True).rows
    job = job_of_baseline(job, row)
    graph, alone = task_graph_of(job, row.strategy), _always(row.outcome.iteration_time_s)
    return JobPlan(graph, alone, topology, interval_share=getattr(job.work, "interval_share", None))


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
