"""What matplotlib draws of a topology: a circle, or of many servers who is linked with whom."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from topoopt.pages.chart import CircleChart
from topoopt.pages.circle import places, strands
from topoopt.pages.screen import UNROLLED_FROM
from topoopt.pages.style import style

_OTHERS: Final = "#555555"
_MOST_NUMBERED: Final = 520
"""Cells of all rings, up to which numbers in them can be read."""
_MOST_LAID: Final = 2048
"""Servers of a ring that are laid out."""


def draw_network(axes: Axes, chart: CircleChart) -> None:
    """Draw the links of a topology."""
    if chart.servers >= UNROLLED_FROM:
        _adjacency(axes, chart)
        _cut_open(axes, chart)
    else:
        _circle(axes, chart)


def _adjacency(axes: Axes, chart: CircleChart) -> None:
    """Draw a dot for every link: its row sends, its column receives."""
    rings, (others, rest) = strands(chart)
    lines = [(name, style(index).color, pairs) for index, (name, pairs) in enumerate(rings)]
    of = {pair: index for index, (_, _, pairs) in enumerate(lines) for pair in pairs}
    ends = np.array([(src, dst) for src, dst, *_ in chart.links], np.int64).reshape(-1, 2)
    ring = np.array([of.get((min(a, b), max(a, b)), len(lines)) for a, b in ends.tolist()], np.int64)
    shown = [*lines, (others, _OTHERS, rest)] if rest else lines
    size = max(0.8, 320.0 / chart.nodes)  # as wide as a cell, in points
    for index, (name, color, _) in enumerate(shown):
        these = ends[ring == index]
        axes.plot(these[:, 1], these[:, 0], "s", color=color, markersize=size, markeredgewidth=0, label=name)
    axes.set_xlim(-0.5, chart.nodes - 0.5)
    axes.set_ylim(chart.nodes - 0.5, -0.5)
    axes.set_aspect("equal")
    axes.grid(visible=False)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(8, integer=True))
    axes.set_xlabel("to server")
    axes.set_ylabel("from server")


def _cut_open(axes: Axes, chart: CircleChart) -> None:
    """Draw each ring in the order of its walk beside the matrix, row by row; few have numbers in their cells."""
    numbered = sum(len(ring.walk) for ring in chart.rings) <= _MOST_NUMBERED
    rows = [_laid(ring.walk[:_MOST_LAID], numbered=numbered) for ring in chart.rings]
    if not rows:
        return
    left, wide, gap, top = 1.1, 0.95, 0.055, 1.0
    high = min((1.0 - gap * len(rows)) / sum(map(len, rows)), 0.042)
    for index, (ring, laid) in enumerate(zip(chart.rings, rows, strict=True)):
        top -= gap
        look: dict[str, Any] = {
            "transform": axes.transAxes,
            "fontsize": 7.5,
            "color": style(index).color,
            "va": "bottom",
        }
        axes.text(left, top + 0.008, ring.name, **look)
        inset = axes.inset_axes((left, top - high * len(laid), wide, high * len(laid)))
        inset.imshow(
            laid,
            cmap="viridis_r",
            vmin=0,
            vmax=chart.servers - 1,
            aspect="auto",
            alpha=0.35 if numbered else 1.0,
        )
        for (row, column), server in np.ndenumerate(laid) if numbered else ():
            if np.isfinite(server):
                inset.text(column, row, str(int(server)), fontsize=6, ha="center", va="center")
        inset.set_axis_off()
        top -= high * len(laid)


def _laid(walk: Sequence[int], *, numbered: bool) -> NDArray[np.float64]:
    """Return a walk in rows, not a number after its end."""
    columns = 16 if numbered else 32 * max(1, len(walk) // 512)
    laid = np.full(-(-len(walk) // columns) * columns, np.nan)
    laid[: len(walk)] = walk
    return laid.reshape(-1, columns)


def _circle(axes: Axes, chart: CircleChart) -> None:
    at = places(chart.servers, chart.nodes)
    rings, (others, rest) = strands(chart)
    for index, (name, pairs) in enumerate(rings):
        lines = [(at[a], at[b]) for a, b in pairs]
        color = style(index).color
        axes.add_collection(LineCollection(lines, colors=color, linewidths=1.1, label=name, alpha=0.85))
    if rest:
        lines = [(at[a], at[b]) for a, b in rest]
        axes.add_collection(
            LineCollection(lines, colors=_OTHERS, linewidths=0.9, linestyles="dotted", label=others)
        )
    servers = np.array(at[: chart.servers])
    axes.plot(
        servers[:, 0], servers[:, 1], "o", color="#222222", markersize=4 if chart.servers <= 64 else 2.5
    )
    if chart.nodes > chart.servers:
        switches = np.array(at[chart.servers :])
        axes.plot(switches[:, 0], switches[:, 1], "s", color="#777777", markersize=4)
    step = next(s for s in (1, 2, 4, 8, 16, 32, 64, 128, 256, 1 << 30) if chart.servers / s <= 32)
    for server in range(0, chart.servers, step):
        x, y = at[server]
        axes.text(x * 1.07, y * 1.07, str(server), ha="center", va="center", fontsize=7.5)
    axes.set_xlim(-1.14, 1.14)
    axes.set_ylim(-1.14, 1.14)
    axes.set_aspect("equal")
    axes.set_axis_off()
