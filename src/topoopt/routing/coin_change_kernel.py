"""The coin-change table of a circulant, compiled.

Arrays
------
coins : int64 (d,)               link offsets of a circulant
distance : int32 (n,)            fewest coins to each distance, -1 where none reach it
last : int32 (n,)                index of the smallest coin that ends a shortest sequence, else -1
orders : float64 (n,)            number of ordered shortest sequences
reached : int32 (count,)         distances in breadth-first order
"""

from topoopt.arrays import Floats, Ints, Ints32
from topoopt.kernel import entry


@entry
def coin_breadth_first(
    n: int, coins: Ints, distance: Ints32, last: Ints32, orders: Floats, reached: Ints32
) -> int:
    """Fill the coin-change table of ``n`` distances; return how many were reached.

    ``distance`` and ``last`` enter as -1, ``orders`` as zeros.
    """
    distance[0] = 0
    orders[0] = 1.0
    reached[0] = 0
    head, tail = 0, 1
    while head < tail:
        here = reached[head]
        head += 1
        for c in range(len(coins)):
            there = (here + coins[c]) % n
            if distance[there] < 0:
                distance[there] = distance[here] + 1
                last[there] = c
                reached[tail] = there
                tail += 1
            if distance[there] == distance[here] + 1:
                orders[there] += orders[here]
                last[there] = min(last[there], c)
    return tail
