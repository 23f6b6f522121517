"""The noun Job: a model on a cluster, with what its operators cost there."""

from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

from topoopt.errors import InvalidInput
from topoopt.hardware import (
    BYTES_PER_ELEMENT,
    ClusterSpec,
    find_accelerator,
    roofline_efficiency,
)
from topoopt.job.settings import JobSettings
from topoopt.job.training import Layout, Training
from topoopt.strategy import (
    OperatorSplit,
    ParallelStrategy,
    extract_traffic,
    part_samples,
)
from topoopt.traffic import Traffic, Transfers, merged_traffic, no_transfers
from topoopt.workload import (
    DeviceProfile,
    DeviceTimer,
    ImportedTimer,
    OperatorGraph,
    OperatorTime,
    OperatorTimer,
    ProfileTable,
    ProfileTimer,
    Roofline,
    RooflineTimer,
    operator_timer,
)

PROFILED = ("A100-SXM4-40GB", "fp32")
"""Accelerator and precision that the authors' profile was measured on."""

Profile = ProfileTable | DeviceProfile
"""Operator times of the user's own, in FlexNet's format or from ``topoopt profile``."""


@dataclass(frozen=True, eq=False)
class Job:
    """One training job on one cluster; make it with :func:`make_job`.

    ``profiles`` are the user's own measurements of its operators, where there are any. ``fixed_traffic`` is moved
    besides whatever the operators need; a job known by its traffic matrix alone has no operators, and neither has
    a transformer in pipeline stages, whose ``training`` says what there is to do.
    """

    graph: OperatorGraph
    cluster: ClusterSpec
    timer: OperatorTimer
    settings: JobSettings
    profiles: tuple[Profile, ...] = ()
    fixed_traffic: Transfers = field(default_factory=no_transfers)
    training: Training | None = None

    @cached_property
    def global_batch(self) -> int:
        """Samples per iteration over all accelerators."""
        if self.training is not None:
            return self.training.global_batch
        return self.graph.batch_per_accelerator * self.cluster.total_accelerators

    def time(self, op_index: int, split: OperatorSplit) -> OperatorTime:
        """Return what one part of an operator costs under a split."""
        samples = part_samples(split, self.global_batch)
        return self.timer.time(self.graph.operators[op_index], samples, split.channel_degree)


def make_job(
    graph: OperatorGraph,
    cluster: ClusterSpec,
    settings: JobSettings,
    profiles: tuple[Profile, ...] = (),
) -> Job:
    """Return the job, its operators timed as the settings say, or by the user's own ``profiles``.

    The authors' profiles hold for the accelerator and precision that they were measured on. For any other the
    roofline is taken, and every operator's time says so.

    Raises
    ------
    InvalidInput
        If the accelerator lacks the precision.
    """
    if profiles:
        return Job(graph, cluster, _own_timer(graph, cluster, settings, profiles), settings, profiles)
    part = find_accelerator(cluster.accelerator)
    measured = (part.name, settings.precision) == PROFILED
    timer = operator_timer(
        graph,
        compute=settings.compute if measured else "roofline",
        global_batch=graph.batch_per_accelerator * cluster.total_accelerators,
        accelerators_per_server=cluster.accelerators_per_server,
        roofline=job_roofline(graph, cluster, settings),
    )
    return Job(graph, cluster, timer, settings)


def _own_timer(
    graph: OperatorGraph, cluster: ClusterSpec, settings: JobSettings, profiles: tuple[Profile, ...]
) -> OperatorTimer:
    """Return the user's measurements, the last before the others, and the roofline where there are none."""
    per_server = cluster.accelerators_per_server
    timer: OperatorTimer = RooflineTimer(job_roofline(graph, cluster, settings), per_server)
    if any(op.forward_time_s is not None for op in graph.operators):
        timer = ImportedTimer(timer)
    tables = [(table, graph) for table in profiles if isinstance(table, ProfileTable)]
    if tables:
        timer = ProfileTimer(tables, timer, accelerators_per_server=per_server)
    for profile in profiles:
        if isinstance(profile, DeviceProfile):
            timer = DeviceTimer(profile, timer, accelerators_per_server=per_server)
    return timer


LARGEST_TO_KEEP = 256
"""Servers up to which the last traffics are kept: finder, rings and bounds ask for that of one strategy in turn."""


def job_traffic(job: Job, strategy: ParallelStrategy) -> Traffic:
    """Return what one iteration of a job moves under a strategy."""
    kept = job.cluster.servers <= LARGEST_TO_KEEP
    return _kept_traffic(job, strategy) if kept else _traffic(job, strategy)


def layout_of(job: Job, strategy: ParallelStrategy) -> Layout:
    """Return the layout that the strategy of a transformer's job names."""
    assert job.training is not None
    return job.training.layouts[strategy.layout]


def layout_strategies(job: Job) -> tuple[ParallelStrategy, ...]:
    """Return every layout of a transformer's job as a strategy, none of any other job."""
    count = 0 if job.training is None else len(job.training.layouts)
    return tuple(ParallelStrategy(job.cluster.servers, (), index) for index in range(count))


def _traffic(job: Job, strategy: ParallelStrategy) -> Traffic:
    if job.training is not None:
        return layout_of(job, strategy).step.traffic
    if len(job.fixed_traffic):
        return merged_traffic(job.cluster.servers, (), (), job.fixed_traffic)
    return extract_traffic(job.graph, strategy, job.global_batch, job.settings.embedding_bytes_factor)


_kept_traffic = lru_cache(maxsize=4)(_traffic)


def traffic_job(name: str, traffic: Traffic, cluster: ClusterSpec) -> Job:
    """Return the job of a traffic matrix: no operators, all bytes ready at once.

    Raises
    ------
    InvalidInput
        If the matrix is not of the cluster's servers, or moves nothing.
    """
    if traffic.servers != cluster.servers:
        raise InvalidInput(f"{name}: {traffic.servers} rows for {cluster.servers} servers")
    if not len(traffic.transfers):
        raise InvalidInput(f"{name}: no server sends another one anything; there is nothing to plan")
    job = make_job(OperatorGraph(name, (), 1), cluster, JobSettings())
    return replace(job, fixed_traffic=traffic.transfers)


def job_mfu(job: Job, iteration_time_s: float) -> float:
    """Return the model FLOPs utilization of a transformer's job: FLOPs of the model over what the accelerators could.

    Recomputed FLOPs do not count; the peak is that of the job's precision.
    """
    assert job.training is not None
    peak_flops = find_accelerator(job.cluster.accelerator).peak_flops(job.settings.precision)
    return job.training.model_flops / (iteration_time_s * job.cluster.total_accelerators * peak_flops)


def training_job(training: Training, cluster: ClusterSpec, precision: str) -> Job:
    """Return the job of training a transformer.

    Raises
    ------
    InvalidInput
        If a layout is for another number of servers, or the accelerator lacks the precision.
    """
    for layout in training.layouts:
        if layout.step.servers != cluster.servers:
            raise InvalidInput(
                f"{training.model.name}: {layout.name} is laid out over {layout.step.servers} servers, "
                f"the cluster has {cluster.servers}"
            )
    nothing = OperatorGraph(training.model.name, (), 1)
    job = make_job(nothing, cluster, JobSettings(compute="roofline", precision=precision))
    return replace(job, training=training)


def job_roofline(graph: OperatorGraph, cluster: ClusterSpec, settings: JobSettings) -> Roofline:
    """Return the roofline of the cluster's accelerator for the kinds of operator in the graph."""
    part = find_accelerator(cluster.accelerator)
    kinds = sorted({op.kind for op in graph.operators} | {"other"})
    reached = {kind: roofline_efficiency(settings.precision, kind, part.name) for kind in kinds}
    return Roofline(
        peak_flops=part.peak_flops(settings.precision),
        memory_bandwidth_bytes_per_s=part.memory_bandwidth_bytes_per_s,
        compute_efficiency={kind: row.compute for kind, row in reached.items()},
        memory_efficiency={kind: row.memory for kind, row in reached.items()},
        launch_floor_s=max(row.launch_floor_s for row in reached.values()),
        bytes_per_element=BYTES_PER_ELEMENT[settings.precision],
        source=f"{part.name}: {part.source}",
    )
