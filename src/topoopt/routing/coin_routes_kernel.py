"""Bytes on the links of a circulant whose pairs follow coin sequences, compiled.

Arrays
------
demand : float64 (n, n)          bytes of each ordered pair of servers
coins : int64 (d,)               link offsets
option_first : int64 (n+1,)      options of a distance; its weights sum to 1
coin, count : int32 (options, d) runs of equal coins, in order of travel; runs of length 0 come last
weight : float64 (options,)
load : float64 (d, n)            bytes of each (coin, server) link
jump, length : float64 (d, n)    room to work in, as are ``part`` (n,); all enter as zeros

The shortest multisets of coins of every distance, compiled.

Arrays
------
coins : int64 (d,)               link offsets of a circulant
distance : int32 (n,)            fewest coins to each distance, -1 where none reach it
reached : int32 (count,)         distances in breadth-first order
sizes : int32 (n,)               shortest multisets kept for each distance
counts : int32 (n, limit, d)     how often each multiset holds each coin
"""

import numpy as np

from topoopt.base.arrays import Floats, Ints, Ints32
from topoopt.base.kernel import compiled, entry


@entry
def circulant_loads(
    demand: Floats,
    coins: Ints,
    option_first: Ints,
    coin: Ints32,
    count: Ints32,
    weight: Floats,
    load: Floats,
    jump: Floats,
    length: Floats,
    part: Floats,
) -> None:
    """Fill the bytes of each (coin, server) link.

    Short runs are added hop by hop. A long run of one coin is noted at its start and its end only and
    summed up along the cycle of that coin afterwards, so that even a plain ring costs O(n²) in all.
    """
    n, d = len(demand), len(coins)
    for distance in range(1, n):
        busy = 0.0
        for i in range(n):
            part[i] = demand[i, (i + distance) % n]
            busy += part[i]
        if busy == 0.0:
            continue
        for option in range(option_first[distance], option_first[distance + 1]):
            w = weight[option]
            place = int(np.int64(0))  # not a literal, for which another copy would be compiled
            for run in range(d):
                repeat = count[option, run]
                if repeat == 0:
                    break
                c = coin[option, run]
                if repeat <= 3:
                    for _ in range(repeat):
                        add_rotated(load[c], part, place, w)
                        place = (place + coins[c]) % n
                else:
                    add_rotated(jump[c], part, place, w)
                    add_rotated(length[c], part, place, w * repeat)
                    place = (place + repeat * coins[c]) % n
                    add_rotated(jump[c], part, place, -w)
    for c in range(d):
        _add_long_runs(load[c], jump[c], length[c], coins[c])


@compiled
def _add_long_runs(load: Floats, jump: Floats, length: Floats, coin: int) -> None:
    """Add the running sums of the jumps along each cycle of a coin; the summed lengths fix the constant."""
    n = len(load)
    cycles, rest = n, coin  # their greatest common divisor
    while rest > 0:
        cycles, rest = rest, cycles % rest
    for cycle in range(cycles):
        height, area, v = 0.0, 0.0, cycle
        for _ in range(n // cycles):
            height += jump[v]
            area += height - length[v]
            v = (v + coin) % n
        height = -area / (n // cycles)
        for _ in range(n // cycles):
            height += jump[v]
            load[v] = max(load[v] + height, 0.0)
            v = (v + coin) % n


@compiled
def add_rotated(total: Floats, part: Floats, shift: int, scale: float) -> None:
    """Add ``scale * part[i]`` to ``total[i + shift mod n]``, in two runs so that it vectorises."""
    n = len(total)
    for i in range(n - shift):
        total[i + shift] += scale * part[i]
    for i in range(shift):
        total[i] += scale * part[n - shift + i]


@entry
def coin_multisets(coins: Ints, distance: Ints32, reached: Ints32, sizes: Ints32, counts: Ints32) -> None:
    """Keep up to ``limit`` shortest multisets of each distance, alternating over all predecessors.

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
