"""The noun PathTable: the weighted link paths of the pairs in use, as the simulators read them."""

from dataclasses import dataclass

import numpy as np

from topoopt.arrays import Floats, Ints, Ints32
from topoopt.routing.fabric import Fabric
from topoopt.routing.pair_links import steps_of_paths
from topoopt.routing.path_arrays import path_arrays, used_paths


@dataclass(frozen=True, eq=False)
class PathTable:
    """Paths of a list of ordered pairs, by rows; the links of a path by rows again.

    Pair k has the paths ``pair_first[k] : pair_first[k+1]``, none if it is a server with itself. Path p
    crosses ``link[path_first[p] : path_first[p+1]]``, in that order.

    Attributes
    ----------
    pair_first : int64 array, shape (pairs+1,)
    weight : float64 array, shape (paths,)
        Share of the pair's bytes on each path, positive; sums to 1 over a pair.
    path_first : int64 array, shape (paths+1,)
    link : int32 array, shape (entries,)
        Index of a directed link in the fabric's topology.
    """

    pair_first: Ints
    weight: Floats
    path_first: Ints
    link: Ints32

    def __len__(self) -> int:
        return len(self.pair_first) - 1

    @property
    def hops(self) -> Ints:
        """Number of links of each path, shape (paths,)."""
        return np.diff(self.path_first)


def path_table(fabric: Fabric, src: Ints, dst: Ints) -> PathTable:
    """Return the paths of many ordered pairs on a fabric, those of weight zero left out.

    Parameters
    ----------
    src, dst : int arrays, shape (pairs,)

    Raises
    ------
    NoRoute
        If a pair cannot be reached, or a path steps where the fabric has no link; the step is named.
    """
    src, dst = np.asarray(src, np.int64), np.asarray(dst, np.int64)
    paths = used_paths(path_arrays(fabric.routes, src, dst))
    _, link = steps_of_paths(fabric.topology, paths)
    path_first = paths.node_first - np.arange(len(paths.node_first))
    return PathTable(paths.path_first, paths.weight, path_first, link.astype(np.int32))
