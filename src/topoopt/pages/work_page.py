"""What the page of a plan says of one kind of work, and of that only."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from topoopt.base.units import format_bandwidth, format_time
from topoopt.catalog import ClusterSpec
from topoopt.pages.chart import Bar, BarChart, Series, TimelineChart
from topoopt.pages.number_format import counted
from topoopt.pages.page import Block, Section, Tile
from topoopt.pages.tables import Entries
from topoopt.pages.timelines import WAITING, critical_path, time_by_phase
from topoopt.plans import Plan
from topoopt.simulation import COLLECTIVE, COMPUTE, TRANSFER, SimResult, TimelineRow, timeline
from topoopt.workloads import ParallelStrategy

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


def compute_fact(plan: Plan) -> Entries:
    """Return the time of an iteration with free communication, all of it computation."""
    return {"compute": format_time(plan.outcome.compute_time_s)}


def _nothing(plan: Plan) -> tuple[()]:
    return ()


def _no_entries(plan: Plan) -> Entries:
    return {}


def _no_waits(plan: Plan, strategy: ParallelStrategy) -> Mapping[str, float]:
    return {}


def _busiest_timeline(plan: Plan, result: SimResult) -> TimelineChart:
    return iteration_timeline(result, busiest_server(result))


@dataclass(frozen=True, slots=True)
class WorkPage:
    """The parts of a page that differ between kinds of work.

    Attributes
    ----------
    job : function
        What is trained, on what cluster, and what its times rest on.
    search : function
        How the search went.
    made_by : function
        What is needed to make the plan again.
    sections : function
        How the work is split.
    details : function
        What a browser has room for in the section of the strategy.
    rates, tiles : functions
        What is reached, beside the iteration time.
    compute : function
        What the iteration takes with free communication, by cause.
    waits : function
        The seconds of that with a strategy in which nothing is computed, by cause.
    timeline : function
        What happens when in an iteration that was simulated.
    free : str
        What that time is, as the first of the lower bounds.
    compared : str
        What the fabrics of a comparison were given.
    plain : str
        The unsearched strategy, as the subject of a sentence.
    """

    job: Callable[[Plan], Entries]
    search: Callable[[Plan], Entries]
    made_by: Callable[[Plan], Entries]
    sections: Callable[[Plan], tuple[Section, ...]] = _nothing
    details: Callable[[Plan], tuple[Block, ...]] = _nothing
    rates: Callable[[Plan], Entries] = _no_entries
    tiles: Callable[[Plan], tuple[Tile, ...]] = _nothing
    compute: Callable[[Plan], Entries] = compute_fact
    waits: Callable[[Plan, ParallelStrategy], Mapping[str, float]] = _no_waits
    timeline: Callable[[Plan, SimResult], TimelineChart] = _busiest_timeline
    free: str = "free communication"
    compared: str = ""
    plain: str = "Data parallelism with round-robin tables"


def cluster_words(cluster: ClusterSpec) -> str:
    """Return servers, accelerators and ports."""
    return (
        f"{cluster.servers} servers of {cluster.accelerators_per_server} × {cluster.accelerator}, "
        f"{counted(cluster.degree, f'{cluster.links} port')} of {format_bandwidth(cluster.link_bandwidth_bps)}"
    )


def spread_words(plan: Plan) -> str:
    """Return by how much the worst answer of a search is slower than the best."""
    times = sorted(plan.search.seed_times_s)
    return f", the worst {times[-1] / times[0] - 1:.2%} slower" if len(times) > 1 else ""


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
