"""Where the workers of jobs are, what that puts on which links, and who chooses among several such placements."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from topoopt.base.arrays import Floats, Ints
from topoopt.clusters.interleave import CommunicationProfile


@dataclass(frozen=True, eq=False)
class PlacedWorkers:
    """A job on its workers.

    Attributes
    ----------
    job : str
    servers : tuple of int
        One for each worker, in the job's own order.
    profile : CommunicationProfile
        What the busiest of them sends over one iteration, where nobody disturbs it.
    links : int64 array, shape (links used,)
        Directed links of the network, ascending; none for a single worker.
    shares : float64 array, shape (links used,)
        The job's rate on each, over that of the profile.
    """

    job: str
    servers: tuple[int, ...]
    profile: CommunicationProfile
    links: Ints
    shares: Floats


Placement = tuple[PlacedWorkers, ...]
"""All jobs that run at a time."""


@dataclass(frozen=True, slots=True)
class ChosenPlacement:
    """One of several placements, and when its jobs begin an iteration.

    Attributes
    ----------
    candidate : int
    score : float
        Mean compatibility score of the links that several jobs use; 1 where none is.
    time_shifts_s : tuple of float
        For each job of the placement, in order: iterations begin at this time, modulo the iteration time, after one
        common moment.
    periods_s : tuple of float
        The iteration times to which jobs are held, as they were rounded to find the shifts: a job that is off by more
        than 5 % of its iteration has its shift applied anew. 0 for a job that is let run as it does.
    groups : tuple of tuples of int
        Sets of jobs of which each has its shift among the others; the moment is one for each set. A job that is in
        none starts when it can.
    """

    candidate: int
    score: float
    time_shifts_s: tuple[float, ...]
    periods_s: tuple[float, ...]
    groups: tuple[tuple[int, ...], ...]


class Interleaver(Protocol):
    """Chooses among placements by how well jobs share links in them, as CASSINI does."""

    def __call__(self, candidates: Sequence[Placement], capacities_bps: Floats) -> ChosenPlacement:
        """Return the best placement with its time shifts.

        Parameters
        ----------
        candidates : sequence of Placement
            One to ten, the scheduler's own first; all have the same jobs in the same order.
        capacities_bps : float64 array, shape (links,)
            Of the links of the network.
        """
        ...
