"""When the next iteration of each job starts, so that jobs that share links are shifted as CASSINI wants."""

from collections.abc import Sequence

from topoopt.clusters.scheduled.placement import ChosenPlacement, Placement

ON_TIME = 1e-6
"""A job that would wait for this part of an iteration, or for all but it, is on time: that is rounding."""


def aligned_starts_s(
    placement: Placement, chosen: ChosenPlacement, ready_s: Sequence[float]
) -> tuple[float, ...]:
    """Return when each job starts its next iteration, at the earliest when it is ready.

    Each set of jobs whose shifts count among each other takes the common moment for which its jobs wait least in all.
    Where nothing has changed nobody waits.

    Parameters
    ----------
    ready_s : sequence of float
        When each job of the placement could start.
    """
    starts_s = list(ready_s)
    periods_s = [
        held or job.profile.iteration_time_s for job, held in zip(placement, chosen.periods_s, strict=True)
    ]
    for jobs in chosen.groups:
        moments_s = [ready_s[job] - chosen.time_shifts_s[job] for job in jobs]
        waits_s = [
            [wait_s(ready_s[job], moment_s + chosen.time_shifts_s[job], periods_s[job]) for job in jobs]
            for moment_s in moments_s
        ]
        least = min(waits_s, key=sum)
        for job, waiting_s in zip(jobs, least, strict=True):
            starts_s[job] += waiting_s
    return tuple(starts_s)


def wait_s(ready_s: float, moment_s: float, period_s: float) -> float:
    """Return how long to wait for a moment that comes again in every period.

    Examples
    --------
    >>> round(wait_s(10.0, 3.25, 0.5), 9), wait_s(10.0, 3.0, 0.5)
    (0.25, 0.0)
    """
    waiting_s = (moment_s - ready_s) % period_s
    return 0.0 if min(waiting_s, period_s - waiting_s) < ON_TIME * period_s else waiting_s
