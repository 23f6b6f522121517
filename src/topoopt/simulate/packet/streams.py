"""Communication tasks as streams: rounds of equal connections along the same edges.

A transfer is one round of one connection; an AllReduce over a ring of k members 2(k-1) rounds of k connections;
an all-to-all one round of k(k-1). A round begins when the one before is done.
"""

from dataclasses import dataclass

import numpy as np

from topoopt.collectives import packets
from topoopt.routing import Fabric
from topoopt.simulate.options import SimulationOptions
from topoopt.simulate.packet.edges import EdgeBook
from topoopt.simulate.ring_steps import ring_steps
from topoopt.simulate.task_graph import COLLECTIVE, COLLECTIVES, TRANSFER, Ints, TaskGraph

ALL_TO_ALL = COLLECTIVES.index("all-to-all")


@dataclass(frozen=True, eq=False)
class Streams:
    """Streams of all tasks, by rows.

    Attributes
    ----------
    task_first : int64 array, shape (tasks+1,)
        Streams of each task.
    task, rounds, size_bytes, edge_first, edges : int64 arrays, shape (streams,)
        Owner; rounds; bytes of each connection; edges of each round, in the book of edges.
    """

    task_first: Ints
    task: Ints
    rounds: Ints
    size_bytes: Ints
    edge_first: Ints
    edges: Ints

    @property
    def packets(self) -> Ints:
        """Return the packets of each connection, shape (streams,)."""
        return packets(self.size_bytes)

    @property
    def connections(self) -> int:
        """Connections of all rounds."""
        return int((self.rounds * self.edges).sum())


def make_streams(graph: TaskGraph, fabric: Fabric, options: SimulationOptions, book: EdgeBook) -> Streams:
    """Return the streams of a task graph; the edges that they use are entered into the book.

    Raises
    ------
    NoRoute, InvalidInput
        If a pair cannot be reached or a ring uses a link that is not there.
    """
    rows = [*_transfers(graph, options, book), *_all_to_alls(graph, book), *_rings(graph, options, book)]
    columns = np.array(rows, np.int64).reshape(-1, 5)
    columns = columns[np.argsort(columns[:, 0], kind="stable")]
    first = np.searchsorted(columns[:, 0], np.arange(len(graph) + 1)).astype(np.int64)
    return Streams(first, *(np.ascontiguousarray(columns[:, i]) for i in range(5)))


def _transfers(
    graph: TaskGraph, options: SimulationOptions, book: EdgeBook
) -> list[tuple[int, int, int, int, int]]:
    task = np.flatnonzero((graph.kind == TRANSFER) & (graph.src != graph.dst) & (graph.size_bytes > 0))
    src, dst, size = graph.src[task], graph.dst[task], graph.size_bytes[task]
    if options.packet.path_choice != "paths":
        first = book.enter_pairs(src, dst)
        return list(zip(*_lists(task, 1, size, first, 1), strict=True))
    edge, row, share = book.enter_each_path(src, dst)
    part = np.rint(size[row] * share).astype(np.int64)
    kept = part > 0
    return list(zip(*_lists(task[row][kept], 1, part[kept], edge[kept], 1), strict=True))


def _lists(task: Ints, rounds: int, size: Ints, first: Ints, edges: int) -> tuple[list[int], ...]:
    ones = np.ones(len(task), np.int64)
    return tuple(column.tolist() for column in (task, ones * rounds, size, first, ones * edges))


def _all_to_alls(graph: TaskGraph, book: EdgeBook) -> list[tuple[int, int, int, int, int]]:
    rows = []
    for task in np.flatnonzero((graph.kind == COLLECTIVE) & (graph.collective == ALL_TO_ALL)).tolist():
        members = np.array(graph.members(task), np.int64)
        share = int(graph.size_bytes[task]) // max(len(members), 1)
        if len(members) < 2 or share == 0:
            continue
        # member i sends to i+1 first, then to i+2, …: no two begin with the same receiver
        src = np.tile(members, len(members) - 1)
        dst = np.concatenate([np.roll(members, -step) for step in range(1, len(members))])
        first = int(book.enter_pairs(src, dst)[0])
        rows.append((task, 1, share, first, len(src)))
    return rows


def _rings(
    graph: TaskGraph, options: SimulationOptions, book: EdgeBook
) -> list[tuple[int, int, int, int, int]]:
    rows = []
    for task in np.flatnonzero((graph.kind == COLLECTIVE) & (graph.collective != ALL_TO_ALL)).tolist():
        members, size = graph.members(task), int(graph.size_bytes[task])
        if len(members) < 2 or size == 0:
            continue
        rings = book.ring_edges(members)
        for first in rings:
            rounds, chunk = ring_steps(int(graph.collective[task]), len(members), size, len(rings), options)
            rows.append((task, rounds, chunk, first, len(members)))
    return rows
