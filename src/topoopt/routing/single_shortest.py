"""One shortest path a pair, breadth first with neighbors in order of node id: the authors' MP routes."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from topoopt.base.arrays import Ints
from topoopt.routing.path_arrays import PathArrays, paths_of_pair, require_reached
from topoopt.routing.routes import Path
from topoopt.topologies import Topology, trees_from


@dataclass(frozen=True, eq=False)
class SingleShortestRoutes:
    """The path of a pair in the breadth-first tree of its source."""

    topology: Topology
    method: ClassVar[str] = "single-shortest"

    def paths(self, src: int, dst: int) -> tuple[Path, ...]:
        """Return the one path of a pair; see :class:`topoopt.routing.Routes`."""
        return paths_of_pair(self, src, dst)

    def path_arrays(self, src: Ints, dst: Ints) -> PathArrays:
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
