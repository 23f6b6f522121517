"""A short closed tour, compiled.

Arrays
------
cost : float64 (members, members)   what it costs to visit the column's member right after the row's
order : int64 (members,)            the tour: members in the order of visit
taken : int64 (members,)            room to work in; enters as zeros
"""

from topoopt.base.arrays import Floats, Ints
from topoopt.base.kernel import compiled, entry


@entry
def short_tour(cost: Floats, start: int, symmetric: bool, order: Ints, taken: Ints) -> None:
    """Fill ``order`` with a short closed tour: nearest member first, then 2-opt if costs are symmetric."""
    size = len(cost)
    order[0] = start
    taken[start] = 1
    for i in range(1, size):
        here, nearest = order[i - 1], -1
        for other in range(size):
            if taken[other] == 0 and (nearest < 0 or cost[here, other] < cost[here, nearest]):
                nearest = other
        order[i] = nearest
        taken[nearest] = 1
    if symmetric:
        _two_opt(cost, order)


@compiled
def _two_opt(cost: Floats, order: Ints) -> None:
    """Turn parts of the tour around as long as that makes it shorter."""
    size = len(cost)
    improved = True
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
