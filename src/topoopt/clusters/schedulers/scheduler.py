"""Protocol of schedulers, and their properties that the simulation uses."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np


@dataclass(frozen=True, slots=True)
class Claim:
    """A job that has arrived and not ended.

    A worker is one server. Work is counted in iterations on the requested number of workers.

    Attributes
    ----------
    job : str
    arrival_s : float
    least, most : int
        Bounds on the workers it can run with.
    held : int
        Workers that it keeps whatever is decided now; 0 where all leases are over.
    work, left : float
        Iterations in all, and of these to do.
    rates_per_s : tuple of float
        Entry k: iterations of work in a second on k + 1 workers with links of their own, up to ``most``.
    efficiencies : tuple of float
        Entry k: efficiency of a sample on k + 1 workers, relative to that on the requested workers.
    """

    job: str
    arrival_s: float
    workers: int
    least: int
    most: int
    held: int
    work: float
    left: float
    rates_per_s: tuple[float, ...]
    efficiencies: tuple[float, ...]

    def choices(self, free: int) -> range:
        """Return the possible numbers of additional workers, besides none."""
        return range(max(self.least - self.held, 1), min(self.most - self.held, free) + 1)

    def progress_per_s(self, workers: int) -> float:
        """Return the work done per second on this many workers with dedicated links, in iterations."""
        return self.rates_per_s[workers - 1] * self.efficiencies[workers - 1] if workers else 0.0

    @property
    def dedicated_s(self) -> float:
        """Time of the whole job on the workers that it requests, with dedicated links."""
        return self.work / self.progress_per_s(self.workers)


class Allocate(Protocol):
    """Divides free workers among jobs."""

    def __call__(self, claims: Sequence[Claim], free: int, now_s: float, epoch_s: float) -> tuple[int, ...]:
        """Return the number of additional workers of each job, in order.

        Parameters
        ----------
        claims : sequence of Claim
            All jobs that have come and not ended, in order of arrival.
        free : int
            Workers to give.
        now_s, epoch_s : float
            Present time, and the lease time: a decision applies for an epoch, or until a job arrives or leaves.

        Returns
        -------
        tuple of int
            0 or one of ``claim.choices(free)`` for each, at most ``free`` in all.
        """
        ...


@dataclass(frozen=True, slots=True)
class Scheduler:
    """A scheduler of the table.

    Attributes
    ----------
    description : str
        One-line description.
    allocate : Allocate
    near : bool
        Whether it places the workers of a job as near to each other as it can; else at random.
    leases : bool
        Whether workers are reclaimed at the end of every epoch; else a job keeps them until it ends.
    dedicated : bool
        Whether every job has its own cluster: no job waits, and no link is shared.
    """

    description: str
    allocate: Allocate
    near: bool = True
    leases: bool = False
    dedicated: bool = False


def best_division(values: Sequence[Mapping[int, float]], workers: int) -> tuple[tuple[int, ...], float]:
    """Return the division of at most ``workers`` with the largest total value, and that value.

    Dynamic programming over jobs, exact. Ties go to the allocation that gives the last jobs least.

    Parameters
    ----------
    values : sequence of mappings
        Value of each number of workers for each job; 0 is among the keys.
    workers : int

    Returns
    -------
    tuple of int, float
        Workers of each job.

    Examples
    --------
    >>> best_division([{0: 0.0, 1: 3.0, 2: 4.0}, {0: 0.0, 2: 2.5}], 3)
    ((1, 2), 5.5)
    """
    best = np.zeros(workers + 1)
    chosen = np.zeros((len(values), workers + 1), np.int64)
    for job, worth in enumerate(values):
        after = np.full(workers + 1, -np.inf)
        for count, value in sorted(worth.items()):
            if count > workers:
                continue
            with_it = best[: workers + 1 - count] + value
            better = with_it > after[count:]
            after[count:][better] = with_it[better]
            chosen[job, count:][better] = count
        best = after
    division, left = [], workers
    for job in reversed(range(len(values))):
        division.append(int(chosen[job, left]))
        left -= division[-1]
    return tuple(reversed(division)), float(best[workers])
