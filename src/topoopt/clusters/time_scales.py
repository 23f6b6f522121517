"""Jobs of very different lengths on shared links: short ones run as longer ones that send as much more.

While a language model does one iteration of half a minute, a recommendation model does thousands. Max-min fair sharing
knows no scale: a job that computes k times as long and sends k times as much takes k times as long, alone and beside
others that are scaled with it. Beside a longer job it takes the same part of every link over time, in k times longer
bursts; as long as it still repeats many times within the longer one's iteration, that is the same load.
"""

from collections.abc import Sequence

import numpy as np

from topoopt.base.arrays import Floats

REPEATS = 16
"""Times that a scaled job repeats, at least, within an iteration of the longest."""

NEAREST = 4
"""The same of the shortest job that is not scaled with it, so that two of different lengths stay so."""


def time_scales(times_s: Sequence[float]) -> Floats:
    """Return by how much each job is run longer, whole numbers from 1.

    From the longest job down, all that are shorter than some job are scaled alike.

    Parameters
    ----------
    times_s : sequence of float
        Iteration times alone, above 0.

    Returns
    -------
    float64 array, shape (jobs,)

    Examples
    --------
    >>> time_scales([30.0, 10.0, 0.06, 0.015]).tolist()
    [1.0, 1.0, 31.0, 31.0]
    >>> time_scales([0.131, 0.06, 0.015]).tolist()
    [1.0, 1.0, 1.0]
    """
    times = np.asarray(times_s, float)
    scales = np.ones(len(times))
    order = np.argsort(-times, kind="stable")
    for place in range(1, len(order)):
        own_s, next_s = (times * scales)[order[[place, place - 1]]].tolist()
        most_s = min(float(times[order[0]]) / REPEATS, next_s / NEAREST)
        scales[order[place:]] *= max(most_s // own_s, 1.0)
    return scales
