"""Observations of a simulation, whichever simulator ran it: counters of links over time, and a row per flow.

In the analytic simulator a link sends at full bandwidth while bytes wait for it. Links serve bytes in order,
independently. So the busy times of a link follow from the arrivals of bytes.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import NamedTuple, Protocol

import numpy as np

from topoopt.base.arrays import Floats, Ints, entries_of, owners
from topoopt.base.errors import InvalidInput
from topoopt.collectives import packets, ring_edge_bytes
from topoopt.routing import Fabric
from topoopt.simulation.flows.flows import Flows, alone_s, make_flows, pair_demands
from topoopt.simulation.flows.link_classes import sum_by
from topoopt.simulation.fluid.engine import before_flows
from topoopt.simulation.fluid.engine_kernel import advance, bytes_left
from topoopt.simulation.packet.kernel import layout
from topoopt.simulation.packet.link_rows import PS
from topoopt.simulation.packet.run import run_until
from topoopt.simulation.packet.simulator import before_packets
from topoopt.simulation.result import FlowTable, SimResult
from topoopt.simulation.task_graph import (
    ALL_TO_ALL,
    COLLECTIVE,
    COLLECTIVES,
    COMPUTE,
    PHASES,
    TaskGraph,
    renumbered,
    start_order,
)

PIECE = 100_000
"""Rows that are made at once."""


class FlowRow(NamedTuple):
    """One flow. ``None`` where the simulator does not record it."""

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


SAMPLES = 1000
"""Moments at equal distances at which counters are read."""


@dataclass(frozen=True, eq=False)
class LinkCounters:
    """Bytes of links by moments. Between two moments the rate is the mean.

    Attributes
    ----------
    link : int64 array, shape (links,)
        Numbers in the topology.
    times_s : float64 array, shape (samples,)
        Ascending; the first is 0, the last is when all is done.
    sent_bytes : float64 array, shape (samples, links)
        Since the beginning. The last row is the simulation's own count, ``SimResult.link_bytes``.
    """

    link: Ints
    times_s: Floats
    sent_bytes: Floats


def max_min_counters(result: SimResult, fabric: Fabric, links: Ints) -> LinkCounters:
    """Return the counters of some links; see :class:`topoopt.simulation.CounterReader`.

    Classes of flows send whole packets; their payload is counted, the same part of each byte of a class.
    """
    graph = result.graph
    flows = make_flows(graph, fabric, result.options)
    ends_s = result.finish_s[graph.kind != COMPUTE]
    times_s = reading_times(result, np.concatenate((begin_of_flows_s(result, flows), ends_s)))
    of_class, column, payload = _entries_on(flows, links, len(fabric.topology))
    sent = np.zeros((len(times_s), len(links)))
    for row, part in enumerate(_sent_parts(result, fabric, flows, times_s)):
        sent[row] = np.bincount(column, payload * part[of_class], minlength=len(links))
    return LinkCounters(links, times_s, sent)


def _entries_on(flows: Flows, links: Ints, count: int) -> tuple[Ints, Ints, Floats]:
    """Return class, place of the link among those wanted, and bytes of each class on a wanted link."""
    place = np.full(count, -1)
    place[links] = np.arange(len(links))
    kept = np.flatnonzero(place[flows.class_link] >= 0)
    of_class = owners(flows.class_first)[kept]
    payload = sum_by(flows.flow_class, flows.payload_bytes, len(flows.class_first) - 1)
    return of_class, place[flows.class_link[kept]], payload[of_class] * flows.class_coefficient[kept]


def _sent_parts(result: SimResult, fabric: Fabric, flows: Flows, times_s: Floats) -> Iterator[Floats]:
    """Yield the part of each class's bytes that is sent by each moment, shape (classes,)."""
    options = result.options
    capacity, slack = fabric.topology.bandwidth_bps / 8.0, options.share_tolerance or 0.0
    state, net, delays = before_flows(result.graph, flows, capacity, slack)
    whole = sum_by(flows.flow_class, flows.occupied_bytes / flows.weight, len(state.sharing.first))
    left, tolerance = np.zeros(len(whole)), options.tolerance or 0.0
    for time_s in times_s[:-1]:
        advance(state, net, delays, time_s, tolerance)
        bytes_left(state.sharing, left)
        yield np.minimum((state.rounds.entered - left) / np.where(whole > 0, whole, 1.0), 1.0)
    yield np.ones(len(whole))


def first_come_counters(result: SimResult, fabric: Fabric, links: Ints) -> LinkCounters:
    """Return the counters of some links; see :class:`topoopt.simulation.CounterReader`."""
    flows = make_flows(result.graph, fabric, result.options)
    begin_s = begin_of_flows_s(result, flows)
    wanted = np.full(len(fabric.topology), -1)
    wanted[links] = np.arange(len(links))
    entry, flow = entries_of(flows.class_first, flows.flow_class)
    column = wanted[flows.class_link[entry]]
    entry, flow, column = entry[column >= 0], flow[column >= 0], column[column >= 0]
    share = flows.class_coefficient[entry]
    seconds = flows.occupied_bytes[flow] * share * 8.0 / fabric.topology.bandwidth_bps[links[column]]
    payload = flows.payload_bytes[flow] * share
    curves = []
    for number in range(len(links)):
        own = np.flatnonzero(column == number)
        own = own[np.argsort(begin_s[flow[own]], kind="stable")]
        curves.append(_busy_curve(begin_s[flow[own]], seconds[own], payload[own]))
    times_s = reading_times(result, np.concatenate([curve[0] for curve in curves]))
    sent = [np.interp(times_s, *curve) for curve in curves]
    return LinkCounters(links, times_s, np.stack(sent, axis=1))


def _busy_curve(begin_s: Floats, seconds: Floats, payload: Floats) -> tuple[Floats, Floats]:
    """Return the corners of a link's cumulative curve, for bytes in this order with these durations."""
    if not len(begin_s):
        return np.zeros(1), np.zeros(1)
    served = np.cumsum(seconds)
    end_s = served + np.maximum.accumulate(begin_s - (served - seconds))
    sent = np.cumsum(payload)
    corners = np.stack((end_s - seconds, end_s), axis=1).ravel()
    return np.maximum.accumulate(corners), np.stack((sent - payload, sent), axis=1).ravel()


def packet_counters(result: SimResult, fabric: Fabric, links: Ints) -> LinkCounters:
    """Return the counters of some links, headers included; see :class:`topoopt.simulation.CounterReader`."""
    options = result.options
    graph = renumbered(result.graph, start_order(len(result.graph), options.seed))
    state, edges, _ = before_packets(graph, fabric, options)
    most_successors = int(np.diff(graph.successor_first).max(initial=0))
    times_s = reading_times(result, np.zeros(0))
    sent = np.zeros((len(times_s), len(links)))
    for row, time_s in enumerate(times_s):
        until_ps = round(time_s * PS) if row < len(times_s) - 1 else layout.NEVER
        state, _ = run_until(state, until_ps, edges, options.packet, most_successors)
        sent[row] = state.link[links, layout.Link.BYTES]
    return LinkCounters(links, times_s, sent)


class CounterReader(Protocol):
    """Reads link counters from the result of one simulator."""

    def __call__(self, result: SimResult, fabric: Fabric, links: Ints) -> LinkCounters:
        """Return the cumulative bytes of the given links over time.

        Parameters
        ----------
        result : SimResult
            Result of that simulator on this fabric.
        """
        ...


COUNTER_READERS: Mapping[str, CounterReader] = {
    "analytic": first_come_counters,
    "flow": max_min_counters,
    "packet": packet_counters,
}


def link_counters(result: SimResult, fabric: Fabric, links: Ints | None = None) -> LinkCounters:
    """Return the cumulative bytes of links over time in a simulation.

    Parameters
    ----------
    links : int64 array, optional
        Numbers in the topology; all where not given.

    Raises
    ------
    InvalidInput
        If the fabric's circuits change over time: none of its links is there for all of an iteration.
    """
    if fabric.reconfiguration is not None:
        raise InvalidInput(
            f"fabric {fabric.name}: its circuits change within an iteration, so no link has a profile; "
            "take a fabric whose links stay"
        )
    wanted = np.arange(len(fabric.topology)) if links is None else np.asarray(links, np.int64)
    return COUNTER_READERS[result.simulator](result, fabric, wanted)


def reading_times(result: SimResult, moments_s: Floats) -> Floats:
    """Return the sampling times of counters: evenly spaced, plus these moments where they are not too many."""
    end_s = float(result.finish_s.max(initial=0.0))
    regular = np.linspace(0.0, end_s, SAMPLES + 1)
    moments_s = np.unique(moments_s[(moments_s > 0) & (moments_s < end_s)])
    return regular if len(moments_s) > SAMPLES else np.unique(np.concatenate((regular, moments_s)))


def begin_of_flows_s(result: SimResult, flows: Flows) -> Floats:
    """Return the time at which the first byte of each flow is ready, shape (flows,), by the start of its task."""
    graph = result.graph
    delay_s = np.where(graph.kind == COMPUTE, 0.0, graph.duration_s)
    return np.repeat(result.start_s + delay_s, np.diff(flows.task_flow)) + flows.before_s


def flow_table(result: SimResult, fabric: Fabric) -> FlowTable:
    """Return the flows of a result, in the order in which they ended.

    The packet simulator logs its connections. The others record starts and ends of tasks: a transfer is one flow, a
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
    """Return task, ends and bytes of each flow of a simulator that records tasks only, collectives after transfers."""
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
    """Return the time of each task's flows without other traffic, and their links if all have equally many.

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
