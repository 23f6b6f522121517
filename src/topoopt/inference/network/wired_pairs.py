"""A wiring for a deployment: ports between prefill and decode servers, and the others inside each pool.

The degree of a server is split. ``across`` of its ports go to servers of the other pool, such that a prefill server has
as many different decode servers as it can and their groups overlap; the others join the servers of its own pool, which
exchange tokens of experts, as nearly regular as the ports allow. What is left over joins the pools once more.
"""

import numpy as np

from topoopt.base.arrays import Ints
from topoopt.base.errors import Infeasible
from topoopt.finder import named_wiring, wirings_of
from topoopt.topologies import DirectWiring, wiring_of_arcs

FAMILY = "prefill-decode"


def pair_wiring(
    prefill: Ints, decode: Ints, servers: int, degree: int, across: int, mesh: bool = False
) -> DirectWiring:
    """Return the wiring.

    Parameters
    ----------
    prefill, decode : int64 arrays
        Servers of each pool; none of both.
    across : int
        Ports of a server to the other pool, at most; the larger pool has fewer in use.
    mesh : bool
        Whether every two servers are joined before that; what ports are left is spent as above.

    Raises
    ------
    Infeasible
        If the servers do not come out connected.
    """
    free = np.full(servers, degree)
    cables: list[tuple[int, int]] = []
    if mesh:
        cables += [(a, b) for a in range(servers) for b in range(a + 1, servers)]
        free -= servers - 1
        across = degree
    _add_across(cables, free, prefill, decode, across)
    for pool in (prefill, decode):
        _add_inside(cables, free, pool)
    _add_across(cables, free, prefill, decode, degree)
    ends = np.array(cables, np.int64).reshape(-1, 2)
    if not _connected(ends, servers):
        raise Infeasible(f"wiring: {across} of {degree} ports to the other pool leave servers apart")
    arcs = np.concatenate((ends[:, 0], ends[:, 1])), np.concatenate((ends[:, 1], ends[:, 0]))
    if mesh:
        return wiring_of_arcs("full-mesh", "duplex", servers, degree, arcs)
    recipe = {"prefill": prefill.tolist(), "decode": decode.tolist(), "across": across}
    return wiring_of_arcs(FAMILY, "duplex", servers, degree, arcs, recipe)


def _add_across(cables: list[tuple[int, int]], free: Ints, prefill: Ints, decode: Ints, most: int) -> None:
    """Join prefill servers with windows of decode servers, each window some servers on from the one before."""
    count = min(int(np.minimum(free[prefill], most).sum()), int(np.minimum(free[decode], most).sum()))
    left = {int(one): min(int(free[one]), most) for one in (*prefill, *decode)}
    joined: dict[tuple[int, int], int] = {}
    for _ in range(count):
        source = max(prefill.tolist(), key=lambda one: (left[one], -one))
        if left[source] <= 0:
            return
        start = int(np.searchsorted(prefill, source)) * len(decode) // len(prefill)
        order = np.roll(decode, -start).tolist()
        end = min(
            order,
            key=lambda one: (left[one] <= 0, joined.get((source, one), 0), -left[one], order.index(one)),
        )
        if left[end] <= 0:
            return
        cables.append((source, end))
        joined[source, end] = joined.get((source, end), 0) + 1
        for one in (source, end):
            left[one] -= 1
            free[one] -= 1


def _add_inside(cables: list[tuple[int, int]], free: Ints, pool: Ints) -> None:
    """Join the servers of a pool with what ports they have: a wiring of few hops, then whoever has most left."""
    regular = int(free[pool].min()) if len(pool) > 1 else 0
    names = wirings_of(len(pool), regular, "duplex") if 2 <= regular < len(pool) - 1 else ()
    if names:
        src, dst = named_wiring(names[0], len(pool), regular, "duplex").arcs
        for a, b in zip(src.tolist(), dst.tolist(), strict=True):
            if a < b:
                _plug(cables, free, int(pool[a]), int(pool[b]))
    joined: dict[tuple[int, int], int] = {}
    for a, b in cables:
        joined[min(a, b), max(a, b)] = joined.get((min(a, b), max(a, b)), 0) + 1
    while True:
        able = [one for one in pool.tolist() if free[one] > 0]
        if len(able) < 2:
            return
        first = max(able, key=lambda one: (free[one], -one))
        others = [one for one in able if one != first]
        second = min(
            others, key=lambda one: (joined.get((min(first, one), max(first, one)), 0), -free[one], one)
        )
        key = min(first, second), max(first, second)
        joined[key] = joined.get(key, 0) + 1
        _plug(cables, free, first, second)


def _plug(cables: list[tuple[int, int]], free: Ints, a: int, b: int) -> None:
    cables.append((a, b))
    free[[a, b]] -= 1


def _connected(ends: Ints, servers: int) -> bool:
    reached, fresh = {0}, [0]
    near: dict[int, list[int]] = {}
    for a, b in ends.tolist():
        near.setdefault(a, []).append(b)
        near.setdefault(b, []).append(a)
    while fresh:
        for one in near.get(fresh.pop(), []):
            if one not in reached:
                reached.add(one)
                fresh.append(one)
    return len(reached) == servers
