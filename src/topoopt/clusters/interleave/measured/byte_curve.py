"""The noun ByteCurve: how many bytes a link had sent by when, from a simulation or from counters that somebody read."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from topoopt.base.arrays import Floats


@dataclass(frozen=True, eq=False)
class ByteCurve:
    """Bytes sent by moments; between two of them the rate is the mean.

    Attributes
    ----------
    times_s : float64 array, shape (moments,)
        Ascending, at least two.
    sent_bytes : float64 array, shape (moments,)
        Never falling.
    """

    times_s: Floats
    sent_bytes: Floats

    def __post_init__(self) -> None:
        assert len(self.times_s) == len(self.sent_bytes) >= 2, "a curve has two ends"
        assert (np.diff(self.times_s) > 0).all(), "moments ascend"

    @property
    def duration_s(self) -> float:
        """From the first moment to the last."""
        return float(self.times_s[-1] - self.times_s[0])

    @property
    def rates_bps(self) -> Floats:
        """Mean rates between moments, shape (moments-1,)."""
        return np.diff(self.sent_bytes) * 8 / np.diff(self.times_s)

    def at(self, times_s: Floats) -> Floats:
        """Return the bytes sent by other moments; before the first and after the last nothing is sent."""
        return np.interp(times_s, self.times_s, self.sent_bytes)

    def folded(self, starts_s: Floats, period_s: float) -> "ByteCurve":
        """Return the mean of iterations that begin at these moments, over one period from 0.

        Its corners are those of all iterations, so that nothing is lost where the rate changes.
        """
        into = [(self.times_s - start)[self._within(start, period_s)] for start in starts_s]
        corners = np.unique(np.concatenate([np.array([0.0, period_s]), *into]))
        corners = corners[np.concatenate(([True], np.diff(corners) > 1e-9 * period_s))]
        corners[-1] = period_s
        sent = [self.at(start + corners) - self.at(np.array([start])) for start in starts_s]
        return ByteCurve(corners, np.mean(sent, axis=0))

    def _within(self, start_s: float, period_s: float) -> NDArray[np.bool_]:
        return (self.times_s > start_s) & (self.times_s < start_s + period_s)
