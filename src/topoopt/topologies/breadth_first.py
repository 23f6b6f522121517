"""Hops, first discoverers and counts of shortest paths between some nodes and every other one."""

from dataclasses import dataclass

import numpy as np

from topoopt.base.arrays import Floats, Ints, Ints32
from topoopt.topologies.breadth_first_kernel import breadth_first
from topoopt.topologies.topology import Topology

_ROWS_AT_ONCE = 1 << 23  # entries of a block of trees: 128 MB


@dataclass(frozen=True, slots=True)
class Trees:
    """Breadth-first trees, one row a root.

    Attributes
    ----------
    hops : int32 array, shape (roots, nodes)
        Links between root and node, -1 where there is no way.
    parent : int32 array, shape (roots, nodes)
        The neighbor from which the node was first discovered, neighbors taken in order of node id.
    ways : float64 array, shape (roots, nodes)
        Number of shortest paths between root and node, a fat link counting as one.
    """

    hops: Ints32
    parent: Ints32
    ways: Floats


def trees_from(topology: Topology, roots: Ints) -> Trees:
    """Return the trees along the links, out of each root."""
    return _trees(topology.first_link, topology.dst, roots)[0]


def trees_to(topology: Topology, roots: Ints) -> Trees:
    """Return the trees against the links: ``hops`` counts the links from a node to the root."""
    return _trees(*topology.links_in, roots)[0]


def hops_from(topology: Topology, sources: Ints) -> Ints32:
    """Return the hops from each source to each node, shape (sources, nodes); -1 where there is no path."""
    blocks = np.array_split(sources, 1 + len(sources) * topology.nodes // _ROWS_AT_ONCE)
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
