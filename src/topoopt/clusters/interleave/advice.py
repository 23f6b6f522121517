"""Caveats of an interleaving, and changes that would help where rotation cannot.

Two jobs that no rotation keeps apart: the nearest iteration time of one of them that does.

Rotating one of two circles moves all its copies. The distances between the starts of the two jobs are all those
equal to one of them modulo the greatest common divisor of their iteration times; so two jobs fit together exactly
if they do on a circle of that perimeter. Two jobs that send at full rate fit if their sending times together are
no longer than it.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from itertools import combinations, permutations, product
from typing import Any

import numpy as np

from topoopt.base.units import format_bandwidth, format_time
from topoopt.clusters.interleave.profiles.profile import CommunicationProfile
from topoopt.clusters.interleave.unified_circle import SAME_PACE, UnifiedCircle, compatibility_score

SLACK = 1e-9
"""Tolerance as a fraction of the perimeter: times that touch do not overlap."""
MOST_TRIED = 2000
"""Iteration times below the one that is sure to fit; 2 s of them at 1 ms."""


@dataclass(frozen=True, slots=True)
class NearestPeriod:
    """An iteration time at which a job would fit together with another.

    Attributes
    ----------
    job, other : str
        The job that is changed, and the one that is not.
    numbers : tuple of int
        The places of the two among all jobs.
    was_s, iteration_time_s : float
        Iteration time of the job before and after: it sends the same, and waits longer or shorter where it waits
        the longest.
    other_iteration_time_s : float
        Iteration time of the other job; it differs only where no change of one job suffices; both are then equal.
    """

    job: str
    other: str
    numbers: tuple[int, int]
    was_s: float
    iteration_time_s: float
    other_iteration_time_s: float

    @property
    def change_s(self) -> float:
        """Increase of the iteration time."""
        return self.iteration_time_s - self.was_s

    def to_json(self) -> Mapping[str, Any]:
        """Return a JSON-compatible mapping."""
        return {name: value for name, value in asdict(self).items() if name != "numbers"}


COMPATIBLE = 1 - 1e-9
"""Score from which a link counts as carrying everything."""
DRIFT = 0.05
"""Drift, as a fraction of an iteration, at which a job is realigned, as in the paper."""


@dataclass(frozen=True, slots=True)
class Advice:
    """Remarks on an interleaving.

    Attributes
    ----------
    warnings : tuple of str
        One line each.
    nearest : tuple of NearestPeriod
        Nearest compatible iteration times for every pair of jobs that no rotation separates, if there are any.
    """

    warnings: tuple[str, ...]
    nearest: tuple[NearestPeriod, ...]


def advice(circle: UnifiedCircle, capacity_bps: float, score: float, peak_bps: float) -> Advice:
    """Return caveats and remedies for jobs, given the score of their best rotations and their joint peak rate."""
    # jobs of one name and one plan would say it twice
    warnings = dict.fromkeys((*_between_angles(circle), *_drift(circle)))
    if score >= COMPATIBLE:
        return Advice(tuple(warnings), ())
    # which two jobs do not fit together, whatever their rotations, though each does alone
    jobs = circle.profiles
    clashing = [
        (first, second)
        for first, second in combinations(range(len(jobs)), 2)
        if max(jobs[first].peak_bps, jobs[second].peak_bps) <= capacity_bps
        and not fit_together(jobs[first], jobs[second], capacity_bps, _common_s(circle, first, second))
    ]
    nearest = tuple(_nearest(circle, capacity_bps, clashing))
    unrotated = compatibility_score(circle.demands_bps.sum(axis=0), capacity_bps)
    says = "is not enough" if score > unrotated + 1 - COMPATIBLE else "cannot help"
    alone = tuple(_alone(circle, capacity_bps))
    short = [
        f"rotation {says}: score {score:.3g}; as turned, the jobs need a link of {format_bandwidth(peak_bps)}",
        *alone,
        *(_of_pair(circle, pair, nearest, capacity_bps) for pair in clashing),
    ]
    if not clashing and not alone:
        short.append(_of_none(circle))
    return Advice((*short, *warnings), nearest)


def _alone(circle: UnifiedCircle, capacity_bps: float) -> Iterator[str]:
    for profile in circle.profiles:
        if profile.peak_bps > capacity_bps:
            yield (
                f"job {profile.job} alone sends {format_bandwidth(profile.peak_bps)} on a link of "
                f"{format_bandwidth(capacity_bps)}"
            )


def _common_s(circle: UnifiedCircle, first: int, second: int) -> float:
    return math.gcd(circle.quanta[first], circle.quanta[second]) * circle.unit_s


def _nearest(
    circle: UnifiedCircle, capacity_bps: float, clashing: list[tuple[int, int]]
) -> Iterator[NearestPeriod]:
    for pair in clashing:
        alone = [one for one in (_changed(circle, capacity_bps, *both) for both in permutations(pair)) if one]
        yield from alone or _both_changed(circle, capacity_bps, *pair)


def _changed(circle: UnifiedCircle, capacity_bps: float, job: int, other: int) -> NearestPeriod | None:
    """Return the nearest iteration time of one job that keeps it apart from another."""
    jobs, quanta, unit_s = circle.profiles, circle.quanta, circle.unit_s
    found = nearest_quanta(jobs[job], quanta[job], (jobs[other], quanta[other]), capacity_bps, unit_s)
    if found is None:
        return None
    now_s = circle.iteration_times_s
    return NearestPeriod(
        jobs[job].job, jobs[other].job, (job, other), now_s[job], found * unit_s, now_s[other]
    )


def _both_changed(
    circle: UnifiedCircle, capacity_bps: float, first: int, second: int
) -> Iterator[NearestPeriod]:
    """Yield the least iteration time that keeps two jobs apart if both have it, for each."""
    jobs, now_s = circle.profiles, circle.iteration_times_s
    found = least_together(jobs[first], jobs[second], capacity_bps, circle.unit_s)
    if found is not None:
        then_s = found * circle.unit_s
        for job, other in ((first, second), (second, first)):
            yield NearestPeriod(jobs[job].job, jobs[other].job, (job, other), now_s[job], then_s, then_s)


def _of_pair(
    circle: UnifiedCircle, pair: tuple[int, int], nearest: tuple[NearestPeriod, ...], capacity_bps: float
) -> str:
    first, second = (circle.profiles[number].job for number in pair)
    common = format_time(_common_s(circle, *pair))
    mine = [each for each in nearest if set(each.numbers) == set(pair)]
    says = (
        f"jobs {first} and {second}: no rotation keeps them apart, iteration times have {common} in common; "
    )
    best = min(mine, key=lambda each: abs(each.change_s))
    if best.other_iteration_time_s != circle.iteration_times_s[best.numbers[1]]:
        return f"{says}nearest compatible iteration time: both at {format_time(best.iteration_time_s)}"
    longer = "longer" if best.change_s > 0 else "shorter"
    return (
        f"{says}nearest compatible iteration time: job {best.job} at {format_time(best.iteration_time_s)}, "
        f"{format_time(abs(best.change_s))} {longer}"
    )


def _of_none(circle: UnifiedCircle) -> str:
    if len(circle.profiles) == 2:
        return f"the two fit together between two angles; give a step smaller than {360 / circle.angles:.3g} degrees"
    return "every two of the jobs fit together, but not all: put one on another link"


def _between_angles(circle: UnifiedCircle) -> Iterator[str]:
    """Yield a remark on the job with the shortest phases, or gaps, that fall between two angles."""
    for profile, samples in zip(circle.profiles, circle.samples, strict=True):
        apart_s = profile.iteration_time_s / samples
        shortest_s = min((phase.duration_s for phase in profile.phases), default=math.inf)
        if shortest_s < apart_s * (1 - 1e-9):
            yield (
                f"job {profile.job}: a phase of {format_time(shortest_s)} falls between two angles, which are "
                f"{format_time(apart_s)} apart; give a step of {360 / circle.angles * shortest_s / apart_s:.2g} degrees"
            )


def _drift(circle: UnifiedCircle) -> Iterator[str]:
    """Yield a remark where rounding changed how many iterations of one job go into another's."""
    pace = [
        rounded_s / profile.iteration_time_s
        for rounded_s, profile in zip(circle.iteration_times_s, circle.profiles, strict=True)
    ]
    apart = max(pace) / min(pace) - 1
    if apart > SAME_PACE:
        number = max(range(len(pace)), key=lambda each: abs(pace[each] - 1))
        job, rounded_s = circle.profiles[number], circle.iteration_times_s[number]
        yield (
            f"job {job.job}: {format_time(job.iteration_time_s, 6)} was taken as {format_time(rounded_s, 6)}: after "
            f"{max(round(DRIFT / apart), 1):,} iterations jobs are off by {DRIFT:.0%} of one and to be shifted again"
        )


def fit_together(
    first: CommunicationProfile, second: CommunicationProfile, capacity_bps: float, common_s: float
) -> bool:
    """Return whether two jobs can be rotated so that their link carries both at all times.

    Parameters
    ----------
    common_s
        Greatest common divisor of their iteration times.

    Examples
    --------
    >>> from topoopt.clusters.interleave.profiles.profile import Phase
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
    small = [divisor for divisor in range(1, math.isqrt(fixed) + 1) if fixed % divisor == 0]
    divisors = sorted({*small, *(fixed // divisor for divisor in small)})
    for divisor in divisors:
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
    """Return a job with its phases rotated so that one begins at 0, after the longest gap."""
    if not job.phases:
        return job
    _, start_s = max(_gaps(job), key=lambda gap: gap[0])
    period_s = job.iteration_time_s
    turned = (replace(phase, start_s=(phase.start_s - start_s) % period_s) for phase in job.phases)
    return replace(job, phases=tuple(turned))


def _gaps(job: CommunicationProfile) -> list[tuple[float, float]]:
    """Return the wait of the job before each phase, and the start of the phase."""
    gaps = []
    for before, after in zip((job.phases[-1:] + job.phases[:-1]), job.phases, strict=True):
        wraps = after is job.phases[0]
        gap_s = after.start_s + (job.iteration_time_s if wraps else 0.0) - before.end_s
        gaps.append((max(gap_s, 0.0), after.start_s))
    return gaps
