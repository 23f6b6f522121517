"""Circuits for the pairs of most demand, and ranks exchanged between servers by simulated annealing, compiled.

Arrays of ranks
---------------
first : int64 (servers + 1,)     entries of a rank: ``first[rank] : first[rank + 1]``
other : int32 (entries,)         ranks that it exchanges bytes with
there, back : float64 (entries,) bytes from the rank to the other one, and those from it
hops : int32 (servers, servers)  links from the row's place to the column's
place : int64 (servers,)         of each rank; changed
state : uint64 (1,)              of the random numbers

Arrays of circuits
------------------
demand : float64 (servers, servers)     bytes that wait for a circuit from the row's server to the column's
src_free, dst_free : int64 (servers,)   ports left for circuits out of and into each server
circuits : int64 (servers, servers)     circuits of each ordered pair
best : int64 (servers,)                 destination of most demand of each server, -1 if none
"""

import numpy as np
from numpy.typing import NDArray

from topoopt.base.arrays import Floats, Ints, Ints32
from topoopt.base.kernel import compiled, entry, stamp, stamped, uniform

STAMP = stamp([])


@entry
@stamped(STAMP)
def anneal_places(
    first: Ints,
    other: Ints32,
    there: Floats,
    back: Floats,
    hops: Ints32,
    place: Ints,
    state: NDArray[np.uint64],
    steps: int,
    hot: float,
    cooling: float,
) -> float:
    """Anneal: exchange the places of two ranks where that is no worse, or at random; return the gain."""
    servers, gained = len(place), 0.0
    for _ in range(steps):
        hot *= cooling
        a, b = int(uniform(state) * servers), int(uniform(state) * servers)
        if a == b:
            continue
        worse = _moved(first, other, there, back, hops, place, a, b)
        worse += _moved(first, other, there, back, hops, place, b, a)
        if worse <= -hot * np.log(uniform(state)):
            place[a], place[b] = place[b], place[a]
            gained -= worse
    return gained


@compiled
def _moved(
    first: Ints, other: Ints32, there: Floats, back: Floats, hops: Ints32, place: Ints, a: int, b: int
) -> float:
    """Return the change in bytes × hops when rank a moves to b's place, without its exchange with b."""
    now, then, more = place[a], place[b], 0.0
    for i in range(first[a], first[a + 1]):
        rank = other[i]
        if rank != b:
            far = place[rank]
            more += there[i] * (hops[then, far] - hops[now, far])
            more += back[i] * (hops[far, then] - hops[far, now])
        else:  # both ends change places; of cables nothing changes
            more += 0.5 * (there[i] - back[i]) * (hops[then, now] - hops[now, then])
    return more


@entry
def take_circuits(demand: Floats, src_free: Ints, dst_free: Ints, circuits: Ints, best: Ints) -> None:
    """Assign a circuit to the pair of most demand and halve its demand, until ports or demand run out.

    Among equal pairs, the first by (src, dst) is chosen. One array for both ``free`` serves duplex circuits, with
    demand above the diagonal only. Changes all its arguments; ``best`` is room to work in.
    """
    servers = len(demand)
    for src in range(servers):
        best[src] = _neediest(src, demand, src_free, dst_free)
    while True:
        src, most = -1, 0.0
        for row in range(servers):
            if best[row] < 0:
                continue
            if src_free[row] == 0 or dst_free[best[row]] == 0:
                best[row] = _neediest(row, demand, src_free, dst_free)
            if best[row] >= 0 and demand[row, best[row]] > most:
                src, most = row, demand[row, best[row]]
        if src < 0:
            return
        dst = best[src]
        circuits[src, dst] += 1
        src_free[src] -= 1
        dst_free[dst] -= 1
        demand[src, dst] *= 0.5
        best[src] = _neediest(src, demand, src_free, dst_free)


@compiled
def _neediest(src: int, demand: Floats, src_free: Ints, dst_free: Ints) -> int:
    """Return the destination of most demand from ``src`` with a port left, the first of equals, or -1."""
    best, most = -1, 0.0
    if src_free[src] > 0:
        for dst in range(len(demand)):
            if demand[src, dst] > most and dst_free[dst] > 0:
                best, most = dst, demand[src, dst]
    return best
