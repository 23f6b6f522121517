"""Sets of links that communication uses: of pairs along routes, and of groups along rings.

A *class* is a set of links, each with a coefficient (bytes on the link per byte sent). All transfers of a
pair, and all AllReduces of a ring, share a class; they differ in bytes only.
"""

import weakref
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from topoopt.base.arrays import Floats, Ints, Ints32, entries_of, pointer
from topoopt.base.errors import InvalidInput
from topoopt.collectives import PathOverhead, path_overheads
from topoopt.routing import (
    Fabric,
    LinkRows,
    PairLinks,
    PathTable,
    Routes,
    chosen_paths,
    cumulative_weights,
    link_rows,
    own_rows,
    pair_links,
    path_table,
)
from topoopt.simulation.flows.link_classes_kernel import add_rows
from topoopt.topologies import Ring, Topology

_ENTRIES_AT_ONCE = 1 << 20
LaidRows = tuple[Ints, Ints, Floats, Floats, Floats]
"""CSR pointer; links, and the share of the bytes on each; overheads before and after of each row, in seconds."""


@dataclass(frozen=True, eq=False)
class PairClasses:
    """One class per ordered pair (``spread``) or per path of a pair (``paths``, ``one``).

    Attributes
    ----------
    part : float64 array, shape (classes,)
        Share of the pair's bytes; 1 where a pair has one class.
    rows : LinkRows
        Links of each class, and coefficients as shares; classes that are equal up to a rotation share a row.
    before_s, after_s : float64 arrays, shape (classes,)
        Fixed overhead of the transfer law.
    """

    pair_first: Ints
    part: Floats
    rows: LinkRows
    before_s: Floats
    after_s: Floats


@dataclass(frozen=True, eq=False)
class RingClass:
    """The links of one ring, how often it crosses each, and its slowest logical edge.

    ``edge_hops`` and ``edge_share`` say how many links each logical edge takes (several rows of an edge
    where routes spread it); the shares of an edge sum to 1.
    """

    link: Ints
    coefficient: Floats
    slowest_edge: PathOverhead
    edge_hops: Floats
    edge_share: Floats


def pair_classes(fabric: Fabric, key: Ints, split: str) -> PairClasses:
    """Return the classes of the given ordered pairs, each ``src * servers + dst``.

    Raises
    ------
    NoRoute
        If a pair cannot be reached.
    """
    for row in tuple(_KEPT):
        if row.fits(fabric, key, split):
            return row.classes
    src, dst = np.divmod(key, fabric.topology.servers)
    if split == "spread":
        found = link_rows(fabric.topology, fabric.routes, src, dst)
        pair_first, part = np.arange(len(key) + 1), np.ones(len(key))
    else:
        table = path_table(fabric, src, dst)
        links = PairLinks(table.path_first, table.link, np.ones(len(table.link)))
        found = own_rows(links, len(fabric.topology))
        pair_first, part = table.pair_first, table.weight
    rows = found.rows
    each = _overheads(fabric, rows.pair_first, found.link_of[rows.link], rows.share)
    classes = PairClasses(pair_first, part, found, *(seconds[found.row] for seconds in each))
    _keep(_KeptClasses(weakref.ref(fabric.topology), weakref.ref(fabric.routes), key, split, classes))
    return classes


@dataclass(frozen=True, eq=False, slots=True)
class _KeptClasses:
    """Classes, and weak references to their sources."""

    topology: weakref.ref[Topology]
    routes: weakref.ref[Routes]
    key: Ints
    split: str
    classes: PairClasses

    def fits(self, fabric: Fabric, key: Ints, split: str) -> bool:
        same = self.topology() is fabric.topology and self.routes() is fabric.routes
        return same and self.split == split and np.array_equal(self.key, key)


_KEPT: list[_KeptClasses] = []
"""The newest first: a strategy is simulated on a fabric with buckets of several sizes, or other micro-batches."""

_MOST_KEPT, _MOST_ENTRIES_KEPT = 8, 30_000_000
"""Classes that are kept, and entries of links of all of them: 16 bytes each."""
_AS_ENTRIES = 3
"""Entries that take as much memory as the other data of a pair."""


def _keep(row: _KeptClasses) -> None:
    """Move a row to the front, and drop surplus rows; the list is replaced at once, for threads read it."""
    rows, entries = list[_KeptClasses](), 0
    for other in (row, *_KEPT):
        entries += len(other.classes.rows.rows.link) + _AS_ENTRIES * len(other.key)
        gone = other.topology() is None or other.routes() is None
        if not gone and entries <= _MOST_ENTRIES_KEPT and len(rows) < _MOST_KEPT:
            rows.append(other)
    _KEPT[:] = rows


def laid(fabric: Fabric, first: Ints, link: NDArray[np.integer], share: Floats) -> LaidRows:
    """Return rows of links, each with its share of the bytes, as 64-bit numbers with the overheads of each row."""
    return first.astype(np.int64), link.astype(np.int64), share, *_overheads(fabric, first, link, share)


def _overheads(
    fabric: Fabric, first: Ints, link: NDArray[np.integer], share: Floats
) -> tuple[Floats, Floats]:
    """Return the overheads of the transfer law before and after the bytes of each row, in blocks of rows."""
    topology, rows = fabric.topology, len(first) - 1
    before_s, after_s = np.empty(rows), np.empty(rows)
    begin = 0
    while begin < rows:
        end = max(begin + 1, int(np.searchsorted(first, first[begin] + _ENTRIES_AT_ONCE, "right")) - 1)
        entries = slice(first[begin], first[end])
        of = topology.bandwidth_bps[link[entries]], topology.latency_s[link[entries]], share[entries]
        before_s[begin:end], after_s[begin:end] = path_overheads(*of, first[begin : end + 1] - first[begin])
        begin = end
    return before_s, after_s


def group_rings(fabric: Fabric, members: tuple[int, ...]) -> tuple[RingClass, ...]:
    """Return the rings of a group: the fabric's, or one in the order of ``members`` along the routes."""
    rings = fabric.rings.get(tuple(sorted(members)))
    if rings:
        return tuple(_walked_ring(fabric, ring) for ring in rings)
    src = np.asarray(members, np.int64)
    pairs = pair_links(fabric.topology, fabric.routes, src, np.roll(src, -1))
    _, link, share, before_s, after_s = laid(fabric, pairs.pair_first, pairs.link, pairs.share)
    coefficient = sum_by(link, share, len(fabric.topology))
    used = np.flatnonzero(coefficient)
    hops, share = whole_hops(pairs.mean_hops())
    routed_ring = RingClass(used, coefficient[used], _slowest(before_s, after_s), hops, share)
    return (routed_ring,)


def _walked_ring(fabric: Fabric, ring: Ring) -> RingClass:
    src, dst = ring.edges()
    link = links_of_steps(fabric, np.stack([src, dst], axis=1), f"the ring of {len(ring.members)} servers")
    return _ring_over(fabric, link, edge_starts(ring))


def ring_paths(fabric: Fabric, members: tuple[int, ...]) -> tuple[PathTable, Floats]:
    """Return the paths of each edge of a ring in the order of ``members``, and their cumulative weights."""
    src = np.asarray(members, np.int64)
    table = path_table(fabric, src, np.roll(src, -1))
    return table, cumulative_weights(table.pair_first, table.weight)


def drawn_ring(fabric: Fabric, paths: tuple[PathTable, Floats], number: Ints, seed: int) -> RingClass:
    """Return a ring, each edge along one of its paths (:func:`ring_paths`) drawn for its connection number."""
    table, cumulative = paths
    path = chosen_paths(table.pair_first, cumulative, np.arange(len(table)), number, seed)
    entry, _ = entries_of(table.path_first, path)
    return _ring_over(fabric, table.link[entry].astype(np.int64), pointer(np.diff(table.path_first)[path]))


def _ring_over(fabric: Fabric, link: Ints, first: Ints) -> RingClass:
    """Return a ring whose edge e crosses ``link[first[e] : first[e+1]]``."""
    *_, before_s, after_s = laid(fabric, first, link, np.ones(len(link)))
    used, count = np.unique(link, return_counts=True)
    hops = np.diff(first).astype(np.float64)
    return RingClass(used, count.astype(np.float64), _slowest(before_s, after_s), hops, np.ones(len(hops)))


def edge_starts(ring: Ring) -> Ints:
    """Return the start of each logical edge in the walk, and the walk's length."""
    starts, member = [], 0
    for place, node in enumerate(ring.walk):
        if member < len(ring.members) and node == ring.members[member]:
            starts.append(place)
            member += 1
    if member < len(ring.members) or starts[0] != 0:
        raise InvalidInput(f"ring: the walk does not visit member {ring.members[member % len(ring.members)]}")
    return np.array([*starts, len(ring.walk)], np.int64)


def sum_by(index: Ints | Ints32, values: Floats, size: int) -> Floats:
    """Return the sum of the values of each index, shape (size,)."""
    total: Floats = np.bincount(index, values, minlength=size).astype(np.float64, copy=False)
    return total


def row_sums(first: Ints, values: Floats) -> Floats:
    """Return the sum of each row of values, added in order."""
    total = np.empty(len(first) - 1)
    add_rows(first, values, total)
    return total


def whole_hops(mean_hops: Floats) -> tuple[Floats, Floats]:
    """Return mean hops as shares of the whole numbers below and above, two rows for each mean."""
    rounded = np.where(np.abs(mean_hops - np.rint(mean_hops)) < 1e-9, np.rint(mean_hops), mean_hops)
    low = np.floor(rounded)
    above = rounded - low
    return np.concatenate([low, low + 1]), np.concatenate([1 - above, above])


def _slowest(before_s: Floats, after_s: Floats) -> PathOverhead:
    edge = int(np.argmax(before_s + after_s))
    return PathOverhead(float(before_s[edge]), float(after_s[edge]))


def links_of_steps(fabric: Fabric, steps: Ints, what: str) -> Ints:
    """Return the link of each step, rows of two nodes; an error about a missing one names ``what``."""
    link = fabric.topology.link_ids(steps[:, 0], steps[:, 1])
    if (link < 0).any():
        src, dst = steps[np.flatnonzero(link < 0)[0]]
        raise InvalidInput(f"fabric {fabric.name}: {what} steps {src}->{dst}, where there is no link")
    return link
