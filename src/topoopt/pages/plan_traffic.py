"""What one iteration of a plan moves, as heat maps: AllReduce, model parallel, and what the links carry."""

import math

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.pages.chart import HeatmapChart, LineChart, Series
from topoopt.plans import Plan
from topoopt.simulation import SimResult

MOST_CELLS_A_SIDE = 256
"""Larger matrices are drawn in blocks of servers."""
LOG_FROM = 30.0
"""Ratio of the largest to the smallest positive value from which colors are by the logarithm."""


def allreduce_matrix(plan: Plan) -> Floats:
    """Return the AllReduce bytes of each ordered pair of neighbors on a ring, shape (servers, servers).

    A group's M bytes are split equally over its rings, and each edge of a ring carries 2(g-1)/g of its share.
    Groups without rings take one in member order.
    """
    matrix = np.zeros((plan.job.cluster.servers, plan.job.cluster.servers))
    for group in plan.traffic().allreduce:
        size = len(group.members)
        orders = [ring.members for ring in plan.fabric.rings.get(group.members, ())] or [group.members]
        edge_bytes = 2 * (size - 1) / size * group.size_bytes / len(orders)
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
