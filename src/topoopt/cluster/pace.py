"""How fast jobs run beside each other: the one question that the course of a cluster asks of a fabric."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from topoopt.simulate import TaskGraph


@dataclass(frozen=True, eq=False)
class PlacedJob:
    """A running job: one iteration of it, and where it runs.

    Attributes
    ----------
    job : str
        Its id in the trace.
    graph : TaskGraph
        One iteration on the job's own servers 0..k-1.
    servers : tuple of int
        Servers of the cluster, in the order of the job's own.
    """

    job: str
    graph: TaskGraph
    servers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class IterationTimes:
    """Iteration times of one job while the set of running jobs stays as it is.

    Attributes
    ----------
    mean_s : float
        Mean over many iterations: what decides when the job ends.
    samples_s : tuple of float
        Single iterations that were simulated, at least one; percentiles are taken over them.
    """

    mean_s: float
    samples_s: tuple[float, ...]


class Pace(Protocol):
    """Says how long iterations take on one fabric while a set of jobs runs."""

    def __call__(self, running: Sequence[PlacedJob]) -> tuple[IterationTimes, ...]:
        """Return the iteration times of each running job, in order."""
        ...
