"""The work of a model given as a graph of operators, each with the time that it takes."""

from dataclasses import dataclass
from typing import ClassVar

from topoopt.catalog import BYTES_PER_ELEMENT, ClusterSpec, find_accelerator, roofline_efficiency
from topoopt.jobs.settings import JobSettings
from topoopt.workloads import (
    DeviceProfile,
    DeviceTimer,
    ImportedTimer,
    OperatorGraph,
    OperatorSplit,
    OperatorTime,
    OperatorTimer,
    ParallelStrategy,
    ProfileTable,
    ProfileTimer,
    Roofline,
    RooflineTimer,
    Traffic,
    data_parallel,
    extract_traffic,
    operator_timer,
    part_samples,
)

PROFILED = ("A100-SXM4-40GB", "fp32")
"""Accelerator and precision that the authors' profile was measured on."""

Profile = ProfileTable | DeviceProfile
"""Operator times of the user's own, in FlexNet's format or from ``topoopt profile``."""


@dataclass(frozen=True, eq=False)
class OperatorsWork:
    """A model's operators; make it with :func:`operators_work`.

    Attributes
    ----------
    graph : OperatorGraph
    timer : OperatorTimer
        Time of each part on the accelerator of the cluster.
    global_batch : int
        Samples of an iteration over all accelerators.
    profiles : tuple of Profile
        The user's own measurements, where there are any.
    """

    kind: ClassVar[str] = "operators"
    strategy_word: ClassVar[str] = "strategy"
    plain_words: ClassVar[str] = "data parallel, tables round-robin"
    graph: OperatorGraph
    timer: OperatorTimer
    global_batch: int
    profiles: tuple[Profile, ...] = ()

    @property
    def name(self) -> str:
        """The model's, with its variant."""
        return self.graph.name

    def samples(self, cluster: ClusterSpec) -> int:
        """Return the samples of an iteration."""
        return self.global_batch

    def tokens(self) -> None:
        """Return none: operators count samples."""

    def plain_strategy(self, servers: int) -> ParallelStrategy:
        """Return data parallelism with round-robin tables."""
        return data_parallel(self.graph, servers)

    def choices(self, servers: int) -> tuple[ParallelStrategy, ...]:
        """Return none: there are more strategies than can be listed."""
        return ()

    def strategy_name(self, strategy: ParallelStrategy) -> str:
        """Return none."""
        return ""

    def traffic(self, strategy: ParallelStrategy, cluster: ClusterSpec, settings: JobSettings) -> Traffic:
        """Return gradients as AllReduces, activations between operators that are split otherwise as transfers."""
        return extract_traffic(self.graph, strategy, self.global_batch, settings.embedding_bytes_factor)

    def on(self, cluster: ClusterSpec, settings: JobSettings) -> "OperatorsWork":
        """Return the operators, timed on another cluster."""
        return operators_work(self.graph, cluster, settings, self.profiles)

    def time(self, index: int, split: OperatorSplit) -> OperatorTime:
        """Return what one part of an operator costs under a split."""
        samples = part_samples(split, self.global_batch)
        return self.timer.time(self.graph.operators[index], samples, split.channel_degree)


def operators_work(
    graph: OperatorGraph,
    cluster: ClusterSpec,
    settings: JobSettings,
    profiles: tuple[Profile, ...] = (),
) -> OperatorsWork:
    """Return the operators, timed as the settings say, or by the user's own ``profiles``.

    The authors' profiles hold for the accelerator and precision that they were measured on. For any other the
    roofline is taken, and every operator's time says so.

    Raises
    ------
    InvalidInput
        If the accelerator lacks the precision.
    """
    global_batch = graph.batch_per_accelerator * cluster.total_accelerators
    if profiles:
        return OperatorsWork(graph, _own_timer(graph, cluster, settings, profiles), global_batch, profiles)
    part = find_accelerator(cluster.accelerator)
    measured = (part.name, settings.precision) == PROFILED
    timer = operator_timer(
        graph,
        compute=settings.compute if measured else "roofline",
        global_batch=global_batch,
        accelerators_per_server=cluster.accelerators_per_server,
        roofline=job_roofline(graph, cluster, settings),
    )
    return OperatorsWork(graph, timer, global_batch)


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
