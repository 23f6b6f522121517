"""The protocol of a scheduler, and what the course has to know of it besides."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from topoopt.clusters.schedulers.claim import Claim


class Allocate(Protocol):
    """Divides free workers among jobs."""

    def __call__(self, claims: Sequence[Claim], free: int, now_s: float, epoch_s: float) -> tuple[int, ...]:
        """Return how many workers more each job gets, in order.

        Parameters
        ----------
        claims : sequence of Claim
            All jobs that have come and not ended, in order of arrival.
        free : int
            Workers to give.
        now_s, epoch_s : float
            What is decided holds for an epoch, or until a job comes or goes.

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
        What it is, in a line.
    allocate : Allocate
    near : bool
        Whether it places the workers of a job as near to each other as it can; else at random.
    leases : bool
        Whether workers are taken back at the end of every epoch; else a job keeps them until it ends.
    dedicated : bool
        Whether every job has a cluster of its own: nobody waits, and nobody shares a link.
    """

    description: str
    allocate: Allocate
    near: bool = True
    leases: bool = False
    dedicated: bool = False
