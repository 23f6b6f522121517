"""One measured curve: time over samples, exact where measured, straight lines between and beyond."""

from bisect import bisect_left
from collections.abc import Sequence


def time_at(
    samples: Sequence[float], times_s: Sequence[float], at: float, floor_s: float
) -> tuple[float, str]:
    """Return the time at a number of samples, and how it was found.

    Between two measured points it is on a straight line. Beyond them it goes on along the line through the last
    two, never below ``floor_s``; from a single point on, the work above the floor is in proportion to samples.

    Parameters
    ----------
    samples, times_s : sequence of float
        Measured points, ascending in samples.

    Examples
    --------
    >>> time_at((1.0, 3.0), (2.0, 6.0), 2.0, 0.0)
    (4.0, 'profile (interpolated)')
    """
    index = bisect_left(samples, at)
    if index < len(samples) and samples[index] == at:
        return times_s[index], "profile"
    if len(samples) == 1:
        return floor_s + (times_s[0] - floor_s) * at / samples[0], "profile (extrapolated)"
    inside = 0 < index < len(samples)
    right = min(max(index, 1), len(samples) - 1)
    left = right - 1
    slope = (times_s[right] - times_s[left]) / (samples[right] - samples[left])
    if inside:
        return times_s[left] + slope * (at - samples[left]), "profile (interpolated)"
    end = left if index == 0 else right
    return max(floor_s, times_s[end] + max(slope, 0.0) * (at - samples[end])), "profile (extrapolated)"
