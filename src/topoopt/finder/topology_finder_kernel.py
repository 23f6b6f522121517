"""Ranks exchanged between the servers of a wiring by simulated annealing on bytes × hops, compiled.

Arrays
------
first : int64 (servers + 1,)     entries of a rank: ``first[rank] : first[rank + 1]``
other : int32 (entries,)         whom the rank exchanges bytes with
there, back : float64 (entries,) bytes from the rank to the other one, and those from it
hops : int32 (servers, servers)  links from the row's place to the column's
place : int64 (servers,)         of each rank; changed
state : uint64 (1,)              of the random numbers
"""

import numpy as np
from numpy.typing import NDArray

from topoopt.base.arrays import Floats, Ints, Ints32
from topoopt.base.kernel import compiled, entry, mix, stamp, stamped

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
    """Exchange the places of two ranks so often, where this is no worse or by chance; return what is gained."""
    servers, gained = len(place), 0.0
    for _ in range(steps):
        hot *= cooling
        a, b = int(_uniform(state) * servers), int(_uniform(state) * servers)
        if a == b:
            continue
        worse = _moved(first, other, there, back, hops, place, a, b)
        worse += _moved(first, other, there, back, hops, place, b, a)
        if worse <= -hot * np.log(_uniform(state)):
            place[a], place[b] = place[b], place[a]
            gained -= worse
    return gained


@compiled
def _moved(
    first: Ints, other: Ints32, there: Floats, back: Floats, hops: Ints32, place: Ints, a: int, b: int
) -> float:
    """Return how much more bytes × hops rank a has at b's place, without what it exchanges with b."""
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


@compiled
def _uniform(state: NDArray[np.uint64]) -> float:
    """Return a random number above 0 and below 1."""
    state[0] = mix(state[0])
    return (float(state[0] >> np.uint64(11)) + 0.5) * 2.0**-53
