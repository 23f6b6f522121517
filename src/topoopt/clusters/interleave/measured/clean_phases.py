"""Phases of measured iterations, cleaned of what noise leaves: stairs at edges, levels in two pieces, dust."""

from topoopt.clusters.interleave.measured.few_phases import within_period
from topoopt.clusters.interleave.profile import Phase

STAIR = 0.03
"""Of an iteration: a phase that lasts no longer beside a higher one is a blurred edge of it."""
ALIKE = 0.1
"""Of a rate: phases that follow each other and differ by no more are one."""
TOUCH = 3e-3
"""Of an iteration: phases that are no further apart follow each other."""

Phases = tuple[Phase, ...]


def cleaned_phases(phases: Phases, period_s: float, quiet_bps: float, dust: float) -> Phases:
    """Return the phases that an iteration has, of those of the mean of noisy ones.

    Parameters
    ----------
    period_s : float
        Of an iteration; phases may wrap.
    quiet_bps : float
        Rates up to here are silence.
    dust : float
        Share of all bytes: a phase that has less is noise.

    Examples
    --------
    >>> cleaned_phases((Phase(0.109375, 0.015625, 4e9), Phase(0.125, 0.25, 8e9)), 1.0, 1e8, 0.01)
    (Phase(start_s=0.1171875, duration_s=0.2578125, bandwidth_bps=8000000000.0),)
    """
    phases = _without_stairs(phases, STAIR * period_s, period_s)
    phases = _joined_levels(phases, period_s)
    least_bytes = dust * sum(phase.size_bytes for phase in phases)
    return tuple(
        phase for phase in phases if phase.bandwidth_bps > quiet_bps and phase.size_bytes >= least_bytes
    )


def _joined_levels(phases: Phases, period_s: float) -> Phases:
    """Return the phases with those as one that follow each other at nearly one rate, with all their bytes."""
    left = list(phases)
    place = 0
    while place < len(left) and len(left) > 1:
        one, other = left[place], left[(place + 1) % len(left)]
        near = abs(one.bandwidth_bps - other.bandwidth_bps) <= ALIKE * max(
            one.bandwidth_bps, other.bandwidth_bps
        )
        if near and _gap_s(one, other, period_s) <= TOUCH * period_s:
            lasts_s = min(one.duration_s + other.duration_s, period_s)
            rate_bps = (one.size_bytes + other.size_bytes) * 8 / lasts_s
            left[place] = Phase(one.start_s, lasts_s, rate_bps)
            del left[(place + 1) % len(left)]
        else:
            place += 1
    return tuple(sorted(left, key=lambda phase: phase.start_s))


def _without_stairs(phases: Phases, longest_s: float, period_s: float) -> Phases:
    """Return the phases without short ones right beside a higher one, which has their bytes instead, at its rate.

    Where iterations differ a little, or samples lie across it, the edge of a phase becomes stairs in their mean.
    """
    left = list(phases)
    while True:
        stairs = [
            (phase.duration_s, place, beside)
            for place, phase in enumerate(left)
            for beside in ((place - 1) % len(left), (place + 1) % len(left))
            if phase.duration_s <= longest_s
            and left[beside].bandwidth_bps > phase.bandwidth_bps
            and _touch(left, place, beside, period_s)
        ]
        if not stairs:
            return tuple(sorted(left, key=lambda phase: phase.start_s))
        _, place, beside = min(stairs)
        stair, higher = left[place], left[beside]
        more_s = stair.duration_s * stair.bandwidth_bps / higher.bandwidth_bps
        ahead = beside == (place + 1) % len(left) and _gap_s(stair, higher, period_s) <= period_s * TOUCH
        start_s = within_period(higher.start_s - (more_s if ahead else 0.0), period_s)
        left[beside] = Phase(start_s, higher.duration_s + more_s, higher.bandwidth_bps)
        del left[place]


def _touch(phases: list[Phase], place: int, beside: int, period_s: float) -> bool:
    one, other = phases[place], phases[beside]
    return (
        place != beside
        and min(_gap_s(one, other, period_s), _gap_s(other, one, period_s)) <= TOUCH * period_s
    )


def _gap_s(before: Phase, after: Phase, period_s: float) -> float:
    """Return how long after the end of a phase another one begins, around the iteration."""
    gap_s = (after.start_s - before.end_s) % period_s
    return min(gap_s, period_s - gap_s)
