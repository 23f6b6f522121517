"""Sections of a plan's page for each kind of work, and the traffic of a job known by nothing else."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from topoopt.base.answers import fields_of
from topoopt.base.arrays import Floats
from topoopt.base.units import format_bandwidth, format_bytes, format_time
from topoopt.catalog import ClusterSpec
from topoopt.jobs import TrafficWork
from topoopt.pages.chart import Bar, BarChart, HeatmapChart, Limit, LineChart, Series, TimelineChart
from topoopt.pages.page import Block, Page, Section, Tile
from topoopt.pages.tables import Entries, counted, facts, joined, number, table, text
from topoopt.pages.timelines import WAITING, critical_path, time_by_phase
from topoopt.plans import Plan
from topoopt.routing import Conflicts, LaidTraffic
from topoopt.simulation import COLLECTIVE, COMPUTE, TRANSFER, SimResult, TimelineRow, timeline
from topoopt.workloads import ParallelStrategy, Traffic, bus_bandwidth_factor

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
"""Name of each phase of a task on the page, and its lane in a timeline."""


def compute_fact(plan: Plan) -> Entries:
    """Return the time of an iteration with free communication, all of it computation."""
    return {"compute": format_time(plan.outcome.compute_time_s)}


def _nothing(plan: Plan) -> tuple[()]:
    return ()


@dataclass(frozen=True, slots=True)
class WorkPage:
    """The parts of a page that differ between kinds of work.

    Attributes
    ----------
    job : function
        Returns model, cluster and the basis of the times.
    search : function
        Returns facts of the search.
    made_by : function
        Returns the command and options to make the plan again.
    sections : function
        Returns the sections on the split of the work.
    details : function
        Returns details of the strategy, for a browser.
    rates, tiles : functions
        Return the rates reached, besides the iteration time.
    compute : function
        Returns the iteration with free communication, by cause.
    waits : function
        Returns waits, by cause.
    timeline : function
        Returns the timeline of a simulated iteration.
    free : str
        Label of the time with free communication, the first of the lower bounds.
    compared : str
        Work given to the fabrics of a comparison.
    plain : str
        The unsearched strategy, as the subject of a sentence.
    """

    job: Callable[[Plan], Entries]
    search: Callable[[Plan], Entries]
    made_by: Callable[[Plan], Entries]
    sections: Callable[[Plan], tuple[Section, ...]] = _nothing
    details: Callable[[Plan], tuple[Block, ...]] = _nothing
    rates: Callable[[Plan], Entries] = lambda _: {}
    tiles: Callable[[Plan], tuple[Tile, ...]] = _nothing
    compute: Callable[[Plan], Entries] = compute_fact
    waits: Callable[[Plan, ParallelStrategy], Mapping[str, float]] = lambda *_: {}
    timeline: Callable[[Plan, SimResult], TimelineChart] = lambda _, run: iteration_timeline(
        run, busiest_server(run)
    )
    free: str = "free communication"
    compared: str = ""
    plain: str = "Data parallelism with round-robin tables"


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
    """Return the computations and sends of one server, in seconds; no two bars of a lane overlap.

    Where several transfers overlap, a bar begins when the one before it has ended.
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


MOST_CELLS_A_SIDE = 256
"""Larger matrices are drawn in blocks of servers."""
LOG_FROM = 30.0
"""Ratio of the largest to the smallest positive value from which colors are by the logarithm."""
SHOWN = 10


def job_facts(plan: Plan) -> Entries:
    """Return the bytes and the cluster."""
    traffic = plan.traffic()
    moved = [format_bytes(traffic.mp_bytes)] if traffic.mp_bytes or not traffic.allreduce else []
    if traffic.allreduce:
        moved.append(f"AllReduce of {allreduce_words(traffic)}")
    said = f"{' and '.join(moved)}, all of it ready at once; no strategy to search"
    work = plan.job.work
    if isinstance(work, TrafficWork) and work.compute_s:
        beside = f"{work.hidden_share:.0%} of it beside computation, the rest after it"
        said = f"{' and '.join(moved)}, {beside}; no strategy to search"
        computes = f"{format_time(work.compute_s)} an iteration, exchanges inside servers included"
        return {"bytes": said, "computes": computes, "cluster": cluster_words(plan.job.cluster)}
    return {"bytes": said, "cluster": cluster_words(plan.job.cluster)}


def search_facts(plan: Plan) -> Entries:
    """Return the number of degree splits tried."""
    return {"tried": f"{counted(len(plan.search.seed_times_s), 'degree split')}{spread_words(plan)}"}


def made_by(plan: Plan) -> Entries:
    """Return the matrix's name."""
    return {"traffic": plan.job.name}


TRAFFIC_PAGE = WorkPage(job_facts, search_facts, made_by)


def laid_traffic_page(laid: LaidTraffic) -> Page:
    """Return the total traffic, the busiest pairs and links, and a map of all pairs."""
    demand, pairs, links = laid.traffic, laid.pairs(), laid.links()
    transfers = sum(1 for pair in pairs if pair["mp_bytes"])
    moved = {
        "strategy": laid.strategy,
        "AllReduce": allreduce_words(demand),
        "model parallel": f"{format_bytes(demand.mp_bytes)} between {transfers} ordered pairs",
    }
    all_pairs = heatmap("traffic", "Bytes from server to server", laid.mp_bytes + laid.allreduce_bytes)
    sizes = [pair["allreduce_bytes"] + pair["mp_bytes"] for pair in pairs]
    busiest = float(laid.link_bytes.max(initial=0.0))
    return Page(
        "traffic",
        laid.model,
        f"An iteration moves {format_bytes(sum(sizes))} between servers; the busiest link carries "
        f"{format_bytes(busiest)}.",
        (
            Tile("AllReduce", format_bytes(demand.allreduce_wire_bytes), "on the wire"),
            Tile("Model parallel", format_bytes(demand.mp_bytes)),
            Tile("Busiest link", format_bytes(busiest)),
        ),
        sections=(
            Section("moved", "What is moved", "", (facts(moved), all_pairs)),
            _busiest("pairs", pairs, sizes),
            _busiest("links", links, [link["bytes"] for link in links]),
            *_conflicts(laid.conflicts),
        ),
        key_numbers={
            "link_bytes_max": busiest,
            **fields_of(demand, "mp_bytes", "allreduce_bytes"),
        },
        remark=f"on {demand.servers} servers: what one iteration moves",
    )


def _conflicts(found: Conflicts | None) -> Iterator[Section]:
    if found is None:
        return
    rows = table(
        "ECMP conflicts",
        found.rows,
        text("paths", "paths"),
        number("connections", "connections", str),
        number("fullest link", "mean", lambda value: f"{value:.2f} ×"),
        number("p99", "p99", lambda value: f"{value:.2f} ×"),
    )
    legend = (
        "fullest link: its time over that with traffic split equally over all shortest paths; connections: per pair of "
        "servers and NIC; chosen: each connection on the path that is least full; sprayed: packet by packet"
    )
    remark = f"on {found.fabric}: {counted(found.pairs, 'pair')}, {found.draws} hashes"
    yield Section("conflicts", "ECMP conflicts", legend, (rows,), remark)


def allreduce_words(demand: Traffic) -> str:
    """Return the bytes of the AllReduces, the number of groups, and the bytes on the wire."""
    groups = counted(len(demand.allreduce), "group")
    wire = format_bytes(demand.allreduce_wire_bytes)
    return f"{format_bytes(demand.allreduce_bytes)} in {groups}, {wire} on the wire"


def _busiest(ends: str, rows: Sequence[Mapping[str, Any]], sizes: Sequence[float]) -> Section:
    mean = sum(sizes) / len(sizes) if sizes else 0.0
    busiest = table(
        f"Busiest {ends}",
        sorted(joined(ends=rows, size=sizes), key=lambda row: -row["size"])[:SHOWN],
        number("from", "ends.src"),
        number("to", "ends.dst"),
        number("bytes", "size", format_bytes),
    )
    remark = f"of {len(rows)}; mean {format_bytes(mean)}"
    return Section(f"busiest-{ends}", f"Busiest {ends}", "", (busiest,), remark)


def allreduce_matrix(plan: Plan) -> Floats:
    """Return the AllReduce bytes of each ordered pair of neighbors on a ring, shape (servers, servers).

    A group's M bytes are split equally over its rings, and each edge of a ring carries 2(g-1)/g of its share.
    Groups without rings take one in member order.
    """
    matrix = np.zeros((plan.job.cluster.servers, plan.job.cluster.servers))
    for group in plan.traffic().allreduce:
        size = len(group.members)
        orders = [ring.members for ring in plan.fabric.rings.get(group.members, ())] or [group.members]
        edge_bytes = bus_bandwidth_factor("allreduce", size) * group.size_bytes / len(orders)
        for order in orders:
            src = np.asarray(order)
            np.add.at(matrix, (src, np.roll(src, -1)), edge_bytes)
    return matrix


def link_matrix(plan: Plan, result: SimResult) -> Floats:
    """Return the bytes on each directed link, shape (nodes, nodes), forwarded bytes included."""
    topology = plan.fabric.topology
    matrix = np.zeros((topology.nodes, topology.nodes))
    np.add.at(matrix, (topology.src, topology.dst), result.link_bytes)
    return matrix


def traffic_maps(plan: Plan, result: SimResult) -> tuple[HeatmapChart, ...]:
    """Return the three maps on one scale; one without a byte is left out."""
    maps = (
        ("allreduce_traffic", "AllReduce, along the rings", allreduce_matrix(plan)),
        ("model_parallel_traffic", "Model parallel, as demanded", plan.traffic().mp_matrix()),
        ("link_traffic", "Links, as carried", link_matrix(plan, result)),
    )
    return on_one_scale(heatmap(name, title, matrix) for name, title, matrix in maps if matrix.any())


def on_one_scale(charts: Iterable[HeatmapChart]) -> tuple[HeatmapChart, ...]:
    """Return maps of which equal values have equal colors; by logarithms where one of them or all together are."""
    maps = tuple(charts)
    above = [value for chart in maps for row in chart.values for value in row if value > 0]
    low, high = min(above, default=0.0), max(above, default=1.0)
    log = high > LOG_FROM * low > 0
    return tuple(replace(one, value_log=log, value_range=(low if log else 0.0, high)) for one in maps)


def heatmap(name: str, title: str, matrix: Floats, of: str = "server") -> HeatmapChart:
    """Return bytes between servers, or ranks, as a chart; in blocks of them where there are many."""
    cells, block = in_blocks(matrix, MOST_CELLS_A_SIDE)
    positive = cells[cells > 0]
    return HeatmapChart(
        name,
        title,
        f"to {of}" if block == 1 else f"to {of} / {block}",
        f"from {of}" if block == 1 else f"from {of} / {block}",
        "bytes",
        tuple(tuple(row) for row in cells.tolist()),
        value_log=positive.size > 0 and bool(positive.max() / positive.min() > LOG_FROM),
        note="" if block == 1 else f"Each cell is the sum over {block} × {block} {of}s.",
    )


def in_blocks(matrix: Floats, most: int) -> tuple[Floats, int]:
    """Return a square matrix summed in square blocks, with at most ``most`` blocks a side, and a block's side.

    Examples
    --------
    >>> in_blocks(np.ones((3, 3)), 2)
    (array([[4., 2.],
           [2., 1.]]), 2)
    """
    block = math.ceil(len(matrix) / most)
    if block <= 1:
        return matrix, 1
    starts = np.arange(0, len(matrix), block)
    return np.add.reduceat(np.add.reduceat(matrix, starts, axis=0), starts, axis=1), block


def link_load_distribution(plan: Plan, result: SimResult) -> LineChart:
    """Return the CDF of bytes per port over links."""
    loads = np.sort(result.link_bytes / plan.fabric.topology.ports)
    values, count = np.unique(loads, return_counts=True)
    share = np.cumsum(count) / len(loads)
    mean = float(loads.mean())
    return LineChart(
        "link_load_distribution",
        "How evenly the links are loaded",
        "bytes on a link in one iteration (MB)",
        "share of links at or below",
        (
            Series(
                "this plan",
                (values[0] / 1e6, *(values / 1e6).tolist()),
                (0.0, *share.tolist()),
                stepped=True,
                marked=False,
            ),
        ),
        note=f"The busiest link carries {loads[-1] / mean:.2f} × the mean; equal loads make an upright line.",
        x_from_zero=True,
        y_from_zero=True,
        x_limits=(Limit(mean / 1e6, "mean"),),
    )


def cluster_words(cluster: ClusterSpec) -> str:
    """Return servers, accelerators and ports."""
    return (
        f"{cluster.servers} servers of {cluster.accelerators_per_server} × {cluster.accelerator}, "
        f"{counted(cluster.degree, f'{cluster.links} port')} of {format_bandwidth(cluster.link_bandwidth_bps)}"
    )


def spread_words(plan: Plan) -> str:
    """Return the spread between the worst and the best answer of a search."""
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
