"""The period of a noisy series: how long an iteration of a job takes whose sending somebody has measured.

Where a series is like itself some time later (autocorrelation, by FFT) there may be a period. Each such lag is made
precise at its multiples, and judged by how well the mean of all its iterations tells the series, against how many
numbers that mean has (Bayesian information criterion): neither half an iteration nor two of them win, and where a
constant tells as much there is no period. The best few are judged again with each iteration where it really begins.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from topoopt.base.arrays import Floats
from topoopt.clusters.interleave.measured.byte_curve import ByteCurve
from topoopt.clusters.interleave.measured.iterations_of_series import mean_iteration
from topoopt.clusters.interleave.measured.told_share import ToldShare

MOST_CELLS = 1 << 15
"""Into which a series is cut; more are made fewer."""
MOST_CANDIDATES = 24
LEAST_LIKENESS = 0.3
"""Of the best autocorrelation, what a lag must have to be judged."""
LEAST_CELLS = 6
"""Of a period: what is shorter is noise between samples."""
BINS = 200
"""Of the mean iteration by which a period is judged, at most."""
FOLDED = 8
"""Iterations by which a period is judged before the best few are."""
LEAST_LIVELY = 0.5
"""Of the variance of a series, what its first iterations must have to stand for all."""
NEARLY = 0.25
"""Of the criterion: an iteration that tells as much but for this is taken before several of them."""
ALIGNED = 4
"""Periods that are judged with each iteration where it begins."""
MOST_PARTS = 8
"""Of such a period: the shortest parts of it that might be the period are judged like it."""


@dataclass(frozen=True, slots=True)
class Cells:
    """A series of mean rates in cells of one length.

    Attributes
    ----------
    start_s, cell_s : float
        When the first begins, and how long each is.
    rates_bps : float64 array, shape (cells,)
    """

    start_s: float
    cell_s: float
    rates_bps: Floats


def cells_of(curve: ByteCurve) -> Cells:
    """Return the series in as many cells as it has samples, up to :data:`MOST_CELLS`."""
    count = min(len(curve.times_s) - 1, MOST_CELLS)
    edges_s = np.linspace(curve.times_s[0], curve.times_s[-1], count + 1)
    cell_s = curve.duration_s / count
    return Cells(float(curve.times_s[0]), cell_s, np.diff(curve.at(edges_s)) * 8 / cell_s)


def find_period_s(curve: ByteCurve) -> float | None:
    """Return the period of a series, None where it has none.

    Parameters
    ----------
    curve : ByteCurve
        At least two periods of it, each of six samples or more.
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
    """Return how well the mean of all iterations of so many cells, or of the first few, tells them.

    Iterations that differ a little add up over a long series; where they do not, all of it tells more than a part. A
    part in which next to nothing happens tells nothing: what is sent between iterations may have a period, too.
    """
    told, first = _told(rates_bps, period).bayesian, rates_bps[: FOLDED * int(period)]
    if first.var() < LEAST_LIVELY * rates_bps.var():
        return told
    return min(told, _told(first, period).bayesian)


def _autocorrelation(values: Floats) -> Floats:
    """Return how like a series is to itself later, per cell, for lags up to half of it; 1 at lag 0."""
    count = len(values)
    centered = values - values.mean()
    spectrum = np.fft.rfft(centered, 1 << (2 * count - 1).bit_length())
    total = np.fft.irfft(np.abs(spectrum) ** 2)[: count // 2 + 1]
    likeness = total / (count - np.arange(len(total)))
    return likeness / likeness[0] if likeness[0] > 0 else np.zeros(len(total))


def _peaks(likeness: Floats) -> NDArray[np.int64]:
    """Return the lags at which a series is more like itself than around them, the best ones."""
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
    """Return a lag as precisely as its multiples tell it, each of them twice as far as the one before."""
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
    """Return where the parabola through a peak and its neighbors is highest."""
    if not 0 < lag < len(likeness) - 1:
        return float(lag)
    left, here, right = likeness[lag - 1 : lag + 2]
    bend = left - 2 * here + right
    return lag + float(np.clip((left - right) / (2 * bend), -0.5, 0.5)) if bend < 0 else float(lag)


def _told(values: Floats, period: float) -> ToldShare:
    """Return how well the mean iteration of so many cells tells a series, as if all were of one length."""
    bins = int(np.clip(round(period), 2, BINS))
    into = np.mod(np.arange(len(values)) + 0.5, period)
    place = np.minimum((into * (bins / period)).astype(np.int64), bins - 1)
    number = np.bincount(place, minlength=bins)
    mean = np.bincount(place, values, minlength=bins) / np.maximum(number, 1)
    left = float(((values - mean[place]) ** 2).mean()) / max(float(values.var()), np.finfo(float).tiny)
    return ToldShare(left, round(period), len(values))
