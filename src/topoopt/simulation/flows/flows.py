"""Flows on links from communication tasks, shared by the analytic and the flow simulator."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from topoopt.base.arrays import Floats, Ints, Ints32, entries_between, entries_of, numbered, owners, pointer
from topoopt.collectives import occupancy_bytes, ring_edge_bytes
from topoopt.routing import Fabric, LinkRows, PairLinks, PathTable, chosen_paths, cumulative_weights, own_rows
from topoopt.simulation.flows.link_classes import (
    PairClasses,
    RingClass,
    drawn_ring,
    group_rings,
    pair_classes,
    ring_paths,
    row_sums,
    sum_by,
    whole_hops,
)
from topoopt.simulation.options import SimulationOptions
from topoopt.simulation.task_graph import ALL_TO_ALL, COLLECTIVE, COLLECTIVES, TRANSFER, TaskGraph
from topoopt.workloads import ring_rounds

PEER_PACKET_BYTES = 9000


@dataclass(frozen=True, eq=False)
class Flows:
    """Flows of every communication task; a task ends with its last flow. A class is a set of links.

    Attributes
    ----------
    task_flow : int64 array, shape (tasks+1,)
        Flows of task t are ``task_flow[t] : task_flow[t+1]``.
    flow_class : int64 array, shape (flows,)
    occupied_bytes : float64 array, shape (flows,)
        Bytes for which a link of coefficient 1 is held: whole packets.
    payload_bytes : float64 array, shape (flows,)
        Bytes of the task itself over each logical edge of the flow.
    before_s, after_s, weight : float64 arrays, shape (flows,)
    classes : LinkRows
        The links of each class, and coefficients as shares. Classes that are equal up to a rotation share a row;
        ``class_first``, ``class_link`` and ``class_coefficient`` have a row for each.
    class_kind : int32 array, shape (classes,)
        Row of ``class_edges``.
    class_edges : float64 array, shape (kinds, hops+1)
        Logical edges of a class by the number of links each takes: one for a pair, k for a ring of k.
    pair_hops : float64 array, shape (hops+1,)
        Ordered pairs with transfers by the number of links between them.
    """

    task_flow: Ints
    flow_class: Ints
    occupied_bytes: Floats
    payload_bytes: Floats
    before_s: Floats
    after_s: Floats
    weight: Floats
    classes: LinkRows
    class_kind: Ints32
    class_edges: Floats
    pair_hops: Floats

    def __len__(self) -> int:
        return len(self.flow_class)

    @property
    def class_first(self) -> Ints:
        """CSR pointer into ``class_link`` and ``class_coefficient``, shape (classes+1,)."""
        return self._laid_out.pair_first

    @property
    def class_link(self) -> Ints32:
        """Links of all classes, one class after the other."""
        return self._laid_out.link

    @property
    def class_coefficient(self) -> Floats:
        """Bytes on each of these links per byte of the class."""
        return self._laid_out.share

    @cached_property
    def _laid_out(self) -> PairLinks:
        return self.classes.laid_out()


class _Columns(NamedTuple):
    """Flows in any order, with the task that owns each."""

    task: Ints
    flow_class: Ints
    occupied_bytes: Floats
    payload_bytes: Floats
    before_s: Floats
    after_s: Floats
    weight: Floats


def make_flows(graph: TaskGraph, fabric: Fabric, options: SimulationOptions) -> Flows:
    """Return the flows of all communication tasks on a fabric.

    Raises
    ------
    NoRoute, InvalidInput
        If a pair cannot be reached or a ring uses a link that is not there.
    """
    task, src, dst, size = pair_demands(graph)
    key, pair = numbered(src * fabric.topology.servers + dst, fabric.topology.servers**2)
    del src, dst
    pairs = pair_classes(fabric, key, options.split)
    pair_flows = _drawn_flows if options.split == "one" else _pair_flows
    columns = pair_flows(pairs, task, pair, size, options.seed)._asdict()
    rings, ring_columns = _ring_flows(graph, fabric, options, len(pairs.part), len(task))
    return _assemble(len(graph), pairs, rings, columns, ring_columns)


def no_flows(tasks: int) -> Flows:
    """Return free communication: no task has flows."""
    none, nothing = np.zeros(0, np.int64), np.zeros(0)
    first, zero = np.zeros(tasks + 1, np.int64), np.zeros(1, np.int64)
    edges, rows = np.zeros((0, 1)), own_rows(PairLinks(zero, none.astype(np.int32), nothing), 1)
    return Flows(first, none, nothing, nothing, nothing, nothing, nothing, rows, rows.row, edges, np.zeros(1))


def pair_demands(graph: TaskGraph) -> tuple[Ints, Ints, Ints, Ints]:
    """Return task, src, dst and bytes of everything that goes from one server to another."""
    direct = np.flatnonzero((graph.kind == TRANSFER) & (graph.src != graph.dst) & (graph.size_bytes > 0))
    ends = (side[direct].astype(np.int64) for side in (graph.src, graph.dst))
    parts = (direct, *ends, graph.size_bytes[direct]), _exchanged(graph)
    task_ids, src, dst, size = (np.concatenate(column) for column in zip(*parts, strict=True))
    return task_ids, src, dst, size


def _exchanged(graph: TaskGraph) -> tuple[Ints, Ints, Ints, Ints]:
    """Return task, src, dst and bytes of every pair of members of all all-to-alls, task by task."""
    tasks = np.flatnonzero((graph.kind == COLLECTIVE) & (graph.collective == ALL_TO_ALL))
    first, count = graph.member_first[tasks], np.diff(graph.member_first)[tasks]
    share = graph.size_bytes[tasks] // np.maximum(count, 1)
    count = np.where(share > 0, count, 0)
    place, row = entries_between(np.zeros_like(count), count * count)
    most = int(count.max(initial=1))
    alike = bool(((count == most) | (count == 0)).all())
    width = most if alike else count[row]  # by one number it is divided in a fraction of the time
    sender = place // width
    receiver = place - sender * width
    src, dst = graph.member[first[row] + sender], graph.member[first[row] + receiver]
    away = src != dst
    return tasks[row][away], src[away], dst[away], share[row][away]


def _pair_flows(pairs: PairClasses, task: Ints, pair: Ints, size: Ints, seed: int) -> _Columns:
    """Return a flow for each class of its pair, each with its part of the bytes; nothing is drawn."""
    flow_class, row = entries_of(pairs.pair_first, pair)
    payload = size[row] * pairs.part[flow_class]
    return _Columns(
        task[row],
        flow_class,
        occupancy_bytes(np.rint(payload)).astype(np.float64),
        payload,
        pairs.before_s[flow_class],
        pairs.after_s[flow_class],
        pairs.part[flow_class],
    )


def _drawn_flows(pairs: PairClasses, task: Ints, pair: Ints, size: Ints, seed: int) -> _Columns:
    """Return one flow a transfer, on the path drawn for it; transfers are numbered in the order given."""
    number = np.arange(len(task))
    flow_class = chosen_paths(
        pairs.pair_first, cumulative_weights(pairs.pair_first, pairs.part), pair, number, seed
    )
    return _Columns(
        task,
        flow_class,
        occupancy_bytes(size).astype(np.float64),
        size.astype(np.float64),
        pairs.before_s[flow_class],
        pairs.after_s[flow_class],
        np.ones(len(task)),
    )


def _ring_flows(
    graph: TaskGraph, fabric: Fabric, options: SimulationOptions, first_class: int, first_number: int
) -> tuple[list[RingClass], _Columns]:
    """Return the classes of all rings in use, numbered from ``first_class``, and their flows.

    Where single paths are drawn, an edge of a ring without links of its own keeps one for a whole collective;
    edges count on from ``first_number``.
    """
    classes: list[RingClass] = []
    of_group: dict[tuple[int, ...], list[int]] = {}
    paths: dict[tuple[int, ...], tuple[PathTable, Floats]] = {}
    rows: list[tuple[float, ...]] = []
    for task in np.flatnonzero((graph.kind == COLLECTIVE) & (graph.collective != ALL_TO_ALL)).tolist():
        members, size = graph.members(task), int(graph.size_bytes[task])
        if len(members) < 2 or size == 0:
            continue
        new_rings: tuple[RingClass, ...] = ()
        if options.split == "one" and tuple(sorted(members)) not in fabric.rings:
            number = first_number + np.arange(len(members))
            if members not in paths:
                paths[members] = ring_paths(fabric, members)
            new_rings = (drawn_ring(fabric, paths[members], number, options.seed),)
            first_number += len(members)
        elif members not in of_group:
            new_rings = group_rings(fabric, members)
        if new_rings:
            of_group[members] = list(range(len(classes), len(classes) + len(new_rings)))
            classes += new_rings
        rings = of_group[members]
        rounds, chunk = ring_steps(int(graph.collective[task]), len(members), size, len(rings), options)
        payload = ring_edge_bytes(COLLECTIVES[graph.collective[task]], len(members), size, len(rings))
        if options.packet.compat != "none":
            payload = float(rounds * chunk)
        occupied = payload if options.ring_model == "bulk" else float(rounds * int(occupancy_bytes(chunk)))
        for ring in rings:
            edge = classes[ring].slowest_edge
            # gaps between rounds lie inside the collective and leave the links to others: they count after it
            after_s = rounds * edge.total_s - edge.before_s
            rows.append((task, first_class + ring, occupied, payload, edge.before_s, after_s, 1.0))
    columns = np.array(rows, np.float64).reshape(-1, 7).T
    return classes, _Columns(columns[0].astype(np.int64), columns[1].astype(np.int64), *columns[2:])


def _assemble(
    tasks: int, pairs: PairClasses, rings: list[RingClass], pair_flows: dict[str, Any], ring_flows: _Columns
) -> Flows:
    """Return all flows by task. Columns of pairs are taken out one by one: they are large."""
    owner = np.concatenate((pair_flows.pop("task"), ring_flows.task))
    in_order = bool((owner[1:] >= owner[:-1]).all())
    order = slice(None) if in_order else np.argsort(owner, kind="stable")
    task_flow = pointer(np.bincount(owner, minlength=tasks))
    del owner
    columns = {
        name: np.concatenate((pair_flows.pop(name), getattr(ring_flows, name)))[order]
        for name in _Columns._fields[1:]
    }
    kind, edges, pair_hops = _edge_tables(pairs, rings)
    return Flows(
        task_flow,
        **columns,
        classes=_with_rings(pairs.rows, rings),
        class_kind=kind,
        class_edges=edges,
        pair_hops=pair_hops,
    )


def _with_rings(pairs: LinkRows, rings: list[RingClass]) -> LinkRows:
    """Return the links of pairs, and behind them a row for each ring."""
    rows, code_of = pairs.rows, np.empty(len(pairs.link_of), np.int32)
    code_of[pairs.link_of] = np.arange(len(code_of))
    lengths = np.concatenate([np.diff(rows.pair_first), [len(ring.link) for ring in rings]])
    joined = PairLinks(
        pointer(lengths),
        np.concatenate([rows.link, *[code_of[ring.link] for ring in rings]]),
        np.concatenate([rows.share, *[ring.coefficient for ring in rings]]),
    )
    own = np.arange(len(rows), len(rows) + len(rings), dtype=np.int32)
    turn = np.zeros(len(rings), np.int32)
    return LinkRows(
        joined, np.concatenate([pairs.row, own]), np.concatenate([pairs.turn, turn]), pairs.link_of
    )


def _edge_tables(pairs: PairClasses, rings: list[RingClass]) -> tuple[Ints32, Floats, Floats]:
    """Return the kind of each class, pairs first, the logical edges of each kind by their links, and pairs by theirs.

    Pairs of whole hops are of one kind if they have as many; other rows of links, and rings, are kinds of their own.
    """
    rows = pairs.rows
    hops, share = whole_hops(row_sums(rows.rows.pair_first, rows.rows.share))
    count, of_pairs = len(rows.rows), int(hops[share > 0].max(initial=0)) + 1
    widths = [int(ring.edge_hops[ring.edge_share > 0].max(initial=0)) + 1 for ring in rings]
    whole = bool((share[:count] == 1).all())
    kinds = of_pairs if whole else count
    table = np.zeros((kinds + len(rings), max([of_pairs, *widths])))
    if whole:
        kind_of_row = hops[:count].astype(np.int32)
        table[np.arange(kinds), np.arange(kinds)] = 1.0
    else:
        kind_of_row, kept = np.arange(count, dtype=np.int32), np.flatnonzero(share > 0)
        table[kept % max(count, 1), hops[kept].astype(np.int64)] = share[kept]
    for row, ring in enumerate(rings, kinds):
        used = ring.edge_share > 0
        np.add.at(table[row], ring.edge_hops[used].astype(np.int64), ring.edge_share[used])
    of_pair = kind_of_row[rows.row]
    kind = np.concatenate([of_pair, np.arange(kinds, kinds + len(rings), dtype=np.int32)])
    return kind, table, sum_by(of_pair, pairs.part, kinds) @ table[:kinds]


def ring_steps(
    collective: int, members: int, size_bytes: int, rings: int, options: SimulationOptions
) -> tuple[int, int]:
    """Return the rounds of a ring, and the bytes that each member sends per round.

    Parameters
    ----------
    collective : int
        Index into :data:`topoopt.simulation.COLLECTIVES`.
    size_bytes : int
        Size of one member's buffer; ``rings`` equal rings share it.
    """
    kind = COLLECTIVES[collective]
    rounds = ring_rounds(kind, members)
    if options.ring_model == "bulk":
        return 1, rounds * size_bytes // (members * rings)
    if options.packet.compat == "flexnetpacket" and kind == "allreduce":
        return _peer_steps(members, size_bytes // rings)
    return rounds, size_bytes // (rings * members)


def _peer_steps(members: int, size_bytes: int) -> tuple[int, int]:
    """Return the same for FlexNetPacket, which cuts the AllReduce of a small tensor to one round."""
    size = max(size_bytes, members)
    rounds = ring_rounds("allreduce", members)
    if size < PEER_PACKET_BYTES * members:
        return 1, size * rounds // members // members
    if size * members <= PEER_PACKET_BYTES * members * rounds:
        return 1, size // members
    return rounds, size // members


ROUNDING = 1e-12
"""Relative distance below which the end of one transfer and the beginning of the next are one moment."""


def contends(graph: TaskGraph, flows: Flows, start_s: Floats, capacity: Floats) -> bool:
    """Return whether any link is part of two flows at the same time.

    Every flow holds all links of its paths from when it opens its connection until its last byte is in, for as
    long as it would take alone. Nothing contends exactly if no two of these stretches on one link overlap. Then
    no transfer ever waits or shares, not even the packet that opens a connection, and first come, first served,
    fair shares and packets give the same times.

    Parameters
    ----------
    start_s : float64 array, shape (tasks,)
        Times at which tasks were ready in a run of the analytic simulator. If transfers waited in it, they overlap
        here.
    capacity : float64 array, shape (links,)
        Bytes per second.
    """
    link, begin, end = _stretches(graph, flows, start_s, capacity)
    order = np.lexsort((begin, link))
    link, begin, end = link[order], begin[order], end[order]
    # sorted by begin, any overlap on a link shows between two neighbors
    overlap = (link[1:] == link[:-1]) & (begin[1:] < end[:-1] * (1 - ROUNDING))
    return bool(overlap.any())


def alone_s(flows: Flows, capacity: Floats) -> Floats:
    """Return the time of each flow's bytes on its slowest link without other traffic, shape (flows,)."""
    entry_s = flows.class_coefficient / capacity[flows.class_link]
    classes = len(flows.class_first) - 1
    slowest = np.zeros(classes)
    np.maximum.at(slowest, owners(flows.class_first), entry_s)
    return flows.occupied_bytes * slowest[flows.flow_class]


def _stretches(
    graph: TaskGraph, flows: Flows, start_s: Floats, capacity: Floats
) -> tuple[Ints, Floats, Floats]:
    task = owners(flows.task_flow)
    begin = start_s[task] + graph.duration_s[task]
    end = begin + flows.before_s + alone_s(flows, capacity) + flows.after_s
    entry, flow = entries_of(flows.class_first, flows.flow_class)
    return flows.class_link[entry].astype(np.int64), begin[flow], end[flow]
