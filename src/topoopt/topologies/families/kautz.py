"""Kautz, de Bruijn and complete bipartite wirings, and line graphs of these: many servers in few hops."""

from collections.abc import Iterator

import numpy as np

from topoopt.base.arrays import Ints
from topoopt.topologies.direct_wiring import DirectWiring, both_ways, wiring_of_arcs
from topoopt.topologies.families.circulant import circulants, circulants_exist

_DIAMOND = "47 02 34 05 56 17 13 26"  # out-neighbors of 0 .. 7


def line_graphs_exist(servers: int, degree: int, links: str) -> bool:
    """Return whether the servers are the fibers of a smaller wiring."""
    return links == "directed" and degree >= 2 and servers % degree == 0 and servers // degree > degree


def line_graphs(servers: int, degree: int, links: str) -> Iterator[DirectWiring]:
    """Yield line graphs of line graphs … of each base that fits: server uv sends to every vw.

    References
    ----------
    .. [1] L. Zhao et al., "Efficient Direct-Connect Topologies for Collective Communications", NSDI 2025.
    """
    size, times = servers, 0
    while line_graphs_exist(size, degree, links):
        size, times = size // degree, times + 1
        for name, base in _bases(size, degree):
            arcs = base
            for _ in range(times):
                arcs = _line_graph(arcs)
            yield wiring_of_arcs("line-graph", links, servers, degree, arcs, {"base": name, "times": times})


def _bases(servers: int, degree: int) -> Iterator[tuple[str, tuple[Ints, Ints]]]:
    if servers == 2 * degree:
        yield f"complete-bipartite {servers}", bipartite_arcs(degree)
    for links in ("duplex", "directed"):
        if circulants_exist(servers, degree, links):
            base = next(circulants(servers, degree, links))
            yield f"circulant {servers}, {links} strides {base.recipe['strides']}", base.arcs
    if servers % (degree + 1) == 0:  # else it has loops
        yield f"kautz {servers}", next(kautz(servers, degree, "directed")).arcs
    if (servers, degree) == (8, 2):
        ends = [(src, int(dst)) for src, row in enumerate(_DIAMOND.split()) for dst in row]
        yield "diamond 8", (np.array([src for src, _ in ends]), np.array([dst for _, dst in ends]))


def _line_graph(arcs: tuple[Ints, Ints]) -> tuple[Ints, Ints]:
    """Return the arcs from every arc to those that go on from its end."""
    src, dst = arcs
    order = np.argsort(src, kind="stable")
    src, dst = src[order], dst[order]
    first = np.searchsorted(src, np.arange(int(src.max()) + 2))
    degree = int(first[1])
    after = (first[dst][:, None] + np.arange(degree)).ravel()
    return np.repeat(np.arange(len(src)), degree), after


def bipartite_exists(servers: int, degree: int, links: str) -> bool:
    """Return whether a server has an interface for each of the other half."""
    return servers == 2 * degree


def bipartite(servers: int, degree: int, links: str) -> Iterator[DirectWiring]:
    """Yield K_{d,d}: two hops at most."""
    yield wiring_of_arcs(
        "complete-bipartite",
        links,
        servers,
        degree,
        bipartite_arcs(degree),
        {"half": degree},
        group=2 * degree,
    )


def bipartite_arcs(half: int) -> tuple[Ints, Ints]:
    """Return both ends of every fiber: odd servers are one half, even ones the other."""
    src = np.repeat(np.arange(2 * half), half)
    return src, (src + 1 + 2 * np.tile(np.arange(half), 2 * half)) % (2 * half)


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
