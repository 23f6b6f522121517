"""The time of a plan's iteration as charts: where it goes, and what one server does when."""

import numpy as np

from topoopt.report.chart import Bar, BarChart, Series, TimelineChart
from topoopt.report.critical_path import WAITING, critical_path, time_by_phase
from topoopt.simulate import COLLECTIVE, COMPUTE, TRANSFER, SimResult, TimelineRow, timeline
from topoopt.units import format_time

WORDS = {
    "forward": "forward computation",
    "backward": "backward computation",
    "activation": "activations sent",
    "gradient": "gradients sent",
    "allreduce": "AllReduce",
    "other": "bytes sent",
    WAITING: "waiting",
}
"""What each phase of a task is called on the page."""

LANES = {
    "forward": "compute",
    "backward": "compute",
    "activation": "transfers",
    "gradient": "transfers",
    "allreduce": "AllReduce",
    "other": "transfers",
}


def where_the_time_goes(result: SimResult) -> BarChart:
    """Return the critical path by phase, in milliseconds; the parts sum to the time of the last task."""
    parts = time_by_phase(critical_path(result))
    return BarChart(
        "critical_path",
        "Critical path of the iteration, by what it waits for",
        "",
        "time (ms)",
        tuple(Series(WORDS[phase], ("critical path",), (time_s * 1e3,)) for phase, time_s in parts.items()),
        stacked=True,
        horizontal=True,
        note="The chain of tasks that each waited for the one before; communication includes waiting for links.",
    )


def busiest_server(result: SimResult) -> int:
    """Return the server whose part of the iteration ends last, the first of several."""
    graph = result.graph
    task = int(np.argmax(result.finish_s))
    kind = int(graph.kind[task])
    if kind == COMPUTE:
        return int(graph.server[task])
    if kind == TRANSFER:
        return int(graph.src[task])
    assert kind == COLLECTIVE
    return min(graph.members(task))


def iteration_timeline(result: SimResult, server: int) -> TimelineChart:
    """Return what one server computes and sends, in seconds; no two bars of a lane overlap.

    Where several transfers are under way at once, a bar begins when the one before it has ended.
    """
    rows = timeline(result, server)
    used = [lane for lane in dict.fromkeys(LANES.values()) if any(LANES[row.phase] == lane for row in rows)]
    bars = [bar for index, lane in enumerate(used) for bar in _bars(rows, index, lane)]
    return TimelineChart(
        "timeline",
        f"One iteration of server {server}",
        "",
        tuple(used),
        tuple(bars),
        note="What is ready while another transfer of its lane is under way is drawn from the end of that one.",
    )


def _bars(rows: list[TimelineRow], index: int, lane: str) -> list[Bar]:
    bars: list[Bar] = []
    free_s = 0.0
    for row in sorted((row for row in rows if LANES[row.phase] == lane), key=lambda row: row.finish_s):
        start_s = max(row.start_s, free_s)
        if row.finish_s <= start_s:
            continue
        free_s = row.finish_s
        label = (
            f"{row.operator} {row.phase}: {format_time(row.start_s)} to {format_time(row.finish_s)}"
            f" ({format_time(row.finish_s - row.start_s)})"
        )
        bars.append(Bar(index, start_s, row.finish_s, WORDS[row.phase], label.strip()))
    return bars
