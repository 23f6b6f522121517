"""Rings over edge-disjoint Hamiltonian cycles of the members, each walked both ways."""

from functools import lru_cache

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from topoopt.base.ahead import wait_for
from topoopt.base.arrays import Ints
from topoopt.finder.hamiltonian_rings_kernel import Cables, Room, hamiltonian_cycles
from topoopt.topologies import Ring, Topology

_Cycles = tuple[tuple[int, ...], ...]


def hamiltonian_rings(topology: Topology, members: Ints, limit: int, seed: int) -> tuple[Ring, ...]:
    """Return up to ``limit`` rings over direct links, none of which is crossed more often than it has ports.

    Where they exist they are the best there is: d/2 cycles, both ways, keep all d interfaces busy. A torus
    of sides of 3 and more is made of two such cycles [1]_, one of three dimensions of three [2]_, a random
    d-regular graph of even d almost surely of d/2 [3]_. An odd interface stays idle.

    The cycles are searched for at random, in the same steps for every graph. First two cables of each
    server are put into each set, along alternating trails; the sets are then cycles, but many. After that the
    cables of closed trails that alternate between two sets change sides wherever this makes no more cycles,
    until each set is one cycle. Where the search fails, one cycle fewer is looked for.

    References
    ----------
    .. [1] A. Kotzig, 1973, as cited by R. Stong, "Hamilton decompositions of directed cubes and products",
       Discrete Mathematics 306, 2006.
    .. [2] M. F. Foregger, 1978, as cited there.
    .. [3] J. H. Kim, N. C. Wormald, "Random matchings which induce Hamilton cycles, and Hamiltonian
       decompositions of random regular graphs", J. Combinatorial Theory B 81, 2001.
    """
    tail, head = _cables_between(topology, members)
    fewest = int(np.bincount(np.concatenate([tail, head]), minlength=len(members)).min())
    most = min(fewest // 2, (limit + 1) // 2)
    if not most or len(members) < 3:
        return ()
    rings = []
    for cycle in _disjoint_cycles(len(members), tail.tobytes(), head.tobytes(), most, seed):
        order = tuple(members[list(cycle)].tolist())
        ring = Ring(0, order, order)
        rings += [ring, ring.backwards()]
    return tuple(rings[:limit])


def _cables_between(topology: Topology, members: Ints) -> tuple[Ints, Ints]:
    """Return the ends, as positions in the members, of each pair of links between them, there and back."""
    place = np.full(topology.nodes, -1)
    place[members] = np.arange(len(members))
    inside = np.flatnonzero(
        (topology.src < topology.dst) & (place[topology.src] >= 0) & (place[topology.dst] >= 0)
    )
    src, dst = topology.src[inside].astype(np.int64), topology.dst[inside].astype(np.int64)
    back = topology.link_ids(dst, src)
    cables = np.where(back >= 0, np.minimum(topology.ports[inside], topology.ports[back]), 0)
    return np.repeat(place[src], cables), np.repeat(place[dst], cables)


@lru_cache(maxsize=128)
def _disjoint_cycles(size: int, tails: bytes, heads: bytes, most: int, seed: int) -> _Cycles:
    """Return up to ``wanted`` cycles of the positions; each position has at least two cables a cycle."""
    wait_for("rings")
    tail, head = np.frombuffer(tails, np.int64), np.frombuffer(heads, np.int64)
    joined = coo_array((np.ones(len(tail)), (tail, head)), shape=(size, size))
    parts, _ = connected_components(joined, directed=False)
    if parts > 1:
        return ()
    ends, others = np.concatenate([tail, head]), np.concatenate([head, tail])
    by_end = np.argsort(ends, kind="stable")
    first = np.searchsorted(ends[by_end], np.arange(size + 1))
    cable = np.tile(np.arange(len(tail)), 2)[by_end]
    cables = Cables(first, cable, others[by_end], np.empty(len(tail), np.int64))
    best: _Cycles = ()
    for sets in range(most, 0, -1):
        if len(best) == sets:
            break
        cycles = np.empty((sets, size), np.int64)
        count = hamiltonian_cycles(cables, _room(size, len(tail), sets), seed, _budget(size, sets), cycles)
        best = max(best, tuple(map(tuple, cycles[:count].tolist())), key=len)
    return best


def _room(size: int, cables: int, sets: int) -> Room:
    walked, trail = np.empty((2, cables), np.int64)
    row_of, count = np.empty((2, sets + 1), np.int64)
    left, left_by = np.empty((2, size, 2), np.int64)
    state, has, label = np.empty(1, np.int64), np.empty(size, np.int64), np.zeros((sets + 3, size), np.int64)
    return Room(state, walked, trail, has, label, row_of, count, left, left_by)


def _budget(size: int, sets: int) -> int:
    """Return how many cables may be walked: several times what tori take, which take the most.

    A set of n servers needs at most about n changes of sides there, and each is 3 n steps.
    """
    return (2000 + 4 * size) * size * sets
