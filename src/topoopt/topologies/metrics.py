"""Distances between servers: breadth-first trees, diameter, average hops, their histogram, and Moore's bound."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from topoopt.base.arrays import Floats, Ints, Ints32
from topoopt.base.errors import NoRoute
from topoopt.base.limits import refuse_too_large
from topoopt.topologies.breadth_first_kernel import breadth_first
from topoopt.topologies.direct_wiring import DirectWiring
from topoopt.topologies.families.lifted_kernel import hops_of_levels
from topoopt.topologies.topology import Topology

_BREADTH_FIRST_ROWS_AT_ONCE = 1 << 23  # entries of a block of trees: 128 MB


@dataclass(frozen=True, slots=True)
class Trees:
    """Breadth-first trees, one row a root.

    Attributes
    ----------
    hops : int32 array, shape (roots, nodes)
        Links between root and node, -1 where there is no path.
    parent : int32 array, shape (roots, nodes)
        The neighbor from which the node was first discovered, neighbors taken in order of node id.
    ways : float64 array, shape (roots, nodes)
        Number of shortest paths between root and node, a fat link counting as one.
    """

    hops: Ints32
    parent: Ints32
    ways: Floats


_ALIKE_FROM_EVERY_SERVER = frozenset({"full-mesh", "ideal-switch", "torus"})
_ROWS_AT_ONCE = 1 << 23  # entries of a block of hop rows: 32 MB


@dataclass(frozen=True, slots=True)
class HopMetrics:
    """Hops between servers.

    Attributes
    ----------
    diameter : int
        Hops of the farthest pair.
    average_hops : float
        Mean over all ordered pairs of distinct servers.
    histogram : tuple of int
        ``histogram[h]`` is the number of ordered pairs ``h`` hops apart; entry 0 is 0.
    """

    diameter: int
    average_hops: float
    histogram: tuple[int, ...]

    def cumulative(self) -> tuple[float, ...]:
        """Return the share of the pairs at most 1, 2, … diameter hops apart."""
        pairs = np.cumsum(self.histogram[1:])
        return tuple((pairs / pairs[-1]).tolist())


def hop_metrics(topology: Topology) -> HopMetrics:
    """Return diameter, average hops and histogram over the servers; switches count as hops, not as ends.

    A circulant looks the same from every server, as do a torus, a full mesh and one switch: there a
    single search from server 0 is enough.

    Raises
    ------
    NoRoute
        If some server cannot reach another.
    """
    servers = topology.servers
    alike = bool(topology.offsets) or topology.family in _ALIKE_FROM_EVERY_SERVER
    sources = np.arange(1 if alike else servers)
    counts = np.zeros(topology.nodes, np.int64)
    for block in np.array_split(sources, 1 + len(sources) * topology.nodes // _ROWS_AT_ONCE):
        hops = hops_from(topology, block)[:, :servers]
        missing = np.argwhere(hops < 0)
        if len(missing):
            row, server = (int(index) for index in missing[0])
            raise NoRoute(
                f"{topology.family} of {topology.servers} servers: server {int(block[row])} cannot reach "
                f"server {server}; add a ring that visits every server"
            )
        counts += np.bincount(hops.ravel(), minlength=topology.nodes)
    counts = np.trim_zeros(counts, "b")
    counts *= servers // len(sources)
    counts[0] = 0
    diameter = len(counts) - 1
    average = float(counts @ np.arange(len(counts))) / (servers * (servers - 1))
    return HopMetrics(diameter, average, tuple(counts.tolist()))


def wiring_hops(wiring: DirectWiring) -> HopMetrics:
    """Return diameter, average hops and histogram; a search from one server of each orbit suffices.

    Raises
    ------
    NoRoute
        If the wiring falls into parts, or some server cannot reach another.
    """
    servers, orbits = wiring.servers, wiring.orbits
    words = servers * -(-orbits // 64)
    refuse_too_large(f"servers {servers}", 16.0 * words, "ask for fewer servers")
    reached = np.zeros(servers + 1, np.int64)
    old, new = np.empty((2, words), np.uint64)
    diameter = hops_of_levels(wiring.near, wiring.shift, old, new, wiring.group, reached)
    if diameter < 0:
        raise NoRoute(
            f"{wiring.family} of {servers} servers: falls into parts; some server cannot reach another"
        )
    pairs = np.diff(reached[: diameter + 1]) * wiring.group
    average = float(pairs @ np.arange(1, diameter + 1)) / (servers * (servers - 1))
    return HopMetrics(diameter, average, (0, *pairs.tolist()))


def moore_histogram(servers: int, degree: int, links: str = "duplex") -> Iterator[int]:
    """Yield the maximum number of servers 1, 2, 3, … hops away (Moore), until all are counted.

    A cable leads back as well, so that each server met offers d - 1 new ones, and a fiber d.

    Examples
    --------
    >>> list(moore_histogram(128, 8)), list(moore_histogram(128, 4, "directed"))
    ([8, 56, 63], [4, 16, 64, 43])
    """
    left, fresh = servers - 1, degree
    while left > 0:
        if degree < 1 or (fresh < 1 and left > 0):
            fresh = left
        met = min(fresh, left)
        yield met
        left -= met
        fresh *= degree - 1 if links == "duplex" else degree


def moore_average_hops(servers: int, degree: int, links: str = "duplex") -> float:
    """Return the Moore bound on the mean hops of any wiring with these interfaces.

    Examples
    --------
    >>> round(moore_average_hops(128, 8), 4), round(moore_average_hops(128, 4), 4)
    (2.4331, 3.4331)
    """
    met = enumerate(moore_histogram(servers, degree, links), start=1)
    return sum(hops * count for hops, count in met) / (servers - 1)


def trees_from(topology: Topology, roots: Ints) -> Trees:
    """Return the trees along the links, out of each root."""
    return _trees(topology.first_link, topology.dst, roots)[0]


def trees_to(topology: Topology, roots: Ints) -> Trees:
    """Return the trees against the links: ``hops`` counts the links from a node to the root."""
    return _trees(*topology.links_in, roots)[0]


def hops_from(topology: Topology, sources: Ints) -> Ints32:
    """Return the hops from each source to each node, shape (sources, nodes); -1 where there is no path.

    Along strides they are those from one node, turned.
    """
    if topology.offsets and len(sources) > 1:
        whole = np.tile(trees_from(topology, np.zeros(1, np.int64)).hops[0], 2)
        rows = np.lib.stride_tricks.sliding_window_view(whole, topology.nodes)
        return np.ascontiguousarray(rows[-np.asarray(sources) % topology.nodes])
    blocks = np.array_split(sources, 1 + len(sources) * topology.nodes // _BREADTH_FIRST_ROWS_AT_ONCE)
    return np.concatenate([trees_from(topology, block).hops for block in blocks])


def tree_of_rows(first: Ints, neighbor: Ints32, root: int) -> tuple[Trees, Ints32]:
    """Return the tree of a graph by rows, and the nodes that it reaches in the order of their discovery."""
    tree, queue = _trees(first, neighbor, np.array([root]))
    return tree, queue[: int((tree.hops >= 0).sum())]


def _trees(first: Ints, neighbor: Ints32, roots: Ints) -> tuple[Trees, Ints32]:
    """Return the trees, and the order in which the last of them was made."""
    shape = (len(roots), len(first) - 1)
    hops, parent, ways = np.full(shape, -1, np.int32), np.full(shape, -1, np.int32), np.zeros(shape)
    queue = np.empty(shape[1], np.int32)
    breadth_first(first, neighbor, np.ascontiguousarray(roots, np.int64), hops, parent, ways, queue)
    return Trees(hops, parent, ways), queue
