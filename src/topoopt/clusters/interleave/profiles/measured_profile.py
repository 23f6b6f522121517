"""Profiles from measured link counters: the period, and the phases within it.

Candidate periods of a noisy series are lags at which it resembles itself (autocorrelation, by FFT). Each lag is
refined at its multiples and judged by how well the mean of all its iterations explains the series, relative to the
number of values in that mean (Bayesian information criterion): neither half an iteration nor two of them win, and
if a constant explains as much, there is no period. The best few are judged again with the actual start of each
iteration.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topoopt.base.arrays import Floats
from topoopt.base.errors import InvalidInput
from topoopt.base.units import format_bandwidth, format_time
from topoopt.clusters.interleave.profiles.byte_curve import ByteCurve
from topoopt.clusters.interleave.profiles.phase_fit import (
    TOLERANCE,
    MeanIteration,
    ToldShare,
    few_phases,
    mean_iteration,
    within_period,
)
from topoopt.clusters.interleave.profiles.profile import CommunicationProfile, Phase

MOST_CELLS = 1 << 15
"""Into which a series is cut; more are made fewer."""
MOST_CANDIDATES = 24
LEAST_LIKENESS = 0.3
"""Fraction of the best autocorrelation that a lag needs to be judged."""
LEAST_CELLS = 6
"""Fewest cells of a period: anything shorter is noise between samples."""
BINS = 200
"""Most bins of the mean iteration by which a period is judged."""
FOLDED = 8
"""Iterations by which a period is judged before the best few are."""
LEAST_LIVELY = 0.5
"""Fraction of the variance of a series that its first iterations need to represent all."""
NEARLY = 0.25
"""Tolerance of the criterion: a single iteration that explains almost as much is preferred to several."""
ALIGNED = 4
"""Periods that are judged with each iteration where it begins."""
MOST_PARTS = 8
"""Most parts of such a period that are judged as candidates themselves."""


@dataclass(frozen=True, slots=True)
class Cells:
    """A series of mean rates in cells of one length.

    Attributes
    ----------
    start_s, cell_s : float
        Start of the first cell, and length of each.
    rates_bps : float64 array, shape (cells,)
    """

    start_s: float
    cell_s: float
    rates_bps: Floats


STAIR = 0.03
"""Fraction of an iteration: a shorter phase beside a higher one counts as its blurred edge."""
ALIKE = 0.1
"""Fraction of a rate: consecutive phases that differ by no more are merged."""
TOUCH = 3e-3
"""Fraction of an iteration: phases no further apart count as consecutive."""
Phases = tuple[Phase, ...]
MEASURED_QUIET = 0.1
"""Fraction of the highest rate that counts as silence between measured phases: acknowledgments, other traffic."""
DUST = 0.02
"""Fraction of the bytes of an iteration: a phase with fewer is noise."""
NOISE_MOVES = 0.4
"""Half of the mean absolute value of a normal deviation, 0.798: bytes moved by noise alone, in standard errors."""


@dataclass(frozen=True, slots=True)
class MeasuredProfile:
    """A measured profile.

    Attributes
    ----------
    spread_s : float
        Standard deviation of the times from the begin of an iteration to that of the next; 0 of fewer than three.
    background_bps : float
        Mean rate between phases, which the profile leaves out.
    """

    profile: CommunicationProfile
    iterations: int
    spread_s: float
    background_bps: float

    def to_json(self) -> dict[str, Any]:
        """Return the details of the measurement."""
        return {
            "iterations": self.iterations,
            "iteration_time_spread_s": self.spread_s,
            "background_bps": self.background_bps,
        }


def measured_profile(
    job: str,
    curve: ByteCurve,
    iteration_time_s: float | None = None,
    tolerance: float = TOLERANCE,
    place: str | None = None,
) -> MeasuredProfile:
    """Return the profile of a link whose bytes were counted over several iterations. Times begin with the series.

    Parameters
    ----------
    iteration_time_s : float, optional
        About how long an iteration takes; looked for where not given.
    tolerance : float
        Share of the bytes that may be sent at another moment, for fewer phases; bytes moved by noise are added.
    place : str, optional
        Prefix of error messages; by default the job.

    Raises
    ------
    InvalidInput
        If nothing was sent, there is no period, or the series is shorter than an iteration or too coarse for it.
    """
    cells, lasts, here = cells_of(curve), format_time(curve.duration_s), place or f"job {job}"
    if not curve.sent_bytes[-1] > curve.sent_bytes[0]:
        raise InvalidInput(f"{here}: nothing was sent in {lasts}; choose a link that the job uses")
    period_s = find_period_s(curve) if iteration_time_s is None else iteration_time_s
    if period_s is None:
        mean = format_bandwidth(float(cells.rates_bps.mean()))
        raise InvalidInput(
            f"{here}: no period in {lasts} at a mean rate of {mean}; measure at least three iterations, or say "
            "iteration_time"
        )
    if period_s > curve.duration_s * (1 + 1e-6):
        raise InvalidInput(
            f"{here}: iteration_time: {format_time(period_s)} is longer than the series of {lasts}; measure longer"
        )
    if period_s < LEAST_CELLS * cells.cell_s:
        raise InvalidInput(
            f"{here}: samples {format_time(cells.cell_s)} apart are too coarse for an iteration of "
            f"{format_time(period_s)}; sample at least every {format_time(period_s / LEAST_CELLS)}"
        )
    return _of_mean(job, mean_iteration(curve, cells.cell_s, period_s), tolerance)


def _of_mean(job: str, mean: MeanIteration, tolerance: float) -> MeasuredProfile:
    curve = mean.curve
    sent, seconds = np.diff(curve.sent_bytes), np.diff(curve.times_s)
    error_bps = mean.deviation_bps / np.sqrt(len(mean.starts_s))
    noise = NOISE_MOVES * float((error_bps * seconds).sum()) / 8
    allowed = min(tolerance + noise / float(sent.sum()), 0.5)
    rate_bps = sent * 8 / seconds
    quiet_bps = max(MEASURED_QUIET * float(np.quantile(rate_bps, 0.99)), float(np.median(mean.deviation_bps)))
    silent = rate_bps <= quiet_bps
    background_bps = float(rate_bps[silent].mean()) if silent.any() else 0.0
    loud = ByteCurve(curve.times_s, np.concatenate(([0.0], np.cumsum(np.where(silent, 0.0, sent)))))
    phases = cleaned_phases(few_phases(loud, allowed), mean.period_s, quiet_bps, DUST)
    profile = CommunicationProfile(job, mean.period_s, phases)
    between_s = np.diff(mean.starts_s)
    spread_s = float(between_s.std(ddof=1)) if len(between_s) > 1 else 0.0
    return MeasuredProfile(profile, len(mean.starts_s), spread_s, background_bps)


def cleaned_phases(phases: Phases, period_s: float, quiet_bps: float, dust: float) -> Phases:
    """Return the phases that an iteration has, of those of the mean of noisy ones.

    Parameters
    ----------
    period_s : float
        Duration of an iteration; phases may wrap.
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
    phases = tuple(sorted(left, key=lambda phase: phase.start_s))
    least_bytes = dust * sum(phase.size_bytes for phase in phases)
    return tuple(
        phase for phase in phases if phase.bandwidth_bps > quiet_bps and phase.size_bytes >= least_bytes
    )


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
    """Return the gap between the end of a phase and the start of another, modulo the period."""
    gap_s = (after.start_s - before.end_s) % period_s
    return min(gap_s, period_s - gap_s)


def cells_of(curve: ByteCurve) -> Cells:
    """Resample the series into as many cells as it has samples, up to :data:`MOST_CELLS`."""
    count = min(len(curve.times_s) - 1, MOST_CELLS)
    edges_s = np.linspace(curve.times_s[0], curve.times_s[-1], count + 1)
    cell_s = curve.duration_s / count
    return Cells(float(curve.times_s[0]), cell_s, np.diff(curve.at(edges_s)) * 8 / cell_s)


def find_period_s(curve: ByteCurve) -> float | None:
    """Return the period of a series, None where it has none.

    Parameters
    ----------
    curve : ByteCurve
        Byte curve with at least two periods, each of six samples or more.
    """
    cells = cells_of(curve)
    likeness = _autocorrelation(cells.rates_bps)
    lags = _peaks(likeness)
    if not len(lags):
        return None
    precise = np.unique([max(_at_multiples(likeness, int(lag)), LEAST_CELLS) for lag in lags])
    scores = np.array([_score(cells.rates_bps, float(lag)) for lag in precise])

    def align(rows: NDArray[np.int64]) -> None:
        for row in rows.tolist():
            mean = mean_iteration(curve, cells.cell_s, float(precise[row]) * cells.cell_s)
            scores[row] = min(scores[row], mean.told.bayesian)

    align(np.argsort(scores, kind="stable")[:ALIGNED])
    best = int(np.argmin(scores))
    # few iterations without one to the next alike tell too little for the first criterion; to be moved, or to be only
    # the first ones, is a freedom that noise would use with the second
    if scores[best] >= 0 and not _told(cells.rates_bps, float(precise[best])).is_more_than_chance:
        return None
    times = precise[best] / precise
    parts_of_it = np.flatnonzero(np.abs(times - np.rint(times)) < 0.02 * times)
    align(parts_of_it[:MOST_PARTS])
    nearly = parts_of_it[scores[parts_of_it] <= scores[best] + NEARLY]
    return float(precise[nearly].min()) * cells.cell_s


def _score(rates_bps: Floats, period: float) -> float:
    """Return the fit of the mean iteration to all iterations, or to the first few.

    Small differences between iterations add up over a long series; if there are none, the whole series explains
    more than a part. A nearly silent part explains nothing: the traffic between iterations may be periodic, too.
    """
    told, first = _told(rates_bps, period).bayesian, rates_bps[: FOLDED * int(period)]
    if first.var() < LEAST_LIVELY * rates_bps.var():
        return told
    return min(told, _told(first, period).bayesian)


def _autocorrelation(values: Floats) -> Floats:
    """Return the autocorrelation per cell for lags up to half the series; 1 at lag 0."""
    count = len(values)
    centered = values - values.mean()
    spectrum = np.fft.rfft(centered, 1 << (2 * count - 1).bit_length())
    total = np.fft.irfft(np.abs(spectrum) ** 2)[: count // 2 + 1]
    likeness = total / (count - np.arange(len(total)))
    return likeness / likeness[0] if likeness[0] > 0 else np.zeros(len(total))


def _peaks(likeness: Floats) -> NDArray[np.int64]:
    """Return the lags of the highest local maxima of a series' autocorrelation."""
    inner = likeness[1:-1]
    lags = np.flatnonzero((inner >= likeness[:-2]) & (inner > likeness[2:])) + 1
    lags = lags[lags >= LEAST_CELLS]
    if not len(lags):
        return lags
    lags = lags[likeness[lags] >= LEAST_LIKENESS * likeness[lags].max()]
    best = np.argsort(-likeness[lags], kind="stable")[:MOST_CANDIDATES]
    # the first few are looked at in any case: noise can make each multiple of the period a little better than it
    return np.unique(np.concatenate((lags[best], lags[:MOST_CANDIDATES])))


def _at_multiples(likeness: Floats, lag: int) -> float:
    """Refine a lag by its multiples, each twice the one before."""
    precise, times = _top(likeness, lag), 1
    while 2 * times * precise + 1 < len(likeness):
        times *= 2
        reach = max(1, int(0.1 * precise / times + 0.5) if times < 4 else 2)
        low = max(round(times * precise) - reach, 1)
        high = min(round(times * precise) + reach, len(likeness) - 2)
        if high < low:
            break
        precise = _top(likeness, low + int(np.argmax(likeness[low : high + 1]))) / times
    return precise


def _top(likeness: Floats, lag: int) -> float:
    """Return the vertex of the parabola through a peak and its neighbors."""
    if not 0 < lag < len(likeness) - 1:
        return float(lag)
    left, here, right = likeness[lag - 1 : lag + 2]
    bend = left - 2 * here + right
    return lag + float(np.clip((left - right) / (2 * bend), -0.5, 0.5)) if bend < 0 else float(lag)


def _told(values: Floats, period: float) -> ToldShare:
    """Return the fit of the mean iteration of ``period`` cells, as if all had equal length."""
    bins = int(np.clip(round(period), 2, BINS))
    into = np.mod(np.arange(len(values)) + 0.5, period)
    place = np.minimum((into * (bins / period)).astype(np.int64), bins - 1)
    number = np.bincount(place, minlength=bins)
    mean = np.bincount(place, values, minlength=bins) / np.maximum(number, 1)
    left = float(((values - mean[place]) ** 2).mean()) / max(float(values.var()), np.finfo(float).tiny)
    return ToldShare(left, round(period), len(values))
