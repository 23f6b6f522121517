"""Routes and PathArrays: the weighted paths of many pairs at once, and how to get them from any routes.

Which of its pair's paths a connection takes: a pure function of the seed and the connection's number.

As a switch hashes the header of a connection, so two connections may collide on one path while another is
idle. Every simulator that picks single paths calls this or, in a kernel, repeats these three lines:

    h = mix(mix(seed) + number)               uint64, wrapping
    u = (h >> 11) * 2**-53                    uniform in [0, 1)
    path = the pair's first path whose cumulative weight is above u

where ``mix`` is one step of SplitMix64, :func:`topoopt.base.kernel.arithmetic`.
"""

import itertools
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import numpy as np

from topoopt.base.arrays import Floats, Ints, Ints32
from topoopt.base.errors import NoRoute
from topoopt.base.kernel import mix
from topoopt.routing.coin_change import ranges
from topoopt.topologies import Topology, Trees, trees_to


@dataclass(frozen=True, slots=True)
class Path:
    """A node sequence with both ends, and the share of the pair's bytes that takes it."""

    nodes: tuple[int, ...]
    weight: float = 1.0

    @property
    def hops(self) -> int:
        """Number of links."""
        return len(self.nodes) - 1


class Routes(Protocol):
    """Weighted paths of each pair."""

    @property
    def method(self) -> str:
        """Name in the table of routing methods."""
        ...

    def paths(self, src: int, dst: int) -> tuple[Path, ...]:
        """Return the paths of an ordered pair of distinct servers; the weights sum to 1.

        Raises
        ------
        NoRoute
            If ``dst`` cannot be reached.
        """
        ...


_ALL_BITS = (1 << 64) - 1


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
    """Return the paths of many pairs, one by one where the routes have no faster method.

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
    """Refuse pairs without a route; all arrays have shape (pairs,).

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


def chosen_paths(pair_first: Ints, cumulative: Floats, pair: Ints, number: Ints, seed: int) -> Ints:
    """Return the index of the path that each connection takes, shape (connections,).

    Parameters
    ----------
    pair_first : int64 array, shape (pairs+1,)
        Paths of each pair, by rows.
    cumulative : float64 array, shape (paths,)
        See :func:`cumulative_weights`.
    pair, number : int64 arrays, shape (connections,)
        Row of its pair, which must have a path, and its own number.
    """
    u = connection_uniform(seed, number)
    low, high = pair_first[pair], pair_first[pair + 1] - 1
    while (low < high).any():
        middle = (low + high) // 2
        above = cumulative[middle] > u
        high = np.where(above, middle, high)
        low = np.where(above, low, np.minimum(middle + 1, high))
    return low


def connection_uniform(seed: int, number: Ints) -> Floats:
    """Return a number in [0, 1) for each connection number."""
    begin = mix(np.array([seed & _ALL_BITS], np.uint64))
    bits = mix(begin + np.asarray(number, np.int64).astype(np.uint64))
    return (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53


def cumulative_weights(pair_first: Ints, weight: Floats) -> Floats:
    """Return the running sum of the weights within each pair, added in order; the last of a pair is 1."""
    cumulative = weight.copy()
    size = np.diff(pair_first)
    for place in range(1, int(size.max(initial=0))):
        at = pair_first[:-1][size > place] + place
        cumulative[at] += cumulative[at - 1]
    cumulative[pair_first[1:][size > 0] - 1] = 1.0
    return cumulative
