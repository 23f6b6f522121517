"""The noun Demands: what a strategy's task graph must move, each with the window in which it can."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.catalog import ClusterSpec
from topoopt.search.window_grid import WindowGrid, window_grid
from topoopt.search.windows import ALL_TO_ALL, PASSES, Windows
from topoopt.simulation import COLLECTIVE, COLLECTIVES, TaskGraph, pair_demands


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
