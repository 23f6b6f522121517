"""In order of arrival: each job gets the workers that it asks for, and keeps them; the next one waits its turn."""

from collections.abc import Sequence

from topoopt.clusters.schedulers.scheduler import Claim


def in_order(claims: Sequence[Claim], free: int, now_s: float, epoch_s: float) -> tuple[int, ...]:
    """Return the workers of jobs that have none; see :class:`topoopt.clusters.schedulers.scheduler.Allocate`."""
    given = [0] * len(claims)
    for index, claim in enumerate(claims):
        if claim.held:
            continue
        if claim.workers > free:
            break
        given[index] = claim.workers
        free -= claim.workers
    return tuple(given)


def at_once(claims: Sequence[Claim], free: int, now_s: float, epoch_s: float) -> tuple[int, ...]:
    """Return the workers that each job asks for, whoever else is there: every job has a cluster of its own."""
    return tuple(0 if claim.held else claim.workers for claim in claims)
