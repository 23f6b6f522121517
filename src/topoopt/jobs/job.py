"""Job: some work on one cluster, and how its costs are counted.

The protocol Work: an iteration of a job, and the properties that every kind of work has.

The work of operators and of transformers is in ``work.py``. Higher packages keep their additions per kind of work
(task graph, search, part of a plan file, page) in tables of their own, keyed by ``kind``.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, Protocol

from topoopt.base.errors import Infeasible, InvalidInput
from topoopt.base.limits import refuse_too_large
from topoopt.catalog import ClusterSpec, find_accelerator
from topoopt.jobs.settings import JobSettings
from topoopt.jobs.work import OperatorsWork, Profile, TransformerWork, operators_work
from topoopt.workloads import OperatorGraph, ParallelStrategy, Traffic, with_pairs


@dataclass(frozen=True, eq=False)
class TrafficWork:
    """Transfers and AllReduces between servers, moved once an iteration; they count as one sample an accelerator.

    Attributes
    ----------
    name : str
        The file's.
    demand : Traffic
        Traffic without all-to-all groups, which are transfers here.
    origin : str
        Description of the source; by default a matrix.
    compute_s : float
        Time of an iteration on every server without the network; 0 if unknown.
    hidden_share : float
        Share of all bytes that may move during that time; the others follow it.
    """

    kind: ClassVar[str] = "traffic"
    strategy_word: ClassVar[str] = "strategy"
    name: str
    demand: Traffic
    origin: str = "a traffic matrix"
    compute_s: float = 0.0
    hidden_share: float = 0.0

    @property
    def plain_words(self) -> str:
        """States that there is no model."""
        return f"none: {self.origin}"

    def samples(self, cluster: ClusterSpec) -> int:
        """Return one for each accelerator."""
        return cluster.total_accelerators

    def tokens(self) -> None:
        """Return none: a matrix has bytes only."""

    def plain_strategy(self, servers: int) -> ParallelStrategy:
        """Return the strategy of no operators."""
        return ParallelStrategy(servers, ())

    def choices(self, servers: int) -> tuple[ParallelStrategy, ...]:
        """Return none: there is nothing to choose."""
        return ()

    def strategy_name(self, strategy: ParallelStrategy) -> str:
        """Return none."""
        return ""

    def traffic(self, strategy: ParallelStrategy, cluster: ClusterSpec, settings: JobSettings) -> Traffic:
        """Return all of it."""
        return self.demand

    def on(self, cluster: ClusterSpec, settings: JobSettings) -> "TrafficWork":
        """Refuse: rows and columns are servers."""
        raise Infeasible("a job known by its traffic alone cannot be given fewer servers")


class Work(Protocol):
    """The work of one iteration, on the cluster that it was made for."""

    @property
    def kind(self) -> str:
        """Key of the tables of other packages: ``operators``, ``traffic`` or ``transformer``."""

    @property
    def name(self) -> str:
        """Name of the model, or of the file."""

    @property
    def strategy_word(self) -> str:
        """Term for its strategy: ``strategy`` or ``configuration``."""

    @property
    def plain_words(self) -> str:
        """Description of the unsearched strategy."""

    def samples(self, cluster: ClusterSpec) -> int:
        """Return the samples of an iteration over all accelerators."""

    def tokens(self) -> int | None:
        """Return the tokens of an iteration, None where samples have none."""

    def plain_strategy(self, servers: int) -> ParallelStrategy:
        """Return the unsearched strategy."""

    def choices(self, servers: int) -> tuple[ParallelStrategy, ...]:
        """Return the strategies that there are; none where they are searched, or there is nothing to choose."""

    def strategy_name(self, strategy: ParallelStrategy) -> str:
        """Return the short name of a strategy, empty where it has none."""

    def traffic(self, strategy: ParallelStrategy, cluster: ClusterSpec, settings: JobSettings) -> Traffic:
        """Return the traffic of one iteration under a strategy."""

    def on(self, cluster: ClusterSpec, settings: JobSettings) -> "Work":
        """Return the same work on another cluster, with the same batch per accelerator.

        Raises
        ------
        Infeasible
            If it is laid out for its own cluster only.
        """


@dataclass(frozen=True, eq=False)
class Job:
    """One training job on one cluster; make it with :func:`make_job`, :func:`traffic_job` or :func:`training_job`."""

    work: Work
    cluster: ClusterSpec
    settings: JobSettings

    def __post_init__(self) -> None:
        refuse_too_many_servers(self.cluster)

    @property
    def name(self) -> str:
        """Name of the work."""
        return self.work.name

    @property
    def global_batch(self) -> int:
        """Samples per iteration over all accelerators."""
        return self.work.samples(self.cluster)


def refuse_too_many_servers(cluster: ClusterSpec) -> None:
    """Refuse a cluster for whose pairs of servers there is not enough memory here.

    Raises
    ------
    Infeasible
        With the memory needed, and the memory available.
    """
    needed_bytes = _BYTES_OF_A_PAIR * cluster.servers**2
    refuse_too_large(f"servers {cluster.servers}", needed_bytes, "use fewer servers")


_BYTES_OF_A_PAIR = 48
"""Measured memory per ordered pair of servers for traffic, routes and loads while a job is planned."""


def make_job(
    graph: OperatorGraph, cluster: ClusterSpec, settings: JobSettings, profiles: tuple[Profile, ...] = ()
) -> Job:
    """Return the job of training a model of operators; see :func:`topoopt.jobs.operators_work`."""
    return Job(operators_work(graph, cluster, settings, profiles), cluster, settings)


def traffic_job(
    name: str,
    traffic: Traffic,
    cluster: ClusterSpec,
    origin: str = "a traffic matrix",
    compute_s: float = 0.0,
    hidden_share: float = 0.0,
) -> Job:
    """Return the job of known traffic without operators; ``origin`` describes the source.

    All bytes are ready at once; where an iteration computes for ``compute_s``, too, a share of each transfer may move
    beside that and the rest after it.

    Raises
    ------
    InvalidInput
        If the traffic is not of the cluster's servers, or moves nothing.
    """
    if traffic.servers != cluster.servers:
        raise InvalidInput(f"{name}: {traffic.servers} rows for {cluster.servers} servers")
    demand = with_pairs(traffic)
    if not len(demand.transfers) and not demand.allreduce:
        raise InvalidInput(f"{name}: no server sends another one anything; there is nothing to plan")
    return Job(TrafficWork(name, demand, origin, compute_s, hidden_share), cluster, JobSettings())


def training_job(work: TransformerWork, cluster: ClusterSpec, precision: str) -> Job:
    """Return the job of training a transformer.

    Raises
    ------
    InvalidInput
        If a layout is for another number of servers, or the accelerator lacks the precision.
    """
    for layout in work.layouts:
        if layout.step.servers != cluster.servers:
            raise InvalidInput(
                f"{work.name}: {layout.name} is laid out over {layout.step.servers} servers, "
                f"the cluster has {cluster.servers}"
            )
    find_accelerator(cluster.accelerator).peak_flops(precision)
    return Job(work, cluster, JobSettings(compute="roofline", precision=precision))


def job_on(job: Job, cluster: ClusterSpec) -> Job:
    """Return the job on another cluster, with the same batch per accelerator.

    Raises
    ------
    Infeasible
        If its work is laid out for its own cluster only.
    """
    return Job(job.work.on(cluster, job.settings), cluster, job.settings)


def operators_of(job: Job) -> OperatorsWork:
    """Return the work of a job that is known to be one of operators."""
    assert isinstance(job.work, OperatorsWork)
    return job.work


def transformer_of(job: Job) -> TransformerWork:
    """Return the work of a job that is known to train a transformer."""
    assert isinstance(job.work, TransformerWork)
    return job.work


LARGEST_TO_KEEP = 256
"""Servers up to which the last traffics are kept: finder, rings and bounds ask for that of one strategy in turn. Above
it is the last one."""


def job_traffic(job: Job, strategy: ParallelStrategy) -> Traffic:
    """Return the traffic of one iteration of a job under a strategy."""
    kept = job.cluster.servers <= LARGEST_TO_KEEP
    return (_kept_traffic if kept else _last_traffic)(job, strategy)


def _traffic(job: Job, strategy: ParallelStrategy) -> Traffic:
    return job.work.traffic(strategy, job.cluster, job.settings)


_kept_traffic = lru_cache(maxsize=4)(_traffic)
_last_traffic = lru_cache(maxsize=1)(_traffic)


def job_mfu(job: Job, iteration_time_s: float) -> float:
    """Return the model FLOPs utilization of a transformer's job: FLOPs of the model over the peak of the
    accelerators.

    Recomputed FLOPs do not count; the peak is that of the job's precision.
    """
    peak_flops = find_accelerator(job.cluster.accelerator).peak_flops(job.settings.precision)
    accelerators = job.cluster.total_accelerators
    return transformer_of(job).model_flops / (iteration_time_s * accelerators * peak_flops)
