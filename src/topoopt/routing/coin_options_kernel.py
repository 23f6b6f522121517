"""The shortest multisets of coins of every distance, compiled.

Arrays
------
coins : int64 (d,)               link offsets of a circulant
distance : int32 (n,)            fewest coins to each distance, -1 where none reach it
reached : int32 (count,)         distances in breadth-first order
sizes : int32 (n,)               shortest multisets kept for each distance
counts : int32 (n, limit, d)     how often each multiset holds each coin
"""

from topoopt.base.arrays import Ints, Ints32
from topoopt.base.kernel import compiled, entry


@entry
def coin_multisets(coins: Ints, distance: Ints32, reached: Ints32, sizes: Ints32, counts: Ints32) -> None:
    """Keep up to ``limit`` shortest multisets of each distance, taken in turn from all predecessors.

    ``sizes`` and ``counts`` enter as zeros.
    """
    n, limit, d = counts.shape
    sizes[0] = 1
    for i in range(1, len(reached)):
        here = reached[i]
        for rank in range(limit):
            for c in range(d):
                before = (here - coins[c]) % n
                if sizes[here] == limit or distance[before] != distance[here] - 1 or rank >= sizes[before]:
                    continue
                new = sizes[here]
                for k in range(d):
                    counts[here, new, k] = counts[before, rank, k] + (k == c)
                if _is_new(counts, here, new):
                    sizes[here] += 1


@compiled
def _is_new(counts: Ints32, here: int, new: int) -> bool:
    for other in range(new):
        same = True
        for k in range(counts.shape[2]):
            same = same and counts[here, other, k] == counts[here, new, k]
        if same:
            return False
    return True
