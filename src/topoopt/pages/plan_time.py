"""The time of a plan's iteration as charts: where it goes, and what one server does when."""

import numpy as np

from topoopt.base.units import format_time
from topoopt.pages.chart import Bar, BarChart, Series, TimelineChart
from topoopt.pages.critical_path import WAITING, critical_path, time_by_phase
from topoopt.simulation import COLLECTIVE, COMPUTE, TRANSFER, SimResult, TimelineRow, timeline

PHASES = {
    "forward": ("forward computation", "compute"),
    "backward": ("backward computation", "compute"),
    "weights": ("gradients of weights", "compute"),
    "activation": ("activations sent", "transfers"),
    "gradient": ("gradients sent", "transfers"),
    "allreduce": ("AllReduce", "AllReduce"),
    "other": ("bytes sent", "transfers"),
    WAITING: ("waiting", ""),
}
"""What each phase of a task is called on the page, and in which lane of a timeline it is."""


def where_the_time_goes(result: SimResult) -> BarChart:
    """Return the critical path by phase, in milliseconds; the parts sum to the time of the last task."""
    parts = time_by_phase(critical_path(result))
    return BarChart(
        "critical_path",
        "Critical path of the iteration, by what it waits for",
        "",
        "time (ms)",
        tuple(
            Series(PHASES[phase][0], ("critical path",), (time_s * 1e3,)) for phase, time_s in parts.items()
        ),
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
    by_lane = {lane: [row for row in rows if PHASES[row.phase][1] == lane] for _, lane in PHASES.values()}
    used = {lane: those for lane, those in by_lane.items() if those}
    bars = [bar for index, those in enumerate(used.values()) for bar in _bars(those, index)]
    return TimelineChart(
        "timeline",
        f"One iteration of server {server}",
        "",
        tuple(used),
        tuple(bars),
        note="What is ready while another transfer of its lane is under way is drawn from the end of that one.",
    )


def _bars(rows: list[TimelineRow], lane: int) -> list[Bar]:
    bars: list[Bar] = []
    free_s = 0.0
    for row in sorted(rows, key=lambda row: row.finish_s):
        start_s = max(row.start_s, free_s)
        if row.finish_s <= start_s:
            continue
        free_s = row.finish_s
        label = (
            f"{row.operator} {row.phase}: {format_time(row.start_s)} to {format_time(row.finish_s)}"
            f" ({format_time(row.finish_s - row.start_s)})"
        )
        bars.append(Bar(lane, start_s, row.finish_s, PHASES[row.phase][0], label.strip()))
    return bars
