"""Colors, markers and dashes of the series of a chart, the same for every renderer.

The colors are those of Okabe and Ito, which people with any color vision tell apart, without their yellow, which is
too light on paper, and with a gray and a brown more. No series is told apart by its color alone: marker and dash
differ, too. A fabric, and a part of the iteration, has the same color in every chart.

References
----------
.. [1] M. Okabe, K. Ito, "Color Universal Design", 2008.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from topoopt.pages.chart import Series

LIGHT: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#767676", "#8C510A")
"""On white."""
DARK: Final = ("#5BB0E8", "#FF8A3D", "#35CFA0", "#E79CC8", "#F5BE41", "#9AD4F7", "#B0B0B0", "#D09A5B")
"""The same hues, lighter, on a dark page."""
MARKS: Final = {
    "circle": "o",
    "square": "s",
    "triangle-up": "^",
    "diamond": "D",
    "triangle-down": "v",
    "cross": "P",
    "x": "X",
    "star": "*",
}
"""By their names for plotly.js, what matplotlib calls them."""
DASHES: Final[dict[str, Any]] = {
    "solid": (0, ()),
    "dash": (0, (5, 2)),
    "dashdot": (0, (5, 1.6, 1.2, 1.6)),
    "dot": (0, (1.2, 1.6)),
    "longdash": (0, (9, 2.5)),
    "longdashdot": (0, (9, 2.5, 1.2, 2.5)),
}
"""As marks. Only the first of six lines is solid, to show through the others where they take the same course."""

KNOWN_COLORS: Final = {
    "topoopt": 0,
    "fat-tree": 1,
    "ideal-switch": 2,
    "torus": 3,
    "oversub-fat-tree": 4,
    "expander": 5,
    "sip-ml": 6,
    "ocs-reconfig": 7,
    "mixnet": 3,
    "rail": 7,
    "rails": 7,
    "non-blocking": 2,
    "half-the-ports": 1,
    "fat-tree-2:1": 4,
    "pareto-front": 6,
    "front": 6,
    "computing": 0,
    "computation": 0,
    "exposed-communication": 1,
    "forward-computation": 0,
    "backward-computation": 5,
    "activations-sent": 2,
    "gradients-sent": 3,
    "allreduce": 1,
    "computation-and-bubble": 0,
    "collectives-inside-servers": 5,
    "pipeline-bubble": 6,
    "waiting": 6,
    "together": 6,
    "excess": 1,
}
"""Index into the colors of what stands beside each other most often."""


@dataclass(frozen=True, slots=True)
class Style:
    """How one series looks; ``index`` counts the different styles of a chart."""

    index: int
    color: str
    dark_color: str
    mark: str
    dash: str


def styles(series: Sequence[Series]) -> tuple[Style, ...]:
    """Return the style of each series; a published one looks like ours of the same name, but is drawn hollow."""
    return styles_of([one.name for one in series])


def styles_of(names: Sequence[str]) -> tuple[Style, ...]:
    """Return the style of each name; equal names have equal styles."""
    keys = [_key(name) for name in names]
    order = list(dict.fromkeys(keys))
    colors: dict[str, int] = {}
    for key in order:  # of two fabrics of one name, the first has its color
        known = KNOWN_COLORS.get(_fabric(key))
        if known is not None and known not in colors.values():
            colors[key] = known
    free = [index for index in range(len(LIGHT)) if index not in colors.values()] or list(range(len(LIGHT)))
    others = [key for key in order if key not in colors]
    colors.update((key, free[index % len(free)]) for index, key in enumerate(others))
    return tuple(style(order.index(key), colors[key]) for key in keys)


def style(index: int, color: int | None = None) -> Style:
    """Return the style of the series number ``index``, with the color of that number if none is given."""
    hue = (index if color is None else color) % len(LIGHT)
    return Style(index, LIGHT[hue], DARK[hue], [*MARKS][index % len(MARKS)], [*DASHES][index % len(DASHES)])


def _fabric(key: str) -> str:
    """Return the fabric of a key such as ``fat-tree-(priced),-125-gb/s``."""
    return re.split(r",|-\(", key, maxsplit=1)[0]


def _key(name: str) -> str:
    """Return a name as fabrics are written, and without the remark that it is published."""
    plain = re.sub(r"[\s,:(]*\b(published|ours|paper)\b[\s)]*", " ", name.lower()).strip()
    return re.sub(r"[\s_]+", "-", plain)
