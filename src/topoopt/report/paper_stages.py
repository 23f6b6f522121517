"""What matplotlib draws of the stages of a pipeline."""

import math
import textwrap
from typing import Final

from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch, Rectangle

from topoopt.report.stages_chart import StagesChart
from topoopt.report.style import LIGHT
from topoopt.units import format_bytes

_IN_A_ROW: Final = 4
_BOX_INCHES: Final = 1.45
_ARROW_INCHES: Final = 0.5
_LINE_INCHES: Final = 0.16
_LETTERS: Final = 24


def size_of_stages(chart: StagesChart) -> tuple[float, float]:
    """Return width and height in inches."""
    columns, rows, _, tall = _grid(chart)
    return columns * (_BOX_INCHES + _ARROW_INCHES) + 0.3, rows * (tall + 0.4) + 0.1


def draw_stages(axes: Axes, chart: StagesChart) -> None:
    """Draw a box for each stage, in rows, and what goes on to the next; coordinates are inches."""
    columns, _, texts, tall = _grid(chart)
    width, height = size_of_stages(chart)
    slowest = max((box.busy_s for box in chart.stages), default=0.0) or 1.0
    for index, (box, text) in enumerate(zip(chart.stages, texts, strict=True)):
        x = index % columns * (_BOX_INCHES + _ARROW_INCHES) + 0.05
        y = index // columns * (tall + 0.4) + 0.05
        look = FancyBboxPatch(
            (x, y), _BOX_INCHES, tall, boxstyle="round,pad=0,rounding_size=0.06", fc="#f2f4f7", ec="#9aa4af"
        )
        axes.add_patch(look)
        axes.text(x + 0.08, y + 0.14, box.name, fontsize=8.5, fontweight="bold", va="center")
        axes.text(x + 0.08, y + 0.28, "\n".join(text), fontsize=7, va="top", linespacing=1.25)
        meter = _BOX_INCHES - 0.16
        axes.add_patch(Rectangle((x + 0.08, y + tall - 0.13), meter, 0.06, fc="#d9dee4"))
        axes.add_patch(
            Rectangle((x + 0.08, y + tall - 0.13), meter * box.busy_s / slowest, 0.06, fc=LIGHT[0])
        )
        if index + 1 < len(chart.stages):
            last = index % columns == columns - 1
            start = (x + _BOX_INCHES / 2, y + tall) if last else (x + _BOX_INCHES, y + tall / 2)
            end = (
                (0.05 + _BOX_INCHES / 2, y + tall + 0.4)
                if last
                else (x + _BOX_INCHES + _ARROW_INCHES, y + tall / 2)
            )
            axes.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "color": "#555555", "lw": 0.9})
            said = format_bytes(chart.sends_bytes[index])
            at = ((start[0] + end[0]) / 2, (start[1] + end[1]) / 2 - (0.0 if last else 0.09))
            axes.text(*at, said, fontsize=6.5, ha="center", va="center", color="#444444")
    axes.set_xlim(0, width)
    axes.set_ylim(height, 0)
    axes.set_aspect("equal")
    axes.set_axis_off()


def _grid(chart: StagesChart) -> tuple[int, int, list[list[str]], float]:
    """Return columns, rows, the broken lines of each box, and how high a box is."""
    count = max(len(chart.stages), 1)
    rows = math.ceil(count / _IN_A_ROW)
    columns = math.ceil(count / rows)
    texts = [[part for line in box.lines for part in textwrap.wrap(line, _LETTERS)] for box in chart.stages]
    return columns, rows, texts, 0.45 + _LINE_INCHES * max(map(len, texts), default=0)
