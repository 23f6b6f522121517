"""What to know before one relies on an interleaving, and what would help where rotation cannot."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, permutations

from topoopt.base.units import format_bandwidth, format_time
from topoopt.clusters.interleave.circle import SAME_PACE, UnifiedCircle
from topoopt.clusters.interleave.nearest_period import (
    NearestPeriod,
    fit_together,
    least_together,
    nearest_quanta,
)
from topoopt.clusters.interleave.score import compatibility_score

COMPATIBLE = 1 - 1e-9
"""From this score on a link carries everything."""
DRIFT = 0.05
"""Of an iteration: so far from its place a job is shifted again, as in the paper."""


@dataclass(frozen=True, slots=True)
class Advice:
    """Remarks on an interleaving.

    Attributes
    ----------
    warnings : tuple of str
        One line each.
    nearest : tuple of NearestPeriod
        Of every two jobs that no rotation keeps apart: the nearest iteration times of each that do, if there are any.
    """

    warnings: tuple[str, ...]
    nearest: tuple[NearestPeriod, ...]


def advice(circle: UnifiedCircle, capacity_bps: float, score: float, peak_bps: float) -> Advice:
    """Return what to know of jobs whose best rotations have a score, and together send up to so many bits a second."""
    # jobs of one name and one plan would say it twice
    warnings = dict.fromkeys((*_between_angles(circle), *_drift(circle)))
    if score >= COMPATIBLE:
        return Advice(tuple(warnings), ())
    clashing = _clashing(circle, capacity_bps)
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


def _clashing(circle: UnifiedCircle, capacity_bps: float) -> list[tuple[int, int]]:
    """Return which two jobs do not fit together, whatever their rotations, though each does alone."""
    jobs = circle.profiles
    return [
        (first, second)
        for first, second in combinations(range(len(jobs)), 2)
        if max(jobs[first].peak_bps, jobs[second].peak_bps) <= capacity_bps
        and not fit_together(jobs[first], jobs[second], capacity_bps, _common_s(circle, first, second))
    ]


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
    """Yield a remark on the job whose phases, or gaps, are the shortest of those that fall between two angles."""
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
