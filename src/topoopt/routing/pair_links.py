"""The links that the bytes of a pair cross, path by path or in shares, also where routes are turns of a few."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from topoopt.base.arrays import Floats, Ints, Ints32, numbered
from topoopt.base.errors import InvalidInput, NoRoute
from topoopt.routing.fabric import Fabric
from topoopt.routing.pair_links_kernel import fill_steps, merge_links, turn_links
from topoopt.routing.routes import PathArrays, Routes, path_arrays, paths_of_pair, paths_of_rows, used_paths
from topoopt.topologies import LinkOrbits, Topology, link_orbits, turn_of


@dataclass(frozen=True, slots=True)
class PairLinks:
    """Links of a list of ordered pairs, by rows.

    The links of pair ``k`` are ``link[pair_first[k] : pair_first[k+1]]``, each once. A pair of a server
    with itself has an empty row.

    Attributes
    ----------
    pair_first : int64 array, shape (pairs+1,)
    link : int32 array, shape (entries,)
        Index of the directed link in the topology.
    share : float64 array, shape (entries,)
        Fraction of the pair's bytes that crosses the link. The shares of a pair sum to its mean hops.
    """

    pair_first: Ints
    link: Ints32
    share: Floats

    def __len__(self) -> int:
        return len(self.pair_first) - 1

    def loads(self, pair_bytes: Floats, links: int) -> Floats:
        """Return the bytes on each of ``links`` links for the bytes of each pair, shape (pairs,)."""
        crossing = np.repeat(pair_bytes, np.diff(self.pair_first)) * self.share
        return np.asarray(np.bincount(self.link, crossing, minlength=links), np.float64)

    def mean_hops(self) -> Floats:
        """Return the mean links a byte of each pair crosses, shape (pairs,)."""
        rows = np.repeat(np.arange(len(self)), np.diff(self.pair_first))
        return np.asarray(np.bincount(rows, self.share, minlength=len(self)), np.float64)


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


@dataclass(frozen=True, slots=True)
class LinkRows:
    """Links of a list of ordered pairs, by a few rows that many pairs share up to a rotation.

    The links of pair k are ``link_of[(rows.link + turn[k]) % links]`` of the row ``row[k]``, with its shares.

    Attributes
    ----------
    rows : PairLinks
        Rows with codes in place of links.
    row, turn : int32 arrays, shape (pairs,)
        The row of each pair, and the offset of its codes by rotation.
    """

    rows: PairLinks
    row: Ints32
    turn: Ints32
    link_of: Ints32

    @property
    def is_laid_out(self) -> bool:
        """Whether every pair has the row of its number, and codes are links."""
        alone = len(self.row) == len(self.rows) and not self.turn.any()
        return alone and all((part == np.arange(len(part))).all() for part in (self.row, self.link_of))

    def laid_out(self) -> PairLinks:
        """Return the links pair by pair."""
        if self.is_laid_out:
            return self.rows
        size = np.diff(self.rows.pair_first)[self.row]
        first = np.concatenate(([0], np.cumsum(size)))
        link, share = np.empty(first[-1], np.int32), np.empty(first[-1])
        rows = self.rows
        turn_links(
            self.row, self.turn, rows.pair_first, rows.link, rows.share, self.link_of, first, link, share
        )
        return PairLinks(first, link, share)


@dataclass(frozen=True, eq=False)
class TurnedRoutes:
    """Routes from the first servers, rotated for all others: s → s + ``step``.

    All links that the turn leads to each other carry the same where the demand is the same after a turn. Memory is
    O(step · n) and not n².

    Attributes
    ----------
    routes : Routes
        Used only for pairs whose first server is one of the first ``step``.
    step : int

    Raises
    ------
    InvalidInput
        If the turn does not lead every link to a link like it.
    """

    topology: Topology
    routes: Routes
    step: int
    links_alike: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _ = self.orbits

    @property
    def method(self) -> str:
        """Name of the rotated routes."""
        return self.routes.method

    @cached_property
    def orbits(self) -> LinkOrbits:
        """The links by the effect of a rotation on them."""
        found = link_orbits(self.topology, self.step)
        if found is None:
            raise InvalidInput(
                f"routes: step {self.step}: the links of {self.topology.servers} servers are not the same again "
                f"so many servers further; they are after {turn_of(self.topology)}"
            )
        return found

    paths = paths_of_pair

    def path_arrays(self, src: Ints, dst: Ints) -> PathArrays:
        """Return the paths of many pairs."""
        known, row = self._first(src, dst)
        moved = paths_of_rows(path_arrays(self.routes, *known), row)
        size = np.diff(moved.node_first[moved.path_first])
        nodes = (moved.nodes + np.repeat(src - src % self.step, size)) % self.topology.servers
        return replace(moved, nodes=nodes.astype(np.int32))

    def link_rows(self, src: Ints, dst: Ints) -> LinkRows:
        """Return the links of many pairs."""
        (known, row), orbits = self._first(src, dst), self.orbits
        rows = links_of_paths(self.topology, path_arrays(self.routes, *known))
        return turned_rows(rows, row, src // self.step * orbits.orbits, orbits.link, orbits.code)

    def _first(self, src: Ints, dst: Ints) -> tuple[tuple[Ints, Ints], Ints]:
        """Return the different pairs from the first servers that these are turns of, and the place of each."""
        servers = self.topology.servers
        begin = src % self.step
        known, row = numbered(begin * servers + (dst - src + begin) % servers, self.step * servers)
        a, b = np.divmod(known, servers)
        return (a, b), row


def turned_routes(topology: Topology, routes: Routes) -> Routes:
    """Return the routes from the first servers, rotated for all others; unchanged where no rotation is known."""
    step = turn_of(topology)
    return routes if step == topology.servers else TurnedRoutes(topology, routes, step)


def links_of_paths(topology: Topology, paths: PathArrays) -> PairLinks:
    """Return the links of node paths, merging links shared by paths of a pair.

    Raises
    ------
    NoRoute
        If a path steps where the topology has no link.
    """
    pairs, steps = len(paths.path_first) - 1, len(paths.nodes) - len(paths.weight)
    first, link, share = np.zeros(pairs + 1, np.int64), np.empty(steps, np.int32), np.empty(steps)
    wrong = merge_links(
        topology.first_link, topology.dst, paths.path_first, paths.node_first, paths.nodes, paths.weight,
        first, link, share, np.zeros(len(topology)),
    )  # fmt: skip
    _require_link(paths, wrong)
    return PairLinks(first, link[: first[-1]], share[: first[-1]])


def joined_pairs(parts: list[PairLinks]) -> PairLinks:
    """Return the rows of several lists, one list after the other."""
    if len(parts) == 1:
        return parts[0]
    size = np.concatenate([np.diff(part.pair_first) for part in parts])
    link = np.concatenate([part.link for part in parts])
    return PairLinks(
        np.concatenate(([0], np.cumsum(size))), link, np.concatenate([part.share for part in parts])
    )


def steps_of_paths(topology: Topology, paths: PathArrays) -> tuple[Ints, Ints32]:
    """Return the start of each path's steps, shape (paths+1,), and the link of every step.

    Raises
    ------
    NoRoute
        If a path steps where the topology has no link.
    """
    link = np.empty(len(paths.nodes) - len(paths.weight), np.int32)
    _require_link(paths, fill_steps(topology.first_link, topology.dst, paths.node_first, paths.nodes, link))
    return paths.node_first - np.arange(len(paths.node_first)), link


def _require_link(paths: PathArrays, wrong: int) -> None:
    """Refuse the step at a node, where there is one."""
    if wrong >= 0:
        src, dst = paths.nodes[wrong : wrong + 2]
        raise NoRoute(f"routes: a path steps {src}->{dst}, where the topology has no link")


def merged_pair_links(pairs: int, links: int, pair: Ints, link: Ints, share: Floats) -> PairLinks:
    """Return rows from entries in any order, the entries of one pair and link summed.

    A path of weight zero carries nothing, so its links are left out.
    """
    used = share > 0
    pair, link, share = pair[used], link[used], share[used]
    keys, inverse = np.unique(pair * links + link, return_inverse=True)
    summed = np.asarray(np.bincount(inverse, share, minlength=len(keys)), np.float64)
    first = np.searchsorted(keys, np.arange(pairs + 1) * links)
    return PairLinks(first, (keys % max(links, 1)).astype(np.int32), summed)


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
    return PathTable(paths.path_first, paths.weight, *steps_of_paths(fabric.topology, paths))


def own_rows(pairs: PairLinks, links: int) -> LinkRows:
    """Return the links of pairs, with one row per pair."""
    count = len(pairs)
    return LinkRows(
        pairs, np.arange(count, dtype=np.int32), np.zeros(count, np.int32), np.arange(links, dtype=np.int32)
    )


def turned_rows(
    rows: PairLinks, row: Ints, turn: Ints, link_of: Ints32, code: Ints32 | None = None
) -> LinkRows:
    """Return the links of pairs that share rows; ``code`` maps links to the codes in the rows."""
    coded = rows if code is None else replace(rows, link=code[rows.link])
    return LinkRows(coded, row.astype(np.int32), turn.astype(np.int32), link_of)
