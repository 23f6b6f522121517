"""Circuits for the pairs of most demand, compiled.

Arrays
------
demand : float64 (servers, servers)     bytes that wait for a circuit from the row's server to the column's
src_free, dst_free : int64 (servers,)   ports left for circuits out of and into each server
circuits : int64 (servers, servers)     circuits of each ordered pair
best : int64 (servers,)                 destination of most demand of each server, -1 if none
"""

from topoopt.base.arrays import Floats, Ints
from topoopt.base.kernel import compiled, entry


@entry
def take_circuits(
    demand: Floats,
    src_free: Ints,
    dst_free: Ints,
    circuits: Ints,
    best: Ints,
) -> None:
    """Give the pair of most demand a circuit and halve its demand, until ports or demand run out.

    Of equal pairs the first in order of (src, dst). One array for both ``free`` serves duplex circuits, with
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
