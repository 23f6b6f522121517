"""A row for every flow of a result, whichever simulator made it, in the form in which files want them."""

from collections.abc import Iterator
from dataclasses import fields
from typing import NamedTuple

import numpy as np

from topoopt.collectives import packets, ring_edge_bytes
from topoopt.routing import Fabric
from topoopt.simulate.auto_contention import alone_s
from topoopt.simulate.csr import owners
from topoopt.simulate.flow_table import FlowTable
from topoopt.simulate.flows import ALL_TO_ALL, make_flows
from topoopt.simulate.result import SimResult
from topoopt.simulate.task_graph import COLLECTIVE, COLLECTIVES, PHASES, TRANSFER, Floats, Ints, TaskGraph

PIECE = 100_000
"""Rows that are made at once."""


class FlowRow(NamedTuple):
    """One flow. ``None`` where the simulator does not know."""

    task: int
    operator: str
    phase: str
    src: int
    dst: int
    bytes: int
    start_s: float
    finish_s: float
    fct_s: float
    slowdown: float
    hops: int
    packets: int | None
    marks: int | None
    resent: int | None


def flow_table(result: SimResult, fabric: Fabric) -> FlowTable:
    """Return the flows of a result, in the order in which they ended.

    The packet simulator logs its connections. The others know when tasks begin and end: a transfer is one flow, a
    ring collective one a member, of all its rounds together, and an all-to-all one for each ordered pair.
    ``hops`` is 0 where the task's paths have no common length.
    """
    if result.flows is not None:
        return result.flows
    graph = result.graph
    task, src, dst, size = _edges(graph)
    begin = result.start_s + graph.duration_s
    order = np.argsort(result.finish_s[task], kind="stable")
    task = task[order]
    none = np.zeros(len(task), np.int64)
    alone, hops = _alone(result, fabric)
    return FlowTable(
        task=task,
        src=src[order],
        dst=dst[order],
        size_bytes=size[order],
        start_s=begin[task],
        finish_s=result.finish_s[task],
        hops=hops[task],
        packets=packets(size[order]),
        marks=none,
        resent=none,
        alone_s=alone[task],
    )


def flow_rows(result: SimResult, fabric: Fabric) -> Iterator[FlowRow]:
    """Yield the rows of :func:`flow_table` with names, made some at a time: there may be millions."""
    table = flow_table(result, fabric)
    for first in range(0, len(table), PIECE):
        yield from _named(result, _part(table, first, first + PIECE))


def _part(table: FlowTable, first: int, last: int) -> FlowTable:
    return FlowTable(*(getattr(table, item.name)[first:last] for item in fields(table)))


def _named(result: SimResult, table: FlowTable) -> Iterator[FlowRow]:
    graph, counted = result.graph, result.packet is not None
    names = (*graph.operator_names, "")
    nothing = [None] * len(table)
    columns = zip(
        table.task.tolist(),
        [names[operator] for operator in graph.operator[table.task].tolist()],  # -1 is the last, empty one
        [PHASES[phase] for phase in graph.phase[table.task].tolist()],
        table.src.tolist(),
        table.dst.tolist(),
        table.size_bytes.tolist(),
        table.start_s.tolist(),
        table.finish_s.tolist(),
        table.completion_s.tolist(),
        table.slowdown.tolist(),
        table.hops.tolist(),
        table.packets.tolist() if counted else nothing,
        table.marks.tolist() if counted else nothing,
        table.resent.tolist() if counted else nothing,
        strict=True,
    )
    return (FlowRow(*column) for column in columns)


def _edges(graph: TaskGraph) -> tuple[Ints, Ints, Ints, Ints]:
    """Return task, ends and bytes of each flow of a simulator that knows tasks only."""
    direct = np.flatnonzero((graph.kind == TRANSFER) & (graph.src != graph.dst) & (graph.size_bytes > 0))
    parts = [(direct, graph.src[direct], graph.dst[direct], graph.size_bytes[direct])]
    for task in np.flatnonzero((graph.kind == COLLECTIVE) & (graph.size_bytes > 0)).tolist():
        members, size = np.array(graph.members(task), np.int64), int(graph.size_bytes[task])
        count, kind = len(members), int(graph.collective[task])
        if count < 2:
            continue
        if kind == ALL_TO_ALL:
            src, dst = np.repeat(members, count), np.tile(members, count)
            away = src != dst
            src, dst, each = src[away], dst[away], size // count
        else:
            src, dst = members, np.roll(members, -1)
            each = round(ring_edge_bytes(COLLECTIVES[kind], count, size, 1))
        parts.append((np.full(len(src), task), src, dst, np.full(len(src), each)))
    return tuple(np.concatenate(column) for column in zip(*parts, strict=True))  # type: ignore[return-value]


def _alone(result: SimResult, fabric: Fabric) -> tuple[Floats, Ints]:
    """Return how long each task's flows take if nothing else moves, and their links if all have as many.

    On circuits that change nothing is known of either: alone is then as long as it took.
    """
    graph = result.graph
    if fabric.reconfiguration is not None:
        return result.finish_s - result.start_s - graph.duration_s, np.zeros(len(graph), np.int64)
    flows = make_flows(graph, fabric, result.options)
    task = owners(flows.task_flow)
    each = flows.before_s + alone_s(flows, fabric.topology.bandwidth_bps / 8.0) + flows.after_s
    alone = np.zeros(len(graph))
    np.maximum.at(alone, task, each)
    edges = flows.class_edges > 0
    hops = np.where(edges.sum(axis=1) == 1, edges.argmax(axis=1), 0)[flows.flow_class]
    least, most = np.full(len(graph), np.iinfo(np.int64).max), np.zeros(len(graph), np.int64)
    np.minimum.at(least, task, hops)
    np.maximum.at(most, task, hops)
    return alone, np.where(least == most, most, 0)
