"""What the page of a plan says of a job known by its traffic: its bytes, and how often it was wired."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.base.units import format_bytes, format_time
from topoopt.jobs import TrafficWork
from topoopt.pages.chart import HeatmapChart, LineChart, Series
from topoopt.pages.number_format import counted
from topoopt.pages.page import Page, Section, Tile
from topoopt.pages.tables import Entries, facts, joined, number, table
from topoopt.pages.work_page import WorkPage, cluster_words, spread_words
from topoopt.plans import Plan
from topoopt.routing import LaidTraffic
from topoopt.simulation import SimResult
from topoopt.workloads import Traffic, bus_bandwidth_factor

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
        computes = f"{format_time(work.compute_s)} an iteration, by the kernels of the recording"
        return {"bytes": said, "computes": computes, "cluster": cluster_words(plan.job.cluster)}
    return {"bytes": said, "cluster": cluster_words(plan.job.cluster)}


def search_facts(plan: Plan) -> Entries:
    """Return how many degree splits were tried."""
    return {"tried": f"{counted(len(plan.search.seed_times_s), 'degree split')}{spread_words(plan)}"}


def made_by(plan: Plan) -> Entries:
    """Return the matrix's name."""
    return {"traffic": plan.job.name}


TRAFFIC_PAGE = WorkPage(job_facts, search_facts, made_by)


def laid_traffic_page(laid: LaidTraffic) -> Page:
    """Return how much is moved, the busiest pairs and links, and a map of all pairs."""
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
        ),
        key_numbers={
            "link_bytes_max": busiest,
            "mp_bytes": demand.mp_bytes,
            "allreduce_bytes": demand.allreduce_bytes,
        },
        remark=f"on {demand.servers} servers: what one iteration moves",
    )


def allreduce_words(demand: Traffic) -> str:
    """Return the bytes of the AllReduces, in how many groups, and what of them goes over the wire."""
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
    """Return the three maps; one without a byte is left out."""
    maps = (
        ("allreduce_traffic", "AllReduce, along the rings", allreduce_matrix(plan)),
        ("model_parallel_traffic", "Model parallel, as demanded", plan.traffic().mp_matrix()),
        ("link_traffic", "Links, as carried", link_matrix(plan, result)),
    )
    return tuple(heatmap(name, title, matrix) for name, title, matrix in maps if matrix.any())


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
    """Return the share of links that carry at most so many bytes a port."""
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
            Series("mean", (mean / 1e6, mean / 1e6), (0.0, 1.0), marked=False),
        ),
        note="The steeper, the more even: where all links carry the same, the line is upright.",
        y_from_zero=True,
    )
