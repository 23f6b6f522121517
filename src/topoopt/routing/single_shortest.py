"""One shortest path a pair, breadth first with neighbors in order of node id: the authors' MP routes."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from topoopt.routing.breadth_first import Trees, require_reached, trees_from
from topoopt.routing.pair_links import PairLinks, links_of_paths
from topoopt.routing.path_arrays import PathArrays
from topoopt.routing.routes import Path
from topoopt.topology import Topology


@dataclass(frozen=True, eq=False)
class SingleShortestRoutes:
    """The path of a pair in the breadth-first tree of its source."""

    topology: Topology
    _kept: dict[int, Trees] = field(default_factory=dict, init=False, repr=False)
    method: ClassVar[str] = "single-shortest"

    def paths(self, src: int, dst: int) -> tuple[Path, ...]:
        """Return the one path of a pair; see :class:`topoopt.routing.Routes`."""
        if src not in self._kept:
            self._kept[src] = trees_from(self.topology, np.array([src]))
        tree = self._kept[src]
        require_reached(tree.hops[0, [dst]], np.array([src]), np.array([dst]))
        nodes = [dst]
        while nodes[-1] != src:
            nodes.append(int(tree.parent[0, nodes[-1]]))
        return (Path(tuple(reversed(nodes))),)

    def path_arrays(self, src: NDArray[np.int64], dst: NDArray[np.int64]) -> PathArrays:
        """Return the paths of many pairs, walked back from all destinations at once."""
        roots, row = np.unique(src, return_inverse=True)
        trees = trees_from(self.topology, roots)
        hops = trees.hops[row, dst]
        require_reached(hops, src, dst)
        size = np.where(hops > 0, hops + 1, 0).astype(np.int64)
        last = np.cumsum(size) - 1
        nodes = np.empty(int(size.sum()), np.int32)
        here, pair = dst.copy(), np.flatnonzero(hops > 0)
        for back in range(int(hops.max(initial=0)) + 1):
            pair = pair[size[pair] > back]
            nodes[last[pair] - back] = here[pair]
            here[pair] = trees.parent[row[pair], here[pair]]
        present = (hops > 0).astype(np.int64)
        path_first = np.concatenate(([0], np.cumsum(present)))
        node_first = np.concatenate(([0], np.cumsum(size[hops > 0])))
        return PathArrays(path_first, node_first, nodes, np.ones(int(present.sum())))

    def pair_links(self, src: NDArray[np.int64], dst: NDArray[np.int64]) -> PairLinks:
        """Return the links of many pairs."""
        return links_of_paths(self.topology, self.path_arrays(src, dst))
