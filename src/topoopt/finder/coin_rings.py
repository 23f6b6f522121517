"""Rings of a regular sub-group of a circulant: every logical edge is laid over the same shortest coins."""

from collections import Counter
from functools import lru_cache
from itertools import islice

import numpy as np

from topoopt.base.arrays import Ints
from topoopt.finder.totient_perms import totient_perms
from topoopt.routing import coin_change_mod
from topoopt.topologies import Ring, Topology

Pattern = tuple[int, tuple[int, ...]]
"""A stride on positions, and the coins whose sum is that many positions."""

_MOST_STRIDES = 64
_MOST_TIES = 64


def coin_rings(topology: Topology, members: Ints, limit: int) -> tuple[Ring, ...]:
    """Return up to ``limit`` rings of a circulant's group s, s + n/k, s + 2n/k, …

    The copies of the group (one for each s) load every link of a circulant equally along each offset.
    """
    size = len(members)
    return tuple(
        _coin_ring(topology.servers, members, stride, coins)
        for stride, coins in coin_patterns(topology.servers, topology.offsets, size, limit)
    )


def is_regular(topology: Topology, members: Ints) -> bool:
    """Whether the members sit on a circulant at equal distances all around."""
    step, rest = divmod(topology.servers, len(members))
    return bool(topology.offsets) and rest == 0 and bool((np.diff(members) == step).all())


@lru_cache(maxsize=1024)
def coin_patterns(servers: int, offsets: tuple[int, ...], size: int, limit: int) -> tuple[Pattern, ...]:
    """Return how the rings of a sub-group of ``size`` are laid, most balanced first.

    Of all strides those of fewest hops are kept, with all their shortest coin multisets. Picks are made
    one by one, each with its negation (the same path walked backwards) where all of its coins can be
    negated, such that the offsets are loaded as equally as possible; picks that would load some offset
    more than fewer rings do are left out.

    References
    ----------
    .. [1] W. Wang et al., "TopoOpt", NSDI 2023, Algorithm 4; the authors lay one shortest path and its
       negation, the balance over all ties is ours.

    Examples
    --------
    >>> coin_patterns(12, (1, 5, 7, 11), 4, 2)
    ((1, (5, 11, 11)), (3, (1, 1, 7)))
    """
    left = _shortest_patterns(servers, offsets, size)
    load = Counter[int]()
    picked: list[Pattern] = []
    best, best_length = float("inf"), 0
    while left and len(picked) < limit:
        pick = min(left, key=lambda pattern: _load_after(load, pattern[1]))
        for pattern in _with_negation(pick, servers, size, offsets)[: limit - len(picked)]:
            picked.append(pattern)
            left.pop(pattern, None)
            load.update(pattern[1])
        if max(load.values()) <= best * len(picked) * (1 + 1e-12):
            best, best_length = max(load.values()) / len(picked), len(picked)
    return tuple(picked[:best_length])


def _shortest_patterns(servers: int, offsets: tuple[int, ...], size: int) -> dict[Pattern, None]:
    table = coin_change_mod(servers, offsets)
    step = servers // size
    strides = totient_perms(size)
    hops = table.distance[strides * step]
    fewest = strides[hops == hops.min()].tolist()
    return {
        (p, coins): None
        for p in fewest[:_MOST_STRIDES]
        for coins in islice(table.alternatives(p * step), _MOST_TIES)
    }


def _with_negation(pattern: Pattern, servers: int, size: int, offsets: tuple[int, ...]) -> list[Pattern]:
    stride, coins = pattern
    back = tuple(sorted(servers - coin for coin in coins))
    if back == coins or not set(back) <= set(offsets):
        return [pattern]
    return [pattern, (size - stride, back)]


def _load_after(load: Counter[int], coins: tuple[int, ...]) -> tuple[int, int]:
    after = (load + Counter(coins)).values()
    return max(after), sum(value * value for value in after)


def _coin_ring(servers: int, members: Ints, stride: int, coins: tuple[int, ...]) -> Ring:
    order = members[np.arange(len(members)) * stride % len(members)]
    passed = np.concatenate([[0], np.cumsum(coins[:-1])]).astype(np.int64)
    walk = (order[:, None] + passed) % servers
    return Ring(stride, tuple(walk.ravel().tolist()), tuple(order.tolist()))
