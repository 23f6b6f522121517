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
class SendTimes:
    """How long what a job sends is under way, from first to last byte.

    Attributes
    ----------
    mean_s : float
        Over all that it sent; 0 where it sent nothing.
    samples_s : tuple of float
        Of the first of them.
    """

    mean_s: float = 0.0
    samples_s: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class IterationTimes:
    """Iteration times of one job while the set of running jobs stays as it is.

    Attributes
    ----------
    mean_s : float
        Mean over many iterations: what decides when the job ends.
    samples_s : tuple of float
        Single iterations that were simulated, at least one; percentiles are taken over them.
    sends : SendTimes
        Where they are watched: on shared links, and of served models.
    sends_alone : SendTimes
        On the same servers of the same fabric with nobody else; empty where nobody else can disturb it.
    """

    mean_s: float
    samples_s: tuple[float, ...]
    sends: SendTimes = SendTimes()
    sends_alone: SendTimes = SendTimes()


class Pace(Protocol):
    """Says how long iterations take on one fabric while a set of jobs runs."""

    def __call__(self, running: Sequence[PlacedJob]) -> tuple[IterationTimes, ...]:
        """Return the iteration times of each running job, in order."""
        ...
