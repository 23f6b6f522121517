"""A row for every flow of a result, whichever simulator made it, in the form in which files want them."""

from collections.abc import Iterator
from dataclasses import fields
from typing import NamedTuple

import numpy as np

from topoopt.base.arrays import Floats, Ints, owners
from topoopt.collectives import packets, ring_edge_bytes
from topoopt.routing import Fabric
from topoopt.simulation.flows.flows import alone_s, make_flows, pair_demands
from topoopt.simulation.result import FlowTable, SimResult
from topoopt.simulation.task_graph import ALL_TO_ALL, COLLECTIVE, COLLECTIVES, PHASES, TaskGraph

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
    edges = _edges(graph)
    begin = result.start_s + graph.duration_s
    order = np.argsort(result.finish_s[edges[0]], kind="stable")
    task, src, dst, size = (column[order] for column in edges)
    none = np.zeros(len(task), np.int64)
    alone, hops = _alone(result, fabric)
    return FlowTable(
        task=task,
        src=src,
        dst=dst,
        size_bytes=size,
        start_s=begin[task],
        finish_s=result.finish_s[task],
        hops=hops[task],
        packets=packets(size),
        marks=none,
        resent=none,
        alone_s=alone[task],
    )


def flow_rows(result: SimResult, fabric: Fabric) -> Iterator[FlowRow]:
    """Yield the rows of :func:`flow_table` with names, made some at a time: there may be millions."""
    table = flow_table(result, fabric)
    for first in range(0, len(table), PIECE):
        parts = (getattr(table, item.name)[first : first + PIECE] for item in fields(table))
        yield from _named(result, FlowTable(*parts))


def _named(result: SimResult, table: FlowTable) -> Iterator[FlowRow]:
    graph, operators = result.graph, (*result.graph.operator_names, "")  # -1 is the last, empty one
    known = [table.task, table.src, table.dst, table.size_bytes, table.start_s, table.finish_s]
    known += [table.completion_s, table.slowdown, table.hops]
    task, *others = (column.tolist() for column in known)
    counts, nothing = (table.packets, table.marks, table.resent), [None] * len(table)
    counted = [nothing if result.packet is None else column.tolist() for column in counts]
    operator = (operators[one] for one in graph.operator[table.task].tolist())
    phase = (PHASES[one] for one in graph.phase[table.task].tolist())
    return map(FlowRow._make, zip(task, operator, phase, *others, *counted, strict=True))


def _edges(graph: TaskGraph) -> tuple[Ints, ...]:
    """Return task, ends and bytes of each flow of a simulator that knows tasks only, collectives after transfers."""
    parts: list[tuple[Ints, ...]] = [pair_demands(graph)]
    ring = (graph.kind == COLLECTIVE) & (graph.collective != ALL_TO_ALL) & (graph.size_bytes > 0)
    for task in np.flatnonzero(ring & (np.diff(graph.member_first) > 1)).tolist():
        src, size = np.array(graph.members(task), np.int64), int(graph.size_bytes[task])
        each = round(ring_edge_bytes(COLLECTIVES[graph.collective[task]], len(src), size, 1))
        parts.append((np.full(len(src), task), src, np.roll(src, -1), np.full(len(src), each)))
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    order = np.lexsort((columns[0], graph.kind[columns[0]]))
    return tuple(column[order] for column in columns)


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
    hops = np.where(edges.sum(axis=1) == 1, edges.argmax(axis=1), 0)[flows.class_kind][flows.flow_class]
    least, most = np.full(len(graph), np.iinfo(np.int64).max), np.zeros(len(graph), np.int64)
    np.minimum.at(least, task, hops)
    np.maximum.at(most, task, hops)
    return alone, np.where(least == most, most, 0)
