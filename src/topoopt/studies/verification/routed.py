"""The noun Routed: the paths of all ordered pairs of servers, found once for all checks."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.base.errors import NoRoute
from topoopt.routing import EcmpRoutes, Path, PathArrays, Routes, path_arrays, used_paths
from topoopt.topologies import Topology, trees_to

MOST_PATHS = 3_000_000
"""Equally short paths of all pairs that are listed; of more they are drawn, and links know only by shares."""


@dataclass(frozen=True, eq=False)
class Routed:
    """The paths that carry something, of all ordered pairs of servers that have any; routes themselves, too.

    Attributes
    ----------
    method : str
        By which the routes were found.
    src, dst : int64 arrays, shape (pairs,)
        In this order.
    listed : PathArrays
    lost : tuple of (source, destination)
        Pairs without a route.
    drawn : str
        Why the paths are some of many; empty where they are all.
    """

    method: str
    src: Ints
    dst: Ints
    listed: PathArrays
    lost: tuple[tuple[int, int], ...] = ()
    drawn: str = ""

    def paths(self, src: int, dst: int) -> tuple[Path, ...]:
        """Return the paths of a pair; see :class:`topoopt.routing.Routes`."""
        pair = np.flatnonzero((self.src == src) & (self.dst == dst))
        if not len(pair):
            raise NoRoute(f"no route {src}->{dst}")
        first, last = self.listed.path_first[pair[0] : pair[0] + 2].tolist()
        return self.listed.listed()[first:last]

    def path_arrays(self, src: Ints, dst: Ints) -> PathArrays:
        """Return the paths of all pairs; others are not asked for."""
        assert np.array_equal(src, self.src)
        assert np.array_equal(dst, self.dst)
        return self.listed

    @cached_property
    def pair(self) -> Ints:
        """The pair that each path is of."""
        return np.repeat(np.arange(len(self.src)), np.diff(self.listed.path_first))

    @cached_property
    def steps(self) -> tuple[Ints, Ints, Ints]:
        """Every step of all paths: the path it is of, and the nodes before and after it."""
        paths = self.listed
        path = np.repeat(np.arange(len(paths.weight)), np.diff(paths.node_first))
        within = path[1:] == path[:-1]
        nodes = paths.nodes.astype(np.int64)
        return path[1:][within], nodes[:-1][within], nodes[1:][within]

    @property
    def weight(self) -> Floats:
        """Share of its pair that takes each path."""
        return self.listed.weight


def routed_pairs(topology: Topology, routes: Routes) -> Routed:
    """Return the paths of every ordered pair of servers."""
    src, dst = np.divmod(np.arange(topology.servers**2), topology.servers)
    apart = src != dst
    drawn = ""
    if isinstance(routes, EcmpRoutes):
        routes, drawn = _all_shortest(topology, routes)
    return _routed(routes, src[apart], dst[apart], drawn)


def _all_shortest(topology: Topology, routes: EcmpRoutes) -> tuple[EcmpRoutes, str]:
    """Return routes that list every shortest path, where they are not too many; else as they are, and why."""
    ways = trees_to(topology, np.arange(topology.servers)).ways[:, : topology.servers]
    most = int(min(ways.max(initial=0), 2.0**31))
    if float(ways.sum()) > MOST_PATHS:
        return routes, f"pairs have up to {most:,} shortest paths, and {routes.limit} of them are listed"
    return replace(routes, limit=max(most, 1)), ""


def _routed(routes: Routes, src: Ints, dst: Ints, drawn: str) -> Routed:
    try:
        return Routed(routes.method, src, dst, used_paths(path_arrays(routes, src, dst)), drawn=drawn)
    except NoRoute:
        pairs = list(zip(src.tolist(), dst.tolist(), strict=True))
        lost = tuple(pair for pair in pairs if not _has_route(routes, *pair))
        if not lost:
            raise
        gone = set(lost)
        kept = np.array([pair not in gone for pair in pairs])
        return replace(_routed(routes, src[kept], dst[kept], drawn), lost=lost)


def _has_route(routes: Routes, src: int, dst: int) -> bool:
    try:
        return bool(routes.paths(src, dst))
    except NoRoute:
        return False
