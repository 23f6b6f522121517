"""The noun Demands: what a strategy's task graph must move, each with the window in which it can.

The noun WindowGrid: bytes sorted by when they can leave and by what must follow them, and the bound of such sets.

Whatever is released at a or later and has b or more after it moves between a and the end less b. So an iteration takes
at least a + bytes ÷ bandwidth + b, for all a and b (the bound of one machine with heads and tails, Carlier 1982).
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from topoopt.base.arrays import Floats, Ints
from topoopt.catalog import ClusterSpec
from topoopt.search.bounds.transfer_windows import ALL_TO_ALL, PASSES, Windows
from topoopt.simulation import COLLECTIVE, COLLECTIVES, TaskGraph, pair_demands

HEADS, TAILS = 32, 16
"""Moments, and times after, at which sets are tried: any subset of them gives a valid bound."""
FINE = 512
"""Moments where what follows is not told apart."""


@dataclass(frozen=True, eq=False)
class WindowGrid:
    """Moments a and times b, in rising order, that cut all windows into cells.

    Attributes
    ----------
    head_s, tail_s : float64 arrays, shapes (heads,), (tails,)
    latency_s : float
        What the last byte of a set takes after it has left.
    last_s : float64 array, shape (heads,)
        The last moment that counts as each of the heads.
    """

    head_s: Floats
    tail_s: Floats
    latency_s: float
    last_s: Floats

    @property
    def cells(self) -> int:
        """How many sets there are."""
        return len(self.head_s) * len(self.tail_s)

    def cell(self, release_s: Floats, tail_s: Floats) -> Ints:
        """Return the cell of each window, earlier and with less after it than it says."""
        head = np.searchsorted(self.head_s, release_s, side="right") - 1
        tail = np.searchsorted(self.tail_s, tail_s, side="right") - 1
        return head * len(self.tail_s) + tail

    def summed(self, cell: Ints, size_bytes: Floats) -> Floats:
        """Return the bytes of each cell, shape (cells,)."""
        total: Floats = np.bincount(cell, size_bytes, minlength=self.cells).astype(np.float64, copy=False)
        return total

    def sets(self, by_cell: Floats) -> Floats:
        """Return the sums over each set: a cell with all that are released later and have more after them.

        The last axis of ``by_cell`` has the cells, and that of the answer the sets.
        """
        table = by_cell.reshape(*by_cell.shape[:-1], len(self.head_s), len(self.tail_s))
        later = np.cumsum(table[..., ::-1, ::-1], axis=-2).cumsum(axis=-1)[..., ::-1, ::-1]
        return later.reshape(by_cell.shape)

    def within(self, cell: Ints, of_set: int) -> NDArray[np.bool_]:
        """Return which of the cells belong to a set."""
        head, tail = np.divmod(of_set, len(self.tail_s))
        at_head, at_tail = np.divmod(cell, len(self.tail_s))
        inside: NDArray[np.bool_] = (at_head >= head) & (at_tail >= tail)
        return inside

    def reaching(self, release_s: Floats, tail_s: Floats) -> "WindowGrid":
        """Return the grid whose first cell begins early enough for these windows, too; all cells keep their numbers."""
        head_s, tails_s = self.head_s.copy(), self.tail_s.copy()
        head_s[0] = min(head_s[0], float(release_s.min(initial=np.inf)))
        tails_s[0] = min(tails_s[0], float(tail_s.min(initial=np.inf)))
        return replace(self, head_s=head_s, tail_s=tails_s)

    @property
    def undercut_by_none(self) -> "WindowGrid":
        """The grid that gives, in place of bounds, what no bound of any set of these bytes is above.

        A set of what is released at a or later is within that of the head before a, and a is not after its last. What
        follows must be told apart for that, or not at all.
        """
        return replace(self, head_s=self.last_s)

    @property
    def around_s(self) -> Floats:
        """Seconds before and after each set, shape (sets,)."""
        around: Floats = (self.head_s[:, None] + self.tail_s).ravel() + self.latency_s
        return around

    def times_s(self, busy_s: Floats) -> Floats:
        """Return the bound of each set that needs so many seconds of something; 0 of those without bytes."""
        bounds_s: Floats = np.where(busy_s > 0, busy_s + self.around_s, 0.0)
        return bounds_s


@dataclass(frozen=True, eq=False)
class Demands:
    """Transfers between pairs of servers, and collectives that may go by any algorithm; all in cells of a grid.

    Attributes
    ----------
    src, dst, size_bytes, cell
        Of transfers, shape (transfers,).
    member_first, member, total_bytes, out_bytes, in_bytes, collective_cell
        Of collectives: members as CSR; what all of them together send at least, and each of them sends and hears.
    """

    grid: WindowGrid
    src: Ints
    dst: Ints
    size_bytes: Floats
    cell: Ints
    member_first: Ints
    member: Ints
    total_bytes: Floats
    out_bytes: Floats
    in_bytes: Floats
    collective_cell: Ints

    @cached_property
    def collective_sets(self) -> Floats:
        """Bytes of the collectives of each set, shape (sets,)."""
        return self.grid.sets(self.grid.summed(self.collective_cell, self.total_bytes))

    @cached_property
    def group(self) -> Ints:
        """Number of each collective's group: of equal members, shape (collectives,)."""
        if not len(self.total_bytes):
            return np.zeros(0, np.int64)
        drawn = np.random.default_rng(0).integers(0, 2**63, int(self.member.max()) + 1, np.uint64)
        return np.unique(np.add.reduceat(drawn[self.member], self.member_first[:-1]), return_inverse=True)[1]


def demands(graph: TaskGraph, cluster: ClusterSpec, found: Windows, fine: bool = False) -> Demands:
    """Return the demands of a task graph whose windows on the cluster are known; see ``window_grid``."""
    task, src, dst, size = pair_demands(graph)
    count = np.diff(graph.member_first)
    rings = (
        (graph.kind == COLLECTIVE) & (graph.collective != ALL_TO_ALL) & (count > 1) & (graph.size_bytes > 0)
    )
    collectives, members = np.flatnonzero(rings), count[rings]
    kind, buffer = graph.collective[collectives], graph.size_bytes[collectives].astype(np.float64)
    total = PASSES[kind] * (members - 1) * buffer
    out, heard = _of_member(kind, members, buffer)
    sizes = size.astype(np.float64)
    owner = np.concatenate([task, collectives])
    release_s, tail_s = found.release_s[owner], found.tail_s[owner]
    grid = window_grid(release_s, tail_s, np.concatenate([sizes, total]), cluster.link_latency_s, fine)
    cell = grid.cell(release_s, tail_s)
    return Demands(
        grid,
        src,
        dst,
        sizes,
        cell[: len(task)],
        np.concatenate(([0], np.cumsum(members))),
        graph.member[np.repeat(rings, count)],
        total,
        out,
        heard,
        cell[len(task) :],
    )


def _of_member(kind: Ints, members: Ints, buffer: Floats) -> tuple[Floats, Floats]:
    """Return what each member sends and hears at least.

    In an AllReduce what it has must reach the others, and theirs must reach it: the buffer once. In a reduce-scatter
    what it has for the g-1 others leaves it, and its own part comes in added up; an all-gather is the reverse.
    """
    part = buffer / members
    scatter = np.where(kind == COLLECTIVES.index("reduce-scatter"), buffer - part, part)
    gather = np.where(kind == COLLECTIVES.index("reduce-scatter"), part, buffer - part)
    both = kind == COLLECTIVES.index("allreduce")
    return np.where(both, buffer, scatter), np.where(both, buffer, gather)


def window_grid(
    release_s: Floats, tail_s: Floats, size_bytes: Floats, latency_s: float, fine: bool = False
) -> WindowGrid:
    """Return a grid of the windows of some bytes; a fine one has many moments, and the least of what follows."""
    heads, tails = (FINE, 1) if fine else (HEADS, TAILS)
    head_s = _moments(release_s, size_bytes, heads)
    sorted_s = np.append(np.sort(release_s), np.inf)
    last_s = sorted_s[np.maximum(np.searchsorted(sorted_s, np.append(head_s[1:], np.inf)) - 1, 0)]
    last_s = np.where(np.isfinite(last_s), last_s, head_s)
    return WindowGrid(head_s, _moments(tail_s, size_bytes, tails), latency_s, last_s)


def _moments(values: Floats, weights: Floats, most: int) -> Floats:
    """Return the distinct values, or of many the least and some between which there are about as many bytes each."""
    distinct, place = np.unique(values, return_inverse=True)
    if len(distinct) <= most:
        return distinct if len(distinct) else np.zeros(1)
    total = np.cumsum(np.bincount(place, weights))
    chosen = np.searchsorted(total, np.linspace(0.0, total[-1], most, endpoint=False), side="right")
    kept: Floats = distinct[np.unique(np.concatenate(([0], np.minimum(chosen, len(distinct) - 1))))]
    return kept
