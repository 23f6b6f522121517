"""Shares of next hops as the whole numbers that a kernel takes."""

import numpy as np

from topoopt.base.arrays import Floats, Ints

LARGEST_WEIGHT = 256
"""Of a next hop of Linux: eight bits that count from one."""
_DIGITS = 9


def integer_weights(first: Ints, share: Floats, largest: int = LARGEST_WEIGHT) -> Ints:
    """Return a whole weight from 1 to ``largest`` for each next hop, such that shares differ least from what is asked.

    Of all scales the one of least error is taken, of several the smallest, so that thirds become 1 and 2. A share is
    off by at most ``(m - 1) / (largest - m / 2)`` among m next hops: rounding moves each but the largest by less than
    one, and the sum with them. That is 0.4 % of a pair's bytes for two, 0.8 % for three, and seldom so much.

    Parameters
    ----------
    first : int64 array, shape (entries+1,)
        Next hops of each entry.
    share : float64 array, shape (hops,)
        Positive; sums to 1 over an entry.

    Examples
    --------
    >>> integer_weights(np.array([0, 2, 3]), np.array([1 / 3, 2 / 3, 1.0])).tolist()
    [1, 2, 1]
    """
    weight = np.ones(len(share), np.int64)
    count = np.diff(first)
    for width in np.unique(count[count > 1]).tolist():
        hops = first[:-1][count == width][:, None] + np.arange(width)
        kinds, which = np.unique(np.round(share[hops], _DIGITS), axis=0, return_inverse=True)
        best = np.array([_best(kind / kind.sum(), largest) for kind in kinds], np.int64)
        weight[hops] = best[which.ravel()]
    return weight


def _best(share: Floats, largest: int) -> Ints:
    """Return the weights of one entry."""
    if (share == share[0]).all():
        return np.ones(len(share), np.int64)
    scales = np.arange(1, largest + 1)[:, None] / share.max()
    tried = np.clip(np.rint(scales * share), 1, largest)
    error = np.abs(tried / tried.sum(axis=1, keepdims=True) - share).max(axis=1)
    best: Ints = tried[np.argmax(error <= error.min() + 10.0**-_DIGITS)].astype(np.int64)
    return best
