"""Generalized Kautz and de Bruijn wirings: few hops for any number of servers, fibers one way or made cables."""

from collections.abc import Iterator

import numpy as np

from topoopt.base.arrays import Ints
from topoopt.topologies.direct_wiring import DirectWiring, both_ways, wiring_of_arcs


def arithmetic_exists(servers: int, degree: int, links: str) -> bool:
    """Return whether every server has so many others, two steps at least; cables take two interfaces for each."""
    return degree < servers and (degree >= 2 if links == "directed" else degree % 2 == 0 and degree >= 4)


def kautz(servers: int, degree: int, links: str) -> Iterator[DirectWiring]:
    """Yield Π(d, n): server x sends to -d·x - a mod n, a = 1 .. d.

    References
    ----------
    .. [1] M. Imase, M. Itoh, "A design for directed graphs with minimum diameter", IEEE Transactions on Computers,
       1983.
    """
    ways = degree if links == "directed" else degree // 2
    yield _arithmetic("kautz", servers, degree, links, (-ways, [-a for a in range(1, ways + 1)]))


def de_bruijn(servers: int, degree: int, links: str) -> Iterator[DirectWiring]:
    """Yield the generalized de Bruijn wiring: server x sends to d·x + a mod n, a = 0 .. d - 1."""
    ways = degree if links == "directed" else degree // 2
    yield _arithmetic("de-bruijn", servers, degree, links, (ways, list(range(ways))))


def _arithmetic(
    family: str, servers: int, degree: int, links: str, rule: tuple[int, list[int]]
) -> DirectWiring:
    factor, added = rule
    src = np.repeat(np.arange(servers), len(added))
    dst = (factor * src + np.tile(added, servers)) % servers
    arcs = _without_loops(src, dst)
    if links == "duplex":
        arcs = both_ways(arcs)
    return wiring_of_arcs(family, links, servers, degree, arcs, {"factor": factor, "added": added})


def _without_loops(src: Ints, dst: Ints) -> tuple[Ints, Ints]:
    """Join those that would be joined to themselves in a ring; where there is one only, it stays alone."""
    loops = np.flatnonzero(src == dst)
    if len(loops):
        most = int(np.bincount(src[loops]).max())
        dst[loops] = np.roll(src[loops], -most)
    return src, dst
