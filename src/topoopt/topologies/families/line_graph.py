"""Line graphs of small directed wirings: d times the servers for one hop more, links one way."""

from collections.abc import Iterator

import numpy as np

from topoopt.base.arrays import Ints
from topoopt.topologies.direct_wiring import DirectWiring, wiring_of_arcs
from topoopt.topologies.families.bipartite import bipartite_arcs
from topoopt.topologies.families.circulant import circulants, circulants_exist
from topoopt.topologies.families.kautz import kautz

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
