"""What matplotlib draws of the stages of a pipeline."""

import itertools
import math
import textwrap
from typing import Final

from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch, Rectangle

from topoopt.base.units import format_bytes
from topoopt.pages.stages_chart import StagesChart
from topoopt.pages.style import LIGHT

_IN_A_ROW: Final = 4
_BOX_INCHES: Final = 1.5
_ARROW_INCHES: Final = 0.6
_GAP_INCHES: Final = 0.4
_LINE_INCHES: Final = 0.16
_LETTERS: Final = 23
_LINE_COLOR: Final = "#555555"

Point = tuple[float, float]


def size_of_stages(chart: StagesChart) -> tuple[float, float]:
    """Return width and height in inches."""
    columns, rows, _, tall = _grid(chart)
    return columns * (_BOX_INCHES + _ARROW_INCHES) + 0.3, rows * (tall + _GAP_INCHES) + 0.1


def draw_stages(axes: Axes, chart: StagesChart) -> None:
    """Draw a box for each stage, in rows, and what goes on to the next; coordinates are inches."""
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
    """Draw the way from a stage to the next: straight on, or down and back to the next row."""
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
