"""The work of training a transformer in pipeline stages, in one of the layouts that are worth wiring a network for."""

from dataclasses import dataclass
from typing import ClassVar

from topoopt.base.errors import Infeasible, InvalidInput
from topoopt.catalog import ClusterSpec
from topoopt.jobs.layout import Layout
from topoopt.jobs.published import PublishedLayout
from topoopt.jobs.settings import JobSettings
from topoopt.workloads import Traffic
from topoopt.workloads.strategy import ParallelStrategy
from topoopt.workloads.transformer import TransformerModel


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
