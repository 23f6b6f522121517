"""Work of a job: a graph of operators with their times, or the training of a transformer in pipeline stages."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from topoopt.base.answers import fields_of
from topoopt.base.errors import Infeasible, InvalidInput
from topoopt.base.limits import whole
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
from topoopt.workloads.pipelined_step import PipelinedStep
from topoopt.workloads.transformer import TransformerModel

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
        """Return the time of one part of an operator under a split."""
        samples = part_samples(split, self.global_batch)
        return self.timer.time(self.graph.operators[index], samples, split.channel_degree)


ORDER = "tp-cp-ep-dp-pp"
"""Default order of ranks, the first changing fastest (Megatron-LM)."""
PLAIN = "1f1b"
"""Schedule of stages where names have none."""
Words = Mapping[str, int | float | str | bool]
"""A configuration by its fields, those of :class:`topoopt.transformers.Configuration`."""


@dataclass(frozen=True, eq=False)
class Layout:
    """A training configuration of a transformer: its split, the placement of ranks, and the resulting iteration.

    Attributes
    ----------
    configuration : mapping
        Degrees, micro-batch, recomputation …, by the fields of :class:`topoopt.transformers.Configuration`.
    order : str
        Order of ranks: ``tp-cp-ep-dp-pp`` puts the ranks of a tensor group next to each other.
    estimated_s : float
        Iteration time in closed form, before anything is wired.
    memory_bytes : mapping
        Memory of the fullest accelerator, by cause.
    step : PipelinedStep
    """

    configuration: Words
    order: str
    estimated_s: float
    memory_bytes: Mapping[str, float]
    step: PipelinedStep

    def __post_init__(self) -> None:
        for degree in ("tp", "pp", "dp", "micro_batch"):
            whole(f"configuration of a layout: {degree}", self.configuration.get(degree), 1)

    @property
    def total_memory_bytes(self) -> float:
        """Memory of the fullest accelerator."""
        return float(sum(self.memory_bytes.values()))

    @property
    def name(self) -> str:
        """Short form of the degrees, with the order of the ranks where it is not the default.

        Examples
        --------
        >>> Layout({"tp": 8, "pp": 4, "dp": 16, "cp": 1, "micro_batch": 1}, ORDER, 0.0, {}, None).name
        'tp8 pp4 dp16 mb1'
        """
        return " ".join(
            [layout_name(self.configuration), *([] if self.order == ORDER else [f"({self.order})"])]
        )


@dataclass(frozen=True, slots=True)
class PublishedLayout:
    """A published training configuration, scaled to the replicas that a job has accelerators for, and its time
    there.

    Attributes
    ----------
    source : str
        Publication.
    model, accelerator : str
        Model and accelerator that it was published for.
    accelerators : int
        Accelerators that it was published for.
    precision : str
        Published precision of matrix products; here, the job's precision is used.
    configuration : mapping
        Configuration as used here, by the fields of :class:`topoopt.transformers.Configuration`, without defaults.
    estimated_s : float
        Iteration time in closed form.
    best_s : float
        Time of the fastest configuration that fits.
    memory_bytes : float
        Memory of the fullest accelerator.
    fits : bool
    rank : int
        Place among the configurations that fit, the fastest first; that which it would have if it does not fit.
    compared : int
        Number of those configurations.
    faster_with : mapping
        Changes that lead from this configuration to the fastest one, in sequence, with the share of the time that each
        saves; only if this one is not among the fastest.
    """

    source: str
    model: str
    accelerator: str
    accelerators: int
    precision: str
    configuration: Words
    estimated_s: float
    best_s: float
    memory_bytes: float
    fits: bool
    rank: int
    compared: int
    faster_with: Mapping[str, float] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The degrees in short."""
        return layout_name(self.configuration)

    @property
    def over_best(self) -> float:
        """Relative slowdown against the fastest; negative where it varies an option that the search does not."""
        return self.estimated_s / self.best_s - 1

    def to_mapping(self) -> Mapping[str, object]:
        """Return the fields, the name and the difference as plain values."""
        fields = fields_of(self, *self.__slots__)
        return {
            **fields,
            "configuration": dict(self.configuration),
            "faster_with": dict(self.faster_with),
            **fields_of(self, "name", "over_best"),
        }


@dataclass(frozen=True, eq=False)
class TransformerWork:
    """A transformer to train, and its layouts in the order of the closed form, the fastest first.

    Attributes
    ----------
    model : TransformerModel
    layouts : tuple of Layout
        A strategy names one of them by its place.
    global_batch, sequence : int
        Sequences of an iteration, and tokens of each.
    model_flops : float
        FLOPs of one iteration, forward and backward, without recomputation.
    calibration : str
        Basis of the estimated times.
    considered : int
        Configurations that were ranked.
    parameters : int
    capacity_bytes : float
        Memory of an accelerator that there is for all of it.
    published : tuple of PublishedLayout
        Published training configurations of this model or a similar one, if any.
    interval_share : float or None
        Share of an iteration time by which 80 % of measured runs of other stacks are off at most
        (:attr:`topoopt.transformers.Quality.interval_share`); None in older files.
    untried, untried_time_s : str, float
        Fastest configuration with a schedule that was not searched, and its time in closed form; empty where none is
        faster.
    """

    kind: ClassVar[str] = "transformer"
    strategy_word: ClassVar[str] = "configuration"
    model: TransformerModel
    layouts: tuple[Layout, ...]
    global_batch: int
    sequence: int
    model_flops: float
    calibration: str = ""
    considered: int = 0
    parameters: int = 0
    capacity_bytes: float = 0.0
    published: tuple[PublishedLayout, ...] = ()
    interval_share: float | None = None
    untried: str = ""
    untried_time_s: float = 0.0

    def __post_init__(self) -> None:
        if not self.layouts:
            raise InvalidInput(f"{self.model.name}: no layouts: there is nothing to plan")

    @property
    def name(self) -> str:
        """The model's."""
        return self.model.name

    @property
    def plain_words(self) -> str:
        """The first layout's name."""
        return f"{self.layouts[0].name}, the best in closed form"

    def samples(self, cluster: ClusterSpec) -> int:
        """Return the sequences of an iteration."""
        return self.global_batch

    def tokens(self) -> int:
        """Return the tokens of an iteration."""
        return self.global_batch * self.sequence

    def plain_strategy(self, servers: int) -> ParallelStrategy:
        """Return the first layout, the fastest in closed form."""
        return self.choices(servers)[0]

    def choices(self, servers: int) -> tuple[ParallelStrategy, ...]:
        """Return every layout."""
        return tuple(ParallelStrategy(servers, (), index) for index in range(len(self.layouts)))

    def strategy_name(self, strategy: ParallelStrategy) -> str:
        """Return the name of the layout."""
        return self.layout(strategy).name

    def traffic(self, strategy: ParallelStrategy, cluster: ClusterSpec, settings: JobSettings) -> Traffic:
        """Return the traffic of the layout."""
        return self.layout(strategy).step.traffic

    def on(self, cluster: ClusterSpec, settings: JobSettings) -> "TransformerWork":
        """Refuse: a layout places every rank."""
        servers = self.layouts[0].step.servers
        raise Infeasible(f"the configurations are for all {servers} servers; plan again for fewer")

    def layout(self, strategy: ParallelStrategy) -> Layout:
        """Return the layout that a strategy names."""
        return self.layouts[strategy.layout]

    def tokens_per_s(self, iteration_time_s: float) -> float:
        """Return the training rate in tokens per second."""
        return self.tokens() / iteration_time_s


def layout_name(configuration: Words) -> str:
    """Return the degrees of a configuration in short, and its schedule where that is not 1F1B.

    Examples
    --------
    >>> layout_name({"tp": 8, "pp": 4, "dp": 16, "vpp": 2})
    'tp8 pp4 dp16 vpp2 mb1'
    >>> layout_name({"tp": 1, "pp": 16, "dp": 128, "ep": 64, "schedule": "dualpipe"})
    'tp1 pp16 dp128 ep64 mb1 dualpipe'
    """
    degrees = [f"{key}{configuration[key]}" for key in ("tp", "pp", "dp")]
    more = [key for key in ("cp", "ep", "vpp") if configuration.get(key, 1) != 1]
    schedule = str(configuration.get("schedule", PLAIN))
    return " ".join(
        [
            *degrees,
            *(f"{key}{configuration[key]}" for key in more),
            f"mb{configuration.get('micro_batch', 1)}",
            *([] if schedule == PLAIN else [schedule]),
        ]
    )


def operators_work(
    graph: OperatorGraph, cluster: ClusterSpec, settings: JobSettings, profiles: tuple[Profile, ...] = ()
) -> OperatorsWork:
    """Return the operators, timed by the settings, or by the user's own ``profiles``.

    The authors' profiles hold for the accelerator and precision that they were measured on. For any other the
    roofline is used, as every operator's time records.

    Raises
    ------
    InvalidInput
        If the accelerator lacks the precision, or a micro-batch is less than a sample of each accelerator.
    """
    if settings.microbatches > graph.batch_per_accelerator:
        raise InvalidInput(
            f"microbatches {settings.microbatches}: an accelerator has {graph.batch_per_accelerator} samples; "
            "give at most that"
        )
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
