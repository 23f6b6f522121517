"""Ranks placed on servers so that links stay on their panels, by simulated annealing over exchanges, compiled.

Arrays
------
old : int8 (panels, servers, servers)   links through each panel, of each ordered pair; cables in both directions
first, there : int64 (servers + 1,), (old neighbors,)  servers that server s is linked with: ``first[s] : first[s + 1]``
of, other, panel : int64 (servers + 1,), (neighbors,), (neighbors,)  the neighbors of rank u are ``of[u] : of[u + 1]``
out, into : int64 (neighbors,)          wanted links to it, and from it, through the panel; of cables ``into`` is 0
place, rank, best : int64 (servers,)    the server of each rank; the rank on each server; the best places so far
state : uint64 (1,)                     of the random numbers
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from topoopt.base.arrays import Ints
from topoopt.base.kernel import compiled, entry, exp, mix, stamp, stamped

STAMP = stamp([])

_ELEVEN = np.uint64(11)
_AIMED = 0.5  # exchanges that bring a wanted link to where one is

Old = NDArray[np.int8]


class There(NamedTuple):
    """The links that are there, by server."""

    old: Old
    first: Ints
    there: Ints


class Wanted(NamedTuple):
    """The links that are wanted, by rank."""

    of: Ints
    other: Ints
    panel: Ints
    out: Ints
    into: Ints


@entry
@stamped(STAMP)
def anneal_places(
    links: There,
    wanted: Wanted,
    place: Ints,
    rank: Ints,
    best: Ints,
    steps: int,
    hot: float,
    cooling: float,
    state: NDArray[np.uint64],
) -> int:
    """Exchange the servers of two ranks again and again; return how many more links stay in ``best`` than at first.

    An exchange that loses links is made with probability exp(-links/hot), and ``hot`` falls by ``cooling`` a step.
    """
    old, first, there = links.old, links.first, links.there
    of, other, panel, out, into = wanted.of, wanted.other, wanted.panel, wanted.out, wanted.into
    size, more, most = len(place), int(np.int64(0)), int(np.int64(0))
    for i in range(size):
        best[i] = place[i]
        rank[place[i]] = i
    for _ in range(steps):
        hot *= cooling
        u, v = _below(size, state), int(np.int64(-1))
        if _share(state) < _AIMED and of[u + 1] > of[u]:
            near = place[other[of[u] + _below(of[u + 1] - of[u], state)]]
            if first[near + 1] > first[near]:
                v = rank[there[first[near] + _below(first[near + 1] - first[near], state)]]
        if v < 0:
            v = _below(size, state)
        if u == v:
            continue
        gain = _gain(old, of, other, panel, out, into, place, u, v)
        gain += _gain(old, of, other, panel, out, into, place, v, u)
        if gain < 0 and _share(state) >= exp(gain / hot):
            continue
        place[u], place[v] = place[v], place[u]
        rank[place[u]], rank[place[v]] = u, v
        more += gain
        if more > most:
            most = more
            for i in range(size):
                best[i] = place[i]
    return most


@compiled
def _gain(
    old: Old, of: Ints, other: Ints, panel: Ints, out: Ints, into: Ints, place: Ints, u: int, v: int
) -> int:
    """Return how many more links of rank u stay if it swaps servers with v.

    Those between the two are counted for the lower rank only.
    """
    a, b, gain = place[u], place[v], 0
    for j in range(of[u], of[u + 1]):
        w, p = other[j], panel[j]
        if w == v:
            if u < v:
                gain += min(old[p, b, a], out[j]) - min(old[p, a, b], out[j])
                gain += min(old[p, a, b], into[j]) - min(old[p, b, a], into[j])
        else:
            c = place[w]
            gain += min(old[p, b, c], out[j]) - min(old[p, a, c], out[j])
            gain += min(old[p, c, b], into[j]) - min(old[p, c, a], into[j])
    return gain


@compiled
def _below(most: int, state: NDArray[np.uint64]) -> int:
    return int(_share(state) * most)


@compiled
def _share(state: NDArray[np.uint64]) -> float:
    state[0] = mix(state[0])
    return float(state[0] >> _ELEVEN) * 2.0**-53
