"""Communication tasks as streams: rounds of equal connections along the same edges.

A transfer is one round of one connection; an AllReduce over a ring of k members 2(k-1) rounds of k connections;
an all-to-all one round of k(k-1). A round begins when the one before is done.

The book of edges: every ordered pair and ring edge along which a task graph sends, with its paths.

A ring that the fabric lists keeps to the links of its walk. The connections of any other take the routes, where a
switch hashes each anew.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from topoopt.base.arrays import Floats, Ints, entries_of, owners
from topoopt.base.errors import Infeasible, InvalidInput
from topoopt.collectives import packets
from topoopt.routing import Fabric, PathTable, Reconfiguration, path_table
from topoopt.simulation.flows.flows import ring_steps
from topoopt.simulation.flows.link_classes import edge_starts, links_of_steps
from topoopt.simulation.options import SimulationOptions
from topoopt.simulation.task_graph import ALL_TO_ALL, COLLECTIVE, TRANSFER, TaskGraph
from topoopt.topologies import Ring


@dataclass(frozen=True, eq=False)
class Edges:
    """All edges, each pointing at the row of its paths.

    Attributes
    ----------
    row : int64 array, shape (edges,)
    src, dst : int64 arrays, shape (rows,)
    paths : PathTable
    """

    row: Ints
    src: Ints
    dst: Ints
    paths: PathTable


@dataclass(eq=False)
class EdgeBook:
    """Edges in the order in which they are entered; :meth:`close` gives their paths."""

    fabric: Fabric
    _src: list[Ints] = field(default_factory=list)
    _dst: list[Ints] = field(default_factory=list)
    _fixed: list[tuple[int, Ints]] = field(default_factory=list)
    _count: int = 0
    _rings: dict[tuple[int, ...], tuple[int, ...]] = field(default_factory=dict)

    def enter_pairs(self, src: Ints, dst: Ints) -> Ints:
        """Enter edges that take the fabric's routes; return their numbers, which are consecutive."""
        numbers = self._count + np.arange(len(src))
        self._src.append(np.asarray(src, np.int64))
        self._dst.append(np.asarray(dst, np.int64))
        self._count += len(src)
        return numbers

    def enter_each_path(self, src: Ints, dst: Ints) -> tuple[Ints, Ints, Floats]:
        """Enter every path of every pair as an edge; return their numbers, their pairs' rows and their shares."""
        key, pair = np.unique(src * self.fabric.topology.nodes + dst, return_inverse=True)
        first_src, first_dst = np.divmod(key, self.fabric.topology.nodes)
        table = path_table(self.fabric, first_src, first_dst)
        of_path = owners(table.pair_first)
        numbers = self.enter_pairs(first_src[of_path], first_dst[of_path])
        for number, first, last in zip(
            numbers.tolist(), table.path_first[:-1], table.path_first[1:], strict=True
        ):
            self._fixed.append((number, table.link[first:last].astype(np.int64)))
        path, row = entries_of(table.pair_first, pair)
        return numbers[path], row, table.weight[path]

    def ring_edges(self, members: tuple[int, ...]) -> tuple[int, ...]:
        """Return the first edge of each ring of a group; the others of a ring follow it.

        Raises
        ------
        InvalidInput
            If a ring steps where the fabric has no link.
        """
        if members not in self._rings:
            rings = self.fabric.rings.get(tuple(sorted(members))) or self._member_order(members)
            self._rings[members] = tuple(self._enter_ring(ring) for ring in rings)
        return self._rings[members]

    def _member_order(self, members: tuple[int, ...]) -> tuple[Ring, ...]:
        """Return the ring for a group that has none; on duplex circuits, made for it, a second one back."""
        ring = Ring(0, members, members)
        rule = self.fabric.reconfiguration
        if not isinstance(rule, Reconfiguration) or not rule.duplex or len(members) < 3:
            return (ring,)
        return ring, Ring(0, members[::-1], members[::-1])

    def _enter_ring(self, ring: Ring) -> int:
        src = np.array(ring.members, np.int64)
        numbers = self.enter_pairs(src, np.roll(src, -1))
        if ring in self.fabric.rings.get(tuple(sorted(ring.members)), ()):
            starts = edge_starts(ring)
            begin, end = ring.edges()
            link = links_of_steps(
                self.fabric, np.stack([begin, end], axis=1), f"the ring of {len(src)} servers"
            )
            for number, first, last in zip(numbers.tolist(), starts[:-1], starts[1:], strict=True):
                self._fixed.append((number, link[first:last]))
        return int(numbers[0])

    def ends(self) -> tuple[Ints, Ints]:
        """Return source and destination of every edge so far, each of shape (edges,)."""
        nothing = np.zeros(0, np.int64)
        return np.concatenate([nothing, *self._src]), np.concatenate([nothing, *self._dst])

    def close(self) -> Edges:
        """Return the edges with the paths of each, the equal ones once.

        Raises
        ------
        NoRoute
            If a pair cannot be reached.
        """
        src, dst = self.ends()
        routed: NDArray[np.bool_] = np.ones(self._count, np.bool_)
        routed[[number for number, _ in self._fixed]] = False
        key, inverse = np.unique((src * self.fabric.topology.nodes + dst)[routed], return_inverse=True)
        pair_src, pair_dst = np.divmod(key, self.fabric.topology.nodes)
        row = np.empty(self._count, np.int64)
        row[routed] = inverse
        own = np.array([number for number, _ in self._fixed], np.int64)
        row[own] = len(key) + np.arange(len(own))
        table = _extended(path_table(self.fabric, pair_src, pair_dst), [links for _, links in self._fixed])
        return Edges(row, np.concatenate([pair_src, src[own]]), np.concatenate([pair_dst, dst[own]]), table)


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
    transfers = np.stack([task, one, size, edge, one], axis=1)
    collectives = [*_all_to_alls(graph, book), *_rings(graph, options, book)]
    rows = np.concatenate([transfers, np.array(collectives, np.int64).reshape(-1, 5)])
    rows = rows[np.argsort(rows[:, 0], kind="stable")]
    first = np.searchsorted(rows[:, 0], np.arange(len(graph) + 1)).astype(np.int64)
    return Streams(first, *np.ascontiguousarray(rows.T))


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


def _extended(table: PathTable, fixed: list[Ints]) -> PathTable:
    """Return the table with a pair more for each list of links."""
    lengths = np.array([len(links) for links in fixed], np.int64)
    return PathTable(
        np.concatenate([table.pair_first, table.pair_first[-1] + 1 + np.arange(len(fixed))]),
        np.concatenate([table.weight, np.ones(len(fixed))]),
        np.concatenate([table.path_first, table.path_first[-1] + np.cumsum(lengths)]),
        np.concatenate([table.link, *fixed]).astype(np.int32),
    )


def check_paths(edges: Edges) -> None:
    """Refuse an edge from a server to itself, which would have no path."""
    empty = np.flatnonzero(np.diff(edges.paths.pair_first) == 0)
    if len(empty):
        raise InvalidInput(f"packet simulator: {edges.src[empty[0]]}->{edges.dst[empty[0]]} has no path")


def check_progress(fabric: Fabric, demand: Floats, now_s: float) -> None:
    """Refuse to wait for circuits that never come, or that live shorter than the clock resolves.

    Every change gives the pair of most demand a circuit or connects all servers, so that some bytes move in
    each live time; that such changes come, and that time passes, is all that an end takes.
    """
    rule = fabric.beat
    src, dst = np.unravel_index(int(demand.argmax()), demand.shape)
    if not np.isfinite(now_s):
        raise Infeasible(
            f"fabric {fabric.name}: {src}->{dst} waits for a circuit for ever, since none changes any more; "
            "let circuits change sooner or servers forward"
        )
    if not now_s + rule.period_s > now_s + rule.delay_s:
        raise Infeasible(
            f"fabric {fabric.name}: at {now_s:.3g} s circuits live for {rule.live_s:.3g} s, less than the clock "
            "can tell; let them live longer"
        )
