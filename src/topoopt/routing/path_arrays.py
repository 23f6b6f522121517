"""The noun PathArrays: the weighted paths of many pairs at once, and how to get them from any routes."""

from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from topoopt.routing.routes import Path, Routes


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

    path_first: NDArray[np.int64]
    node_first: NDArray[np.int64]
    nodes: NDArray[np.int32]
    weight: NDArray[np.float64]


@runtime_checkable
class ArrayRoutes(Protocol):
    """Routes that list the paths of many pairs at once, in the order that ``paths`` gives them."""

    def path_arrays(self, src: NDArray[np.int64], dst: NDArray[np.int64]) -> PathArrays:
        """Return the paths of the pairs; a pair of a server with itself has none."""
        ...


def path_arrays(routes: Routes, src: NDArray[np.int64], dst: NDArray[np.int64]) -> PathArrays:
    """Return the paths of many pairs, one by one where the routes know no faster way.

    Raises
    ------
    NoRoute
        If a pair cannot be reached.
    """
    if isinstance(routes, ArrayRoutes):
        return routes.path_arrays(src, dst)
    pairs = zip(src.tolist(), dst.tolist(), strict=True)
    return stacked_paths([routes.paths(a, b) if a != b else () for a, b in pairs])


def stacked_paths(paths: list[tuple[Path, ...]]) -> PathArrays:
    """Return the paths of a list of pairs as arrays."""
    flat = [path for of_pair in paths for path in of_pair]
    return PathArrays(
        np.concatenate(([0], np.cumsum([len(of_pair) for of_pair in paths]))).astype(np.int64),
        np.concatenate(([0], np.cumsum([len(path.nodes) for path in flat]))).astype(np.int64),
        np.array([node for path in flat for node in path.nodes], np.int32),
        np.array([path.weight for path in flat], np.float64),
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
