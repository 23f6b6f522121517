"""How well the mean iteration of a period tells a series, against how many numbers that mean has."""

from dataclasses import dataclass
from math import log, sqrt

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
