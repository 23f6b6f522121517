"""The protocol Work: what a job does in an iteration, and what everyone may ask of it, whatever it is.

One file each: ``operators_work.py``, ``traffic_work.py``, ``transformer_work.py``.
What only rooms above can say of a kind of work (its task graph, how it is searched, its part of a plan file, its words
on a page) is in a table of theirs, keyed by ``kind``.
"""

from typing import Protocol

from topoopt.catalog import ClusterSpec
from topoopt.jobs.settings import JobSettings
from topoopt.workloads import Traffic
from topoopt.workloads.strategy import ParallelStrategy


class Work(Protocol):
    """The work of one iteration, on the cluster that it was made for."""

    @property
    def kind(self) -> str:
        """Key of the tables of other rooms: ``operators``, ``traffic`` or ``transformer``."""

    @property
    def name(self) -> str:
        """Name of the model, or of the file."""

    @property
    def strategy_word(self) -> str:
        """What people call a strategy of it: ``strategy``, or ``configuration``."""

    @property
    def plain_words(self) -> str:
        """The unsearched strategy in words."""

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
        """Return what one iteration moves under a strategy."""

    def on(self, cluster: ClusterSpec, settings: JobSettings) -> "Work":
        """Return the same work on another cluster, as many samples on an accelerator as before.

        Raises
        ------
        Infeasible
            If it is laid out for its own cluster only.
        """
