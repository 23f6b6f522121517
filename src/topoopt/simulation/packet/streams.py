"""Communication tasks as streams: rounds of equal connections along the same edges.

A transfer is one round of one connection; an AllReduce over a ring of k members 2(k-1) rounds of k connections;
an all-to-all one round of k(k-1). A round begins when the one before is done.
"""

from dataclasses import dataclass

import numpy as np

from topoopt.base.arrays import Ints
from topoopt.collectives import packets
from topoopt.routing import Fabric
from topoopt.simulation.options import SimulationOptions
from topoopt.simulation.packet.edges import EdgeBook
from topoopt.simulation.ring_steps import ring_steps
from topoopt.simulation.task_graph import ALL_TO_ALL, COLLECTIVE, TRANSFER, TaskGraph


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
    transfers = _transfers(graph, options, book)
    collectives = [*_all_to_alls(graph, book), *_rings(graph, options, book)]
    rows = np.concatenate([transfers, np.array(collectives, np.int64).reshape(-1, 5)])
    rows = rows[np.argsort(rows[:, 0], kind="stable")]
    first = np.searchsorted(rows[:, 0], np.arange(len(graph) + 1)).astype(np.int64)
    return Streams(first, *np.ascontiguousarray(rows.T))


def _transfers(graph: TaskGraph, options: SimulationOptions, book: EdgeBook) -> Ints:
    """Return task, rounds, bytes, first edge and edges of each stream, shape (streams, 5)."""
    task = np.flatnonzero((graph.kind == TRANSFER) & (graph.src != graph.dst) & (graph.size_bytes > 0))
    src, dst = (ends[task].astype(np.int64) for ends in (graph.src, graph.dst))
    size = graph.size_bytes[task]
    if options.packet.path_choice != "paths":
        edge = book.enter_pairs(src, dst)
    else:
        edge, row, share = book.enter_each_path(src, dst)
        part = np.rint(size[row] * share).astype(np.int64)
        task, size, edge = task[row][part > 0], part[part > 0], edge[part > 0]
    one = np.ones(len(task), np.int64)
    return np.stack([task, one, size, edge, one], axis=1)


def _all_to_alls(graph: TaskGraph, book: EdgeBook) -> list[tuple[int, ...]]:
    rows: list[tuple[int, ...]] = []
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


def _rings(graph: TaskGraph, options: SimulationOptions, book: EdgeBook) -> list[tuple[int, ...]]:
    rows: list[tuple[int, ...]] = []
    for task in np.flatnonzero((graph.kind == COLLECTIVE) & (graph.collective != ALL_TO_ALL)).tolist():
        members, size = graph.members(task), int(graph.size_bytes[task])
        if len(members) < 2 or size == 0:
            continue
        rings = book.ring_edges(members)
        for first in rings:
            rounds, chunk = ring_steps(int(graph.collective[task]), len(members), size, len(rings), options)
            rows.append((task, rounds, chunk, first, len(members)))
    return rows
