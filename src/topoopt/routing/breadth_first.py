"""Hops and shortest-path counts between servers and every node, made when first asked for."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from topoopt.errors import NoRoute
from topoopt.routing.breadth_first_kernel import breadth_first
from topoopt.topology import Topology


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

    hops: NDArray[np.int32]
    parent: NDArray[np.int32]
    ways: NDArray[np.float64]


def trees_from(topology: Topology, roots: NDArray[np.int64]) -> Trees:
    """Return the trees along the links, out of each root."""
    return _trees(topology.first_link, topology.dst, topology.nodes, roots)


def trees_to(topology: Topology, roots: NDArray[np.int64]) -> Trees:
    """Return the trees against the links: ``hops`` counts the links from a node to the root."""
    order = np.lexsort((topology.src, topology.dst))
    first = np.searchsorted(topology.dst[order], np.arange(topology.nodes + 1))
    return _trees(first, topology.src[order], topology.nodes, roots)


@dataclass(frozen=True, slots=True)
class TreesTo:
    """Trees to destinations, kept once made.

    ``of`` is for single pairs. For many pairs make the trees of all their destinations at once.
    """

    topology: Topology
    _kept: dict[int, Trees] = field(default_factory=dict)

    def of(self, dst: int) -> Trees:
        """Return the tree to one destination, as arrays of one row."""
        if dst not in self._kept:
            self._kept[dst] = trees_to(self.topology, np.array([dst]))
        return self._kept[dst]


def require_reached(hops: NDArray[np.int32], src: NDArray[np.int64], dst: NDArray[np.int64]) -> None:
    """Refuse pairs without a way; all arrays have shape (pairs,).

    Raises
    ------
    NoRoute
        Naming the first such pair.
    """
    lost = np.flatnonzero(hops < 0)
    if len(lost):
        a, b = int(src[lost[0]]), int(dst[lost[0]])
        raise NoRoute(
            f"no route {a}->{b}: the topology does not connect them; add a ring through all servers"
        )


def _trees(
    first: NDArray[np.int64], neighbor: NDArray[np.int32], nodes: int, roots: NDArray[np.int64]
) -> Trees:
    shape = (len(roots), nodes)
    hops, parent, ways = np.full(shape, -1, np.int32), np.full(shape, -1, np.int32), np.zeros(shape)
    queue = np.empty(nodes, np.int32)
    breadth_first(first.astype(np.int64), neighbor, roots.astype(np.int64), hops, parent, ways, queue)
    return Trees(hops, parent, ways)
