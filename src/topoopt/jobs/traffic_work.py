"""The work that is known by its traffic: no operators; all bytes ready at once, or beside a computation."""

from dataclasses import dataclass
from typing import ClassVar

from topoopt.base.errors import Infeasible
from topoopt.catalog import ClusterSpec
from topoopt.jobs.settings import JobSettings
from topoopt.workloads import Traffic
from topoopt.workloads.strategy import ParallelStrategy


@dataclass(frozen=True, eq=False)
class TrafficWork:
    """Transfers and AllReduces between servers, moved once an iteration; they count as one sample an accelerator.

    Attributes
    ----------
    name : str
        The file's.
    demand : Traffic
        Without all-to-all groups: they are transfers here.
    origin : str
        What was read, in words: a matrix where nothing is said.
    compute_s : float
        What an iteration takes on every server beside the network; 0 where nothing says so.
    hidden_share : float
        Of all bytes: as much may move during that time, the others after it.
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
        """That there is none."""
        return f"none: {self.origin}"

    def samples(self, cluster: ClusterSpec) -> int:
        """Return one for each accelerator."""
        return cluster.total_accelerators

    def tokens(self) -> None:
        """Return none: a matrix says bytes only."""

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
