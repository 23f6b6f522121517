"""TestbedJob: an iteration to be run on several fabrics, and the paper's own jobs."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from topoopt.base.errors import InvalidInput, check_known
from topoopt.jobs import Job, JobSettings, job_traffic, make_job, operators_of
from topoopt.plans import Plan
from topoopt.plugins.testbeds.emulated_fabrics import PAPER_CLUSTER
from topoopt.search import SearchOptions, make_plan, preset, task_graph_of
from topoopt.simulation import COLLECTIVE, TaskGraph, TaskRows, task_graph_from_edges
from topoopt.workloads import ParallelStrategy, data_parallel, load_model


@dataclass(frozen=True, slots=True)
class Scale:
    """A plan's numbers over those of its testbed.

    All links are slower by one factor and all messages smaller by another, so every message takes ``time`` times
    as long as in the plan; computing is longer by the same factor. Whatever the shape of an iteration, it takes
    ``time`` times as long as in the plan. Latency is excluded: it is the kernel's, and far below a plan's once
    divided by ``time``.

    Attributes
    ----------
    bandwidth : float
        Bits per second of a link of the plan, over those of the testbed.
    size : float
        Bytes of a message of the plan, over those on the testbed.
    """

    bandwidth: float
    size: float

    def __post_init__(self) -> None:
        for name, value in (("bandwidth", self.bandwidth), ("size", self.size)):
            if not 0 < value < float("inf"):
                raise InvalidInput(f"scale: {name} must be positive, got {value}")

    @property
    def time(self) -> float:
        """Seconds on the testbed for each second of the plan."""
        return self.bandwidth / self.size


PLAN = "plan"
"""The workload that is the plan's own job."""
ALLREDUCE = "allreduce"
"""The workload that is one AllReduce of all that a job AllReduces."""
MODELS: Mapping[str, str] = MappingProxyType(
    {
        "dlrm": "dlrm-testbed",
        "candle": "candle-testbed",
        "transformer": "bert-testbed",
        "vgg": "vgg16",
        "resnet": "resnet50",
    }
)
"""Jobs of the paper's testbed (NSDI 2023, section 6), by the name of the workload."""
WORKLOADS = (PLAN, ALLREDUCE, *MODELS)
_REAL: Mapping[str, str] = MappingProxyType(
    {"dlrm": "dlrm", "ncf": "dlrm", "bert": "transformer", "vgg": "vgg", "resnet": "vgg"}
)
"""Small models trained alongside, by the first letters of a model's name; a perceptron for all others."""
BUCKETS = 4
"""AllReduces into which the gradients of the paper's jobs are joined; each takes processor time."""


@dataclass(frozen=True, eq=False)
class TestbedJob:
    """Work of all servers in an iteration.

    Attributes
    ----------
    graph : TaskGraph
        Task graph of one iteration, not scaled.
    model : str
        The small model that is trained beside it.
    placement : tuple of int
        Server of each embedding table, of a job that has some.
    """

    __test__ = False

    name: str
    graph: TaskGraph
    model: str
    placement: tuple[int, ...] = ()


def job_of_plan(plan: Plan, workload: str = PLAN) -> TestbedJob:
    """Return the job to run on a plan's servers.

    Parameters
    ----------
    workload : str
        A name in :data:`WORKLOADS`. A model of the paper is trained data parallel, its tables round-robin.

    Raises
    ------
    InvalidInput
        For an unknown workload.
    """
    check_known("workload", workload, WORKLOADS)
    if workload == ALLREDUCE:
        traffic = job_traffic(plan.job, plan.strategy)
        groups = traffic.allreduce
        nothing = np.zeros(0, np.int64)
        rows = TaskRows(
            COLLECTIVE,
            len(groups),
            size_bytes=np.array([group.size_bytes for group in groups], np.int64),
            collective=0,
            members=tuple(group.members for group in groups),
        )
        graph = task_graph_from_edges(traffic.servers, [rows], nothing, nothing)
        return TestbedJob(f"{plan.job.name}, AllReduce alone", graph, "perceptron")
    if workload == PLAN:
        return _of(plan.job, plan.strategy)
    job = paper_job(workload, plan.job)
    return _of(job, data_parallel(operators_of(job).graph, job.cluster.servers))


def paper_job(workload: str, like: Job | None = None) -> Job:
    """Return a job of the paper's testbed, on its 12 servers or on the cluster of another job."""
    graph = load_model(MODELS[workload])
    settings = JobSettings(bucket_bytes=graph.dense_parameter_bytes // BUCKETS)
    return make_job(graph, PAPER_CLUSTER if like is None else like.cluster, settings)


def paper_plan(workload: str) -> Plan:
    """Return the plan of a job of the paper's testbed: data parallel, rings along the strides of all 12 servers."""
    rules = {key: value for key, value in preset("paper").items() if key in SearchOptions.__slots__}
    return make_plan(paper_job(workload), SearchOptions(**rules, budget=0, processes=1), fabrics=())


def _of(job: Job, strategy: ParallelStrategy) -> TestbedJob:
    names = [real for begins, real in _REAL.items() if job.name.startswith(begins)]
    model = names[0] if names else "perceptron"
    placement: tuple[int, ...] = ()
    if model == "dlrm" and job.work.kind == "operators":
        graph = operators_of(job).graph
        tables = zip(graph.operators, strategy.splits, strict=True)
        placement = tuple(int(split.servers(strategy.servers)[0]) for op, split in tables if op.is_embedding)
    return TestbedJob(
        job.name,
        task_graph_of(job, strategy),
        model if placement or model != "dlrm" else "perceptron",
        placement,
    )


def scale_for(
    iteration_time_s: float, link_bandwidth_bps: float, scaled_bandwidth_bps: float, wanted_s: float
) -> Scale:
    """Return the scale at which a link has a given bandwidth and an iteration takes a given time.

    Parameters
    ----------
    scaled_bandwidth_bps, wanted_s : float
        Values on the testbed. The longer an iteration, the smaller the share of Linux's and Python's time per
        message.

    Examples
    --------
    >>> scale_for(0.4, 25e9, 50e6, 4.0)
    Scale(bandwidth=500.0, size=50.0)
    """
    bandwidth = link_bandwidth_bps / scaled_bandwidth_bps
    return Scale(bandwidth, bandwidth * iteration_time_s / wanted_s)
