"""The work of training a transformer in pipeline stages, in one of the layouts that are worth wiring a network for."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from topoopt.base.errors import Infeasible, InvalidInput
from topoopt.base.limits import whole
from topoopt.catalog import ClusterSpec
from topoopt.jobs.settings import JobSettings
from topoopt.workloads import ParallelStrategy, Traffic
from topoopt.workloads.pipelined_step import PipelinedStep
from topoopt.workloads.transformer import TransformerModel

ORDER = "tp-cp-ep-dp-pp"
"""The usual order of ranks, the first changing fastest (Megatron-LM)."""
PLAIN = "1f1b"
"""The schedule of stages that names do not say."""
Words = Mapping[str, int | float | str | bool]
"""A configuration by its fields, those of :class:`topoopt.transformers.Configuration`."""


@dataclass(frozen=True, eq=False)
class Layout:
    """One way of training a transformer: how it is split, which rank sits where, and the iteration that follows.

    Attributes
    ----------
    configuration : mapping
        Degrees, micro-batch, recomputation …, by the fields of :class:`topoopt.transformers.Configuration`.
    order : str
        Which neighbors ranks have: ``tp-cp-ep-dp-pp`` puts the ranks of a tensor group next to each other.
    estimated_s : float
        Iteration time in closed form, before anything is wired.
    memory_bytes : mapping
        What the fullest accelerator holds, by cause.
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
        """What the fullest accelerator holds."""
        return float(sum(self.memory_bytes.values()))

    @property
    def name(self) -> str:
        """The degrees in short, and the order of the ranks where it is another than the usual one.

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
    """A published way of training, with the replicas that a job has accelerators for, and its time there.

    Attributes
    ----------
    source : str
        Who published it.
    model, accelerator : str
        What it was published for.
    accelerators : int
        How many it was published for.
    precision : str
        Of its matrix products, as published; here they are in that of the job.
    configuration : mapping
        As used here, by the fields of :class:`topoopt.transformers.Configuration`; those as usual are left out.
    estimated_s : float
        Iteration time in closed form.
    best_s : float
        That of the fastest configuration that fits.
    memory_bytes : float
        On the fullest accelerator.
    fits : bool
    rank : int
        Place among the configurations that fit, the fastest first; that which it would have if it does not fit.
    compared : int
        Those configurations.
    faster_with : mapping
        Of one that is not among the first: what the fastest does otherwise, one after the other, and the share of the
        time that each saves.
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
        """By what share it takes longer than the fastest; below 0 where it varies what the search does not."""
        return self.estimated_s / self.best_s - 1

    def to_mapping(self) -> Mapping[str, object]:
        """Return the fields, the name and the difference as plain values."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        return {
            **fields,
            "configuration": dict(self.configuration),
            "faster_with": dict(self.faster_with),
            "name": self.name,
            "over_best": self.over_best,
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
        Of one iteration, forward and backward, without recomputation.
    calibration : str
        What the times of the layouts rest on.
    considered : int
        Configurations that were ranked.
    parameters : int
    capacity_bytes : float
        Memory of an accelerator that there is for all of it.
    published : tuple of PublishedLayout
        Ways of training that are known from publications, where there are some for this model or one like it.
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
        """Return what the layout's step moves."""
        return self.layout(strategy).step.traffic

    def on(self, cluster: ClusterSpec, settings: JobSettings) -> "TransformerWork":
        """Refuse: a layout places every rank."""
        servers = self.layouts[0].step.servers
        raise Infeasible(f"the configurations are for all {servers} servers; plan again for fewer")

    def layout(self, strategy: ParallelStrategy) -> Layout:
        """Return the layout that a strategy names."""
        return self.layouts[strategy.layout]

    def tokens_per_s(self, iteration_time_s: float) -> float:
        """Return how many tokens are trained in a second."""
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
