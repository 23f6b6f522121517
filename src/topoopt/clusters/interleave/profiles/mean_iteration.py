"""Where each iteration of a measured series begins, though not all are of one length, and what they have in common.

The mean iteration is laid over the series where the next one should begin, and moved to where it fits best.
"""

from dataclasses import dataclass
from math import log, sqrt

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.clusters.interleave.profiles.byte_curve import ByteCurve

LEAST_LEFT = 0.02
"""Of the variance: means that leave less tell a series equally well, and the shortest of them is its period."""
DEVIATIONS = 15.0
"""What noise tells in so many standard deviations is chance: neighbors in bursts are alike, and count as fewer."""


@dataclass(frozen=True, slots=True)
class ToldShare:
    """What a mean iteration leaves of a series.

    Attributes
    ----------
    left : float
        Share of the variance that it does not tell.
    numbers : int
        Of which it is made.
    samples : int
        Of the series.
    """

    left: float
    numbers: int
    samples: int

    @property
    def bayesian(self) -> float:
        """Bayesian information criterion, per sample: the less, the more likely is this period and not another."""
        return log(max(self.left, LEAST_LEFT)) + self.numbers * log(self.samples) / self.samples

    @property
    def is_more_than_chance(self) -> bool:
        """Whether noise would not be told so well.

        So many numbers tell as many samples of noise, with a standard deviation of the square root of twice as many.
        """
        by_chance = self.numbers + DEVIATIONS * sqrt(2 * self.numbers)
        return log(max(self.left, LEAST_LEFT)) < -by_chance / self.samples


STRETCHES = 512
"""Of an iteration, at most."""
MOST_SHIFT = 0.1
"""Of an iteration, by how much one may be longer or shorter than the mean."""
ROUNDS = 2
FIRST = 3
"""Iterations that say where in the first one the series begins; later ones are no longer in step with it."""


@dataclass(frozen=True, eq=False)
class MeanIteration:
    """What iterations have in common.

    Attributes
    ----------
    period_s : float
        Mean time from the begin of one to that of the next.
    starts_s : float64 array, shape (iterations,)
        When each begins, by the clock of the series.
    rates_bps : float64 array, shape (iterations, stretches)
        Of equal stretches of each iteration.
    """

    period_s: float
    starts_s: Floats
    rates_bps: Floats

    @property
    def curve(self) -> ByteCurve:
        """Bytes sent within an iteration, the mean of all."""
        stretches = self.rates_bps.shape[1]
        sent = np.cumsum(self.rates_bps.mean(axis=0)) * (self.period_s / stretches / 8)
        return ByteCurve(np.linspace(0.0, self.period_s, stretches + 1), np.concatenate(([0.0], sent)))

    @property
    def deviation_bps(self) -> Floats:
        """Standard deviation of each stretch's rate from iteration to iteration, shape (stretches,)."""
        if len(self.rates_bps) < 2:
            return np.zeros(self.rates_bps.shape[1])
        deviation: Floats = self.rates_bps.std(axis=0, ddof=1)
        return deviation

    @property
    def told(self) -> ToldShare:
        """How well the mean tells the iterations; of a single one nothing is known."""
        count, stretches = self.rates_bps.shape
        all_of_it = float(self.rates_bps.var())
        if count < 2 or not all_of_it > 0:
            return ToldShare(1.0, stretches, stretches)
        left = float(((self.rates_bps - self.rates_bps.mean(axis=0)) ** 2).mean())
        return ToldShare(left / all_of_it, stretches + count, count * stretches)


def mean_iteration(curve: ByteCurve, cell_s: float, period_s: float) -> MeanIteration:
    """Return what the iterations of a series have in common; the first begins with the series.

    Parameters
    ----------
    cell_s : float
        How far samples are apart.
    period_s : float
        About how long iterations are; the series has at least one.
    """
    stretches = int(np.clip(period_s / cell_s, 2, STRETCHES))
    count = max(int(curve.duration_s / period_s + 1 / stretches), 1)
    begin_s = float(curve.times_s[0])
    starts_s: Floats = begin_s + period_s * np.arange(count, dtype=np.float64)
    for _ in range(ROUNDS if count > 2 else 0):
        starts_s = _aligned(curve, starts_s, period_s, stretches)
        period_s = float(np.polyfit(np.arange(count), starts_s, 1)[0])
        first_s = float(np.mean(starts_s[:FIRST] - period_s * np.arange(count)[:FIRST]))
        starts_s = starts_s + (begin_s - first_s)
    over_s = starts_s + period_s - curve.times_s[-1]
    inside = (starts_s >= begin_s - period_s / stretches) & (over_s <= period_s / stretches)
    starts_s = starts_s[inside] if inside.any() else starts_s[:1]
    return MeanIteration(
        period_s, starts_s, _rates(curve, starts_s, np.linspace(0.0, period_s, stretches + 1))
    )


def _rates(curve: ByteCurve, starts_s: Floats, edges_s: Floats) -> Floats:
    """Return the mean rates between edges of each iteration, shape (iterations, stretches)."""
    sent = curve.at(starts_s[:, None] + edges_s[None, :])
    return np.diff(sent, axis=1) * 8 / np.diff(edges_s)


def _aligned(curve: ByteCurve, starts_s: Floats, period_s: float, stretches: int) -> Floats:
    """Return the starts moved to where each iteration is most like the mean of all, each after the one before."""
    edges_s = np.linspace(0.0, period_s, stretches + 1)
    model = _rates(curve, starts_s, edges_s).mean(axis=0)
    model = model - model.mean()
    reach = max(int(MOST_SHIFT * stretches), 1)
    places = sorted(range(-reach, reach + 1), key=abs)  # of what fits alike, the least shift
    shifts_s = np.array(places) * (period_s / stretches)
    moved, late_s = np.array(starts_s), 0.0
    for row, start_s in enumerate(starts_s):
        fits = _rates(curve, start_s + late_s + shifts_s, edges_s) @ model
        late_s += float(shifts_s[int(np.argmax(fits))])
        moved[row] = start_s + late_s
    return moved
