"""Topologies drawn by matplotlib: a circle, or an adjacency matrix for many servers."""

import itertools
import math
import textwrap
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.patches import FancyBboxPatch, Rectangle
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from topoopt.base.units import format_bytes
from topoopt.pages.chart import CircleChart, StagesChart
from topoopt.pages.chart_layout import LIGHT, places, strands, style
from topoopt.pages.screen import UNROLLED_FROM

_IN_A_ROW: Final = 4
_BOX_INCHES: Final = 1.5
_ARROW_INCHES: Final = 0.6
_GAP_INCHES: Final = 0.4
_LINE_INCHES: Final = 0.16
_LETTERS: Final = 23
_LINE_COLOR: Final = "#555555"
Point = tuple[float, float]
_OTHERS: Final = "#555555"
_MOST_NUMBERED: Final = 520
"""Cells of all rings, up to which numbers in them can be read."""
_MOST_LAID: Final = 2048
"""Servers of a ring that are laid out."""


def draw_network(axes: Axes, chart: CircleChart) -> None:
    """Draw the links of a topology."""
    if chart.servers >= UNROLLED_FROM:
        # draw a dot for every link: its row sends, its column receives
        rings, (others, rest) = strands(chart)
        lines = [(name, style(index).color, pairs) for index, (name, pairs) in enumerate(rings)]
        of = {pair: index for index, (_, _, pairs) in enumerate(lines) for pair in pairs}
        ends = np.array([(src, dst) for src, dst, *_ in chart.links], np.int64).reshape(-1, 2)
        ring = np.array([of.get((min(a, b), max(a, b)), len(lines)) for a, b in ends.tolist()], np.int64)
        shown = [*lines, (others, _OTHERS, rest)] if rest else lines
        size = max(0.8, 320.0 / chart.nodes)  # as wide as a cell, in points
        for index, (name, color, _) in enumerate(shown):
            these = ends[ring == index]
            axes.plot(
                these[:, 1], these[:, 0], "s", color=color, markersize=size, markeredgewidth=0, label=name
            )
        axes.set_xlim(-0.5, chart.nodes - 0.5)
        axes.set_ylim(chart.nodes - 0.5, -0.5)
        axes.set_aspect("equal")
        axes.grid(visible=False)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_locator(MaxNLocator(8, integer=True))
        axes.set_xlabel("to server")
        axes.set_ylabel("from server")
        _cut_open(axes, chart)
    else:
        _circle(axes, chart)


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
            cmap="Blues",
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


def size_of_stages(chart: StagesChart) -> tuple[float, float]:
    """Return width and height in inches."""
    columns, rows, _, tall = _grid(chart)
    return columns * (_BOX_INCHES + _ARROW_INCHES) + 0.3, rows * (tall + _GAP_INCHES) + 0.1


def draw_stages(axes: Axes, chart: StagesChart) -> None:
    """Draw a box for each stage, in rows, and its output; coordinates are inches."""
    columns, rows, texts, tall = _grid(chart)
    width, height = size_of_stages(chart)
    slowest = max((box.busy_s for box in chart.stages), default=0.0) or 1.0
    corners = [
        (
            index % columns * (_BOX_INCHES + _ARROW_INCHES) + 0.05,
            index // columns * (tall + _GAP_INCHES) + 0.05,
        )
        for index in range(len(chart.stages))
    ]
    for (x, y), box, text in zip(corners, chart.stages, texts, strict=True):
        look = "round,pad=0,rounding_size=0.06"
        axes.add_patch(FancyBboxPatch((x, y), _BOX_INCHES, tall, boxstyle=look, fc="#f2f4f7", ec="#9aa4af"))
        axes.text(x + 0.08, y + 0.14, box.name, fontsize=8.5, fontweight="bold", va="center")
        axes.text(x + 0.08, y + 0.28, "\n".join(text), fontsize=7, va="top", linespacing=1.25)
        meter, at = _BOX_INCHES - 0.16, (x + 0.08, y + tall - 0.13)
        axes.add_patch(Rectangle(at, meter, 0.06, fc="#d9dee4"))
        axes.add_patch(Rectangle(at, meter * box.busy_s / slowest, 0.06, fc=LIGHT[0]))
    for (here, after), size_bytes in zip(itertools.pairwise(corners), chart.sends_bytes, strict=True):
        _arrow(axes, here, after, tall, format_bytes(size_bytes))
    if chart.back:
        axes.text(0.05, rows * (tall + _GAP_INCHES), chart.back, fontsize=7, va="center", color=_LINE_COLOR)
    axes.set_xlim(0, width)
    axes.set_ylim(height, 0)
    axes.set_aspect("equal")
    axes.set_axis_off()


def _arrow(axes: Axes, here: Point, after: Point, tall: float, said: str) -> None:
    """Draw the arrow from a stage to the next: straight on, or down and back to the next row."""
    (x, y), (to_x, to_y) = here, after
    if to_y == y:
        start, end = (x + _BOX_INCHES, y + tall / 2), (to_x, y + tall / 2)
        at = ((start[0] + end[0]) / 2, start[1] - 0.09)
    else:
        turn, middle = y + tall + _GAP_INCHES / 2, x + _BOX_INCHES / 2
        start, end = (to_x + _BOX_INCHES / 2, turn), (to_x + _BOX_INCHES / 2, to_y)
        axes.plot([middle, middle, start[0]], [y + tall, turn, turn], color=_LINE_COLOR, linewidth=0.9)
        at = ((middle + start[0]) / 2, turn - 0.08)
    axes.annotate(
        "", end, start, arrowprops={"arrowstyle": "-|>", "color": _LINE_COLOR, "lw": 0.9, "shrinkA": 0}
    )
    axes.text(*at, said, fontsize=6.5, ha="center", va="center", color=_LINE_COLOR)


def _grid(chart: StagesChart) -> tuple[int, int, list[list[str]], float]:
    """Return columns, rows, the broken lines of each box, and how high a box is."""
    count = max(len(chart.stages), 1)
    rows = math.ceil(count / _IN_A_ROW)
    columns = math.ceil(count / rows)
    texts = [[part for line in box.lines for part in textwrap.wrap(line, _LETTERS)] for box in chart.stages]
    return columns, rows, texts, 0.45 + _LINE_INCHES * max(map(len, texts), default=0)
