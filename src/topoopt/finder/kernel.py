"""Hot loops of the finder on plain arrays.

Arrays
------
offsets : int32 (sets, steps)   candidate circulants: each row the steps, 0..size-1, a server has links along
                                (0 is allowed and does nothing)
cost : float64 (members, members)   what it costs to visit the column's member right after the row's
order : int64 (members,)            a tour: members in the order of visit
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True)
def best_circulant(size: int, offsets: NDArray[np.int32], diameter: int, total: int) -> tuple[int, int, int]:
    """Return (row, diameter, total hops) of the best circulant below the given bound, row -1 if none is.

    ``total`` is the sum of hops from one server to all others. A row is given up as soon as it cannot beat
    the best any more: if all servers not yet met were one hop beyond the current ones.
    """
    met_by = np.full(size, -1, np.int32)
    queue = np.empty(size, np.int32)
    winner = -1
    for row in range(offsets.shape[0]):
        met_by[0] = row
        queue[0] = 0
        head, tail, hops, sum_hops = 0, 1, 0, 0
        beaten = False
        while head < tail < size:
            level_end = tail
            if hops + 1 > diameter or (
                hops + 1 == diameter and sum_hops + (size - tail) * (hops + 1) >= total
            ):
                beaten = True
                break
            hops += 1
            while head < level_end:
                here = queue[head]
                head += 1
                for c in range(offsets.shape[1]):
                    there = here + offsets[row, c]
                    if there >= size:
                        there -= size
                    if met_by[there] != row:
                        met_by[there] = row
                        queue[tail] = there
                        tail += 1
            sum_hops += hops * (tail - level_end)
        if not beaten and tail == size and (hops < diameter or (hops == diameter and sum_hops < total)):
            winner, diameter, total = row, hops, sum_hops
    return winner, diameter, total


@njit(cache=True)
def short_tour(cost: NDArray[np.float64], start: int, symmetric: bool, order: NDArray[np.int64]) -> None:
    """Fill ``order`` with a short closed tour: nearest member first, then 2-opt if costs are symmetric."""
    size = len(cost)
    taken = np.zeros(size, np.bool_)
    order[0] = start
    taken[start] = True
    for i in range(1, size):
        here, nearest = order[i - 1], -1
        for other in range(size):
            if not taken[other] and (nearest < 0 or cost[here, other] < cost[here, nearest]):
                nearest = other
        order[i] = nearest
        taken[nearest] = True
    improved = symmetric
    while improved:
        improved = False
        for i in range(size - 2):
            a, b = order[i], order[i + 1]
            for j in range(i + 2, size):
                c, d = order[j], order[(j + 1) % size]
                if d != a and cost[a, c] + cost[b, d] < cost[a, b] + cost[c, d] - 1e-9:
                    left, right = i + 1, j
                    while left < right:
                        order[left], order[right] = order[right], order[left]
                        left += 1
                        right -= 1
                    b = order[i + 1]
                    improved = True
