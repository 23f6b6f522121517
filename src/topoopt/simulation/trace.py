"""The timeline as Chrome trace events, which Perfetto and chrome://tracing open: lanes of bars for each server.

Every server is a process. Each accelerator is a lane (a thread, in the format's words); transfers that overlap lie
in as many network lanes as it takes, so that no two bars of a lane overlap.
"""

import heapq
from collections.abc import Iterator
from typing import Any

import numpy as np

from topoopt.base.arrays import Ints
from topoopt.simulation.result import SimResult
from topoopt.simulation.task_graph import COLLECTIVE, COLLECTIVES, COMPUTE, PHASES, TRANSFER, TaskGraph
from topoopt.simulation.timeline import places

NETWORK = 1000
"""Number of the first network lane of a server; accelerators have the numbers below."""

NS = 1e9
"""Bars begin and end at whole nanoseconds, the resolution of the viewers."""


def chrome_trace(result: SimResult, title: str = "topoopt") -> dict[str, Any]:
    """Return a document in the Trace Event Format, to be written as JSON.

    Bars are complete events (``ph`` X) with times in µs. A transfer is a bar of the server that sends, a
    collective one of every member; both begin when they are ready to use the network. What takes no time is left
    out.
    """
    events = [*_compute(result), *_network(result)]
    events.sort(key=lambda event: (event["pid"], event["tid"], event["ts"]))
    return {
        "traceEvents": [*_names(events), *events],
        "displayTimeUnit": "ms",
        "otherData": {"title": title, "simulator": result.simulator},
    }


def _names(events: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    lanes = sorted({(event["pid"], event["tid"]) for event in events})
    for server in sorted({pid for pid, _ in lanes}):
        yield _metadata("process_name", server, 0, name=f"server {server}")
        yield _metadata("process_sort_index", server, 0, sort_index=server)
    for server, lane in lanes:
        name = f"network {lane - NETWORK}" if lane >= NETWORK else f"accelerator {lane}"
        yield _metadata("thread_name", server, lane, name=name)
        yield _metadata("thread_sort_index", server, lane, sort_index=lane)


def _metadata(what: str, pid: int, tid: int, **values: object) -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": pid, "tid": tid, "args": values}


def _compute(result: SimResult) -> Iterator[dict[str, Any]]:
    graph = result.graph
    begin, end = _whole_ns(result)
    for task in np.flatnonzero((graph.kind == COMPUTE) & (end > begin)).tolist():
        server, lane = int(graph.server[task]), int(graph.accelerator[task])
        yield _bar(graph, task, server, lane, int(begin[task]), int(end[task]))


def _network(result: SimResult) -> Iterator[dict[str, Any]]:
    graph = result.graph
    begin, end = _whole_ns(result)
    several = (graph.kind == TRANSFER) & (graph.src != graph.dst) | (np.diff(graph.member_first) > 1)
    task, server = places(graph)
    shown = (several & (end > begin))[task]
    task, server = task[shown], server[shown]
    order = np.lexsort((task, begin[task], server))
    ends: list[tuple[int, int]] = []  # of the lanes in use: when the last bar ends, lane
    here, lanes = -1, 0
    for one, place in zip(task[order].tolist(), server[order].tolist(), strict=True):
        if place != here:
            here, ends, lanes = place, [], 0
        start, stop = int(begin[one]), int(end[one])
        if ends and ends[0][0] <= start:
            lane = heapq.heapreplace(ends, (stop, ends[0][1]))[1]
        else:
            lane, lanes = lanes, lanes + 1
            heapq.heappush(ends, (stop, lane))
        yield _bar(graph, one, place, NETWORK + lane, start, stop)


def _whole_ns(result: SimResult) -> tuple[Ints, Ints]:
    """Return when each task's bar begins and ends; of communication, after its delay."""
    graph = result.graph
    delay_s = np.where(graph.kind == COMPUTE, 0.0, graph.duration_s)
    begin = np.rint((result.start_s + delay_s) * NS).astype(np.int64)
    return begin, np.rint(result.finish_s * NS).astype(np.int64)


def _bar(graph: TaskGraph, task: int, server: int, lane: int, begin_ns: int, end_ns: int) -> dict[str, Any]:
    phase = PHASES[graph.phase[task]]
    operator = graph.operator[task]
    name = graph.operator_names[operator] if operator >= 0 else ""
    arguments: dict[str, object] = {"task": task, "iteration": int(graph.iteration[task])}
    kind = int(graph.kind[task])
    if kind != COMPUTE:
        arguments["bytes"] = int(graph.size_bytes[task])
    if kind == TRANSFER:
        arguments["to"] = int(graph.dst[task])
    if kind == COLLECTIVE:
        arguments["collective"] = COLLECTIVES[graph.collective[task]]
        arguments["members"] = int(graph.member_first[task + 1] - graph.member_first[task])
    return {
        "ph": "X",
        "name": f"{name} {phase}".strip(),
        "cat": phase,
        "pid": server,
        "tid": lane,
        "ts": begin_ns / 1e3,
        "dur": (end_ns - begin_ns) / 1e3,
        "args": arguments,
    }
