"""Which of its pair's paths a connection takes: a pure function of the seed and the connection's number.

As a switch hashes the header of a connection, so two connections may collide on one path while another is
idle. Every simulator that picks single paths calls this or, in a kernel, repeats these three lines:

    h = mix(mix(seed) + number)               uint64, wrapping
    u = (h >> 11) * 2**-53                    uniform in [0, 1)
    path = the pair's first path whose cumulative weight is above u

where ``mix`` is one step of SplitMix64, :func:`topoopt.base.kernel.mix`.
"""

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.base.kernel import mix

_ALL_BITS = (1 << 64) - 1


def chosen_paths(
    pair_first: Ints,
    cumulative: Floats,
    pair: Ints,
    number: Ints,
    seed: int,
) -> Ints:
    """Return the index of the path that each connection takes, shape (connections,).

    Parameters
    ----------
    pair_first : int64 array, shape (pairs+1,)
        Paths of each pair, by rows.
    cumulative : float64 array, shape (paths,)
        See :func:`cumulative_weights`.
    pair, number : int64 arrays, shape (connections,)
        Row of its pair, which must have a path, and its own number.
    """
    u = connection_uniform(seed, number)
    low, high = pair_first[pair], pair_first[pair + 1] - 1
    while (low < high).any():
        middle = (low + high) // 2
        above = cumulative[middle] > u
        high = np.where(above, middle, high)
        low = np.where(above, low, np.minimum(middle + 1, high))
    return low


def connection_uniform(seed: int, number: Ints) -> Floats:
    """Return a number in [0, 1) for each connection number."""
    begin = mix(np.array([seed & _ALL_BITS], np.uint64))
    bits = mix(begin + np.asarray(number, np.int64).astype(np.uint64))
    return (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53


def cumulative_weights(pair_first: Ints, weight: Floats) -> Floats:
    """Return the running sum of the weights within each pair, added in order; the last of a pair is 1."""
    cumulative = weight.copy()
    size = np.diff(pair_first)
    for place in range(1, int(size.max(initial=0))):
        at = pair_first[:-1][size > place] + place
        cumulative[at] += cumulative[at - 1]
    cumulative[pair_first[1:][size > 0] - 1] = 1.0
    return cumulative
