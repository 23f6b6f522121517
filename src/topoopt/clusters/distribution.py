"""Mean and quantiles of values that count differently."""

from collections.abc import Sequence

import numpy as np

from topoopt.clusters.result import Distribution


def distribution(values: Sequence[float], weights: Sequence[float] = ()) -> Distribution:
    """Return mean, median, 99th percentile and maximum of weighted values.

    A quantile is the least value that, with all below it, has that share of the weight; nothing is interpolated.

    Parameters
    ----------
    values : at least one
    weights : of each value, >= 0; by default all count alike

    Examples
    --------
    >>> distribution([1.0, 2.0, 3.0], [1.0, 1.0, 2.0])
    Distribution(mean=2.25, p50=2.0, p99=3.0, max=3.0)
    """
    counted = np.asarray(weights if len(weights) else np.ones(len(values)), np.float64)
    order = np.argsort(values, kind="stable")
    ascending, share = np.asarray(values, np.float64)[order], np.cumsum(counted[order])
    share /= share[-1]
    p50, p99 = (float(ascending[np.searchsorted(share, q - 1e-12)]) for q in (0.5, 0.99))
    mean = float(np.average(values, weights=counted))
    return Distribution(mean, p50, p99, float(ascending[-1]))
