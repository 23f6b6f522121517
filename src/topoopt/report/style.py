"""Colors, markers and dashes of the series of a chart, the same for every renderer.

The colors are those of Okabe and Ito, which people with any color vision tell apart, without their yellow, which is
too light on paper, and with a gray and a brown more. No series is told apart by its color alone: marker and dash
differ, too. A fabric has the same color in every chart.

References
----------
.. [1] M. Okabe, K. Ito, "Color Universal Design", 2008.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from topoopt.report.chart import Series

Mark = Literal["circle", "square", "triangle", "diamond", "down", "plus", "cross", "star"]
Dash = Literal["solid", "dash", "dot", "dashdot", "longdash"]

LIGHT: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#767676", "#8C510A")
"""On white."""
DARK: Final = ("#5BB0E8", "#FF8A3D", "#35CFA0", "#E79CC8", "#F5BE41", "#9AD4F7", "#B0B0B0", "#D09A5B")
"""The same hues, lighter, on a dark page."""
MARKS: Final[tuple[Mark, ...]] = ("circle", "square", "triangle", "diamond", "down", "plus", "cross", "star")
DASHES: Final[tuple[Dash, ...]] = ("solid", "dash", "dashdot", "dot", "longdash")

FABRIC_COLORS: Final = {
    "topoopt": 0,
    "fat-tree": 1,
    "ideal-switch": 2,
    "torus": 3,
    "oversub-fat-tree": 4,
    "expander": 5,
    "sip-ml": 6,
    "ocs-reconfig": 7,
}
"""Index into the colors of the fabrics that stand beside each other most often."""


@dataclass(frozen=True, slots=True)
class Style:
    """How one series looks; ``index`` counts the different styles of a chart."""

    index: int
    color: str
    dark_color: str
    mark: Mark
    dash: Dash


def styles(series: Sequence[Series]) -> tuple[Style, ...]:
    """Return the style of each series; a published one looks like ours of the same name, but is drawn hollow."""
    keys = [_key(one.name) for one in series]
    order = list(dict.fromkeys(keys))
    fixed = {key: FABRIC_COLORS[_fabric(key)] for key in order if _fabric(key) in FABRIC_COLORS}
    free = [index for index in range(len(LIGHT)) if index not in fixed.values()] or list(range(len(LIGHT)))
    colors, taken = dict(fixed), 0
    for key in order:
        if key not in colors:
            colors[key] = free[taken % len(free)]
            taken += 1
    return tuple(style(order.index(key), colors[key]) for key in keys)


def style(index: int, color: int | None = None) -> Style:
    """Return the style of the series number ``index``, with the color of that number if none is given."""
    hue = (index if color is None else color) % len(LIGHT)
    return Style(index, LIGHT[hue], DARK[hue], MARKS[index % len(MARKS)], DASHES[index % len(DASHES)])


def _fabric(key: str) -> str:
    """Return the fabric of a key such as ``fat-tree,-125-gb/s``."""
    return key.split(",", maxsplit=1)[0]


def _key(name: str) -> str:
    """Return a name as fabrics are written, and without the remark that it is published."""
    plain = re.sub(r"[\s,:(]*\b(published|ours|paper)\b[\s)]*", " ", name.lower()).strip()
    return re.sub(r"[\s_]+", "-", plain)
