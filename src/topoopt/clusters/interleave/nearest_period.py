"""Two jobs that no rotation keeps apart: the nearest iteration time of one of them that does.

Turning one of two circles moves all its copies. Between the starts of the two jobs come all distances that are
one of them modulo the greatest common divisor of their iteration times; so two jobs fit together exactly if they do
on a circle of that perimeter. For two that send at full rate this says: if what both send takes no longer than it.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from topoopt.clusters.interleave.profile import CommunicationProfile

SLACK = 1e-9
"""Of a perimeter: times that touch do not overlap."""
MOST_TRIED = 2000
"""Iteration times below the one that is sure to fit; 2 s of them at 1 ms."""


@dataclass(frozen=True, slots=True)
class NearestPeriod:
    """An iteration time at which a job would fit together with another.

    Attributes
    ----------
    job, other : str
        Which is changed, and which is not.
    numbers : tuple of int
        The places of the two among all jobs.
    was_s, iteration_time_s : float
        Of the job, now and then: it sends the same, and waits longer or shorter where it waits the longest.
    other_iteration_time_s : float
        Of the other then; it is another one only where no change of one of them suffices, and both have the same.
    """

    job: str
    other: str
    numbers: tuple[int, int]
    was_s: float
    iteration_time_s: float
    other_iteration_time_s: float

    @property
    def change_s(self) -> float:
        """By how much it is longer."""
        return self.iteration_time_s - self.was_s

    def to_json(self) -> Mapping[str, Any]:
        """Return it as JSON has it."""
        return {
            "job": self.job,
            "other": self.other,
            "was_s": self.was_s,
            "iteration_time_s": self.iteration_time_s,
            "other_iteration_time_s": self.other_iteration_time_s,
        }


def fit_together(
    first: CommunicationProfile, second: CommunicationProfile, capacity_bps: float, common_s: float
) -> bool:
    """Return whether two jobs can be turned so that their link carries both at all times.

    Parameters
    ----------
    common_s
        Greatest common divisor of their iteration times.

    Examples
    --------
    >>> from topoopt.clusters.interleave.profile import Phase
    >>> jobs = [CommunicationProfile(f"{ms} ms", ms / 1e3, (Phase(0, 0.01, 50e9),)) for ms in (40, 60)]
    >>> fit_together(*jobs, 50e9, 0.020), fit_together(*jobs, 50e9, 0.019)
    (True, False)
    """
    if max(first.peak_bps, second.peak_bps) > capacity_bps * (1 + SLACK):
        return False
    clashes = [
        (a.start_s - b.end_s, a.duration_s + b.duration_s, a.end_s - b.start_s)
        for a, b in product(first.phases, second.phases)
        if a.bandwidth_bps + b.bandwidth_bps > capacity_bps * (1 + SLACK)
    ]
    if not clashes:
        return True
    # Shifts at which two phases overlap are open intervals; if any other is left, so is an end of one.
    begin_s, length_s, end_s = np.array(clashes).T
    slack_s = SLACK * common_s
    into_s = np.mod(end_s[:, None] - begin_s, common_s)
    inside = (into_s > slack_s) & (into_s < length_s - slack_s)
    too_long = length_s.max() > common_s + slack_s
    return not too_long and not bool(inside.any(axis=1).all())


def nearest_quanta(
    job: CommunicationProfile,
    quanta: int,
    other: tuple[CommunicationProfile, int],
    capacity_bps: float,
    quantum_s: float,
) -> int | None:
    """Return the iteration time nearest to ``quanta`` at which a job fits together with another; None if there is none.

    Only the greatest common divisor with the other's iteration time matters, and jobs that fit at one fit at its
    multiples: so it is a multiple of a divisor of that time. Of two that are equally near it is the longer one.
    """
    second, fixed = other
    least = math.ceil((job.iteration_time_s - longest_gap_s(job)) / quantum_s * (1 - SLACK))
    found: list[int] = []
    for divisor in _divisors(fixed):
        below, above = quanta // divisor * divisor, -(-quanta // divisor) * divisor
        candidates = [n if n >= max(least, 1) else -(-least // divisor) * divisor for n in (below, above)]
        if fit_together(from_longest_gap(job), second, capacity_bps, divisor * quantum_s):
            found += [candidate for candidate in candidates if candidate > 0]
    return min(found, key=lambda n: (abs(n - quanta), -n), default=None)


def least_together(
    first: CommunicationProfile, second: CommunicationProfile, capacity_bps: float, quantum_s: float
) -> int | None:
    """Return the least iteration time, in quanta, at which two jobs fit together if both have it; None if at none.

    Both fit at the latest where one begins to send when the other has done so.
    """
    jobs = from_longest_gap(first), from_longest_gap(second)
    if max(first.peak_bps, second.peak_bps) > capacity_bps * (1 + SLACK):
        return None
    spans_s = [job.iteration_time_s - longest_gap_s(job) for job in jobs]
    least, most = (math.ceil(span_s / quantum_s * (1 - SLACK)) for span_s in (max(spans_s), sum(spans_s)))
    tried = range(max(least, most - MOST_TRIED, 1), most)
    return next((n for n in tried if fit_together(*jobs, capacity_bps, n * quantum_s)), most)


def longest_gap_s(job: CommunicationProfile) -> float:
    """Return the longest time in which a job does not send."""
    return max((gap_s for gap_s, _ in _gaps(job)), default=job.iteration_time_s)


def from_longest_gap(job: CommunicationProfile) -> CommunicationProfile:
    """Return a job with its phases turned so that one begins at 0, after the longest gap."""
    if not job.phases:
        return job
    _, start_s = max(_gaps(job), key=lambda gap: gap[0])
    period_s = job.iteration_time_s
    turned = (replace(phase, start_s=(phase.start_s - start_s) % period_s) for phase in job.phases)
    return replace(job, phases=tuple(turned))


def _gaps(job: CommunicationProfile) -> list[tuple[float, float]]:
    """Return how long the job waits before each phase, and when that phase starts."""
    gaps = []
    for before, after in zip((job.phases[-1:] + job.phases[:-1]), job.phases, strict=True):
        wraps = after is job.phases[0]
        gap_s = after.start_s + (job.iteration_time_s if wraps else 0.0) - before.end_s
        gaps.append((max(gap_s, 0.0), after.start_s))
    return gaps


def _divisors(number: int) -> list[int]:
    small = [divisor for divisor in range(1, math.isqrt(number) + 1) if number % divisor == 0]
    return sorted({*small, *(number // divisor for divisor in small)})
