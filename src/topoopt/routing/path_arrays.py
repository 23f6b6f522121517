"""The noun PathArrays: the weighted paths of many pairs at once, and how to get them from any routes."""

import itertools
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import numpy as np

from topoopt.base.arrays import Floats, Ints, Ints32
from topoopt.base.errors import NoRoute
from topoopt.routing.coin_options import ranges
from topoopt.routing.routes import Path, Routes
from topoopt.topologies import Topology, Trees, trees_to


@dataclass(frozen=True, slots=True)
class PathArrays:
    """Weighted node paths of a list of ordered pairs, by rows.

    Attributes
    ----------
    path_first : int64 array, shape (pairs+1,)
        Paths of each pair; a pair of a server with itself has none.
    node_first : int64 array, shape (paths+1,)
    nodes : int32 array, shape (entries,)
        Both ends included.
    weight : float64 array, shape (paths,)
        Share of the pair's bytes on each path.
    """

    path_first: Ints
    node_first: Ints
    nodes: Ints32
    weight: Floats

    def listed(self) -> tuple[Path, ...]:
        """Return all paths, one after the other."""
        nodes, ends = self.nodes.tolist(), itertools.pairwise(self.node_first.tolist())
        rows = zip(ends, self.weight.tolist(), strict=True)
        return tuple(Path(tuple(nodes[begin:end]), weight) for (begin, end), weight in rows)


@runtime_checkable
class ArrayRoutes(Protocol):
    """Routes that list the paths of many pairs at once, in the order that ``paths`` gives them."""

    def path_arrays(self, src: Ints, dst: Ints) -> PathArrays:
        """Return the paths of the pairs; a pair of a server with itself has none."""
        ...


def path_arrays(routes: Routes, src: Ints, dst: Ints) -> PathArrays:
    """Return the paths of many pairs, one by one where the routes know no faster way.

    Raises
    ------
    NoRoute
        If a pair cannot be reached.
    """
    if isinstance(routes, ArrayRoutes):
        return routes.path_arrays(src, dst)
    pairs = zip(src.tolist(), dst.tolist(), strict=True)
    paths = [routes.paths(a, b) if a != b else () for a, b in pairs]
    flat = [path for of_pair in paths for path in of_pair]
    return PathArrays(
        np.cumsum([0, *map(len, paths)]),
        np.cumsum([0, *(len(path.nodes) for path in flat)]),
        np.array([node for path in flat for node in path.nodes], np.int32),
        np.array([path.weight for path in flat], np.float64),
    )


def paths_of_pair(routes: ArrayRoutes, src: int, dst: int) -> tuple[Path, ...]:
    """Return the paths of one pair, of routes that list many."""
    return routes.path_arrays(np.array([src]), np.array([dst])).listed()


def trees_of_pairs(topology: Topology, src: Ints, dst: Ints) -> tuple[Trees, Ints, Ints, Ints]:
    """Return the trees to all destinations, and for each pair its row of them, source and destination.

    The last three are without gaps, so that a kernel is compiled for them once.

    Raises
    ------
    NoRoute
        If a pair cannot be reached.
    """
    ends, row = np.unique(dst, return_inverse=True)
    trees = trees_to(topology, ends)
    require_reached(trees.hops[row, src], src, dst)
    return trees, np.ascontiguousarray(row), np.ascontiguousarray(src), np.ascontiguousarray(dst)


def require_reached(hops: Ints32, src: Ints, dst: Ints) -> None:
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


def used_paths(paths: PathArrays) -> PathArrays:
    """Return the paths of positive weight."""
    used = paths.weight > 0
    if used.all():
        return paths
    size = np.diff(paths.node_first)
    kept = np.concatenate(([0], np.cumsum(used)))
    return replace(
        paths,
        path_first=kept[paths.path_first],
        node_first=np.concatenate(([0], np.cumsum(size[used]))),
        nodes=paths.nodes[np.repeat(used, size)],
        weight=paths.weight[used],
    )


def paths_of_rows(paths: PathArrays, rows: Ints) -> PathArrays:
    """Return the paths of some of the pairs, in the order of ``rows``."""
    begin, end = paths.path_first[rows], paths.path_first[rows + 1]
    path = ranges(begin, end)
    first, last = paths.node_first[path], paths.node_first[path + 1]
    return PathArrays(
        np.concatenate(([0], np.cumsum(end - begin))),
        np.concatenate(([0], np.cumsum(last - first))),
        paths.nodes[ranges(first, last)],
        paths.weight[path],
    )
