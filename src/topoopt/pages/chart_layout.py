"""Axes of charts: quantity and range, with a suitable SI prefix.

Colors, markers and dashes of the series of a chart, the same for every renderer.

The colors are those of Okabe and Ito, which are distinct with any color vision, without their yellow, which is
too light on paper, plus a gray and a brown. No series is distinguished by color alone: marker and dash
differ, too. A fabric, and a part of the iteration, has the same color in every chart.

References
----------
.. [1] M. Okabe, K. Ito, "Color Universal Design", 2008.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import isfinite, log10
from typing import Any, Final

from topoopt.catalog import NETWORKS
from topoopt.pages.chart import BarChart, CircleChart, LineChart, Series, Value
from topoopt.pages.tables import short_number

LIGHT: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#767676", "#8C510A")
"""Colors on white."""
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
"""Marker names of plotly.js, and those of matplotlib."""
DASHES: Final[dict[str, Any]] = {
    "solid": (0, ()),
    "dash": (0, (5, 2)),
    "dashdot": (0, (5, 1.6, 1.2, 1.6)),
    "dot": (0, (1.2, 1.6)),
    "longdash": (0, (9, 2.5)),
    "longdashdot": (0, (9, 2.5, 1.2, 2.5)),
}
"""Dashes, with their matplotlib patterns. Only the first of six lines is solid, to show through others."""
_KNOWN_COLORS: Final[Mapping[int, tuple[str, ...]]] = {
    0: ("computing", "computation", "forward-computation", "computation-and-bubble", "on-the-pareto-front"),
    1: ("half-the-ports", "exposed-communication", "allreduce", "excess", "this-plan"),
    2: ("activations-sent", "recommended"),
    3: ("gradients-sent",),
    5: ("backward-computation", "collectives-inside-servers"),
    6: ("other-networks", "pareto-front", "pipeline-bubble", "waiting", "together"),
}
KNOWN_COLORS: Final = {name: color for color, names in _KNOWN_COLORS.items() for name in names}
"""Color indices of the series that are most often side by side; networks have theirs in the registry."""


@dataclass(frozen=True, slots=True)
class Style:
    """Look of one series; ``index`` counts the different styles of a chart."""

    index: int
    color: str
    dark_color: str
    mark: str
    dash: str


RADIUS_OF_SWITCHES = 0.55
Cables = list[tuple[int, int]]
"""Linked pairs of nodes, each once, the smaller node first."""
UNITS: Final[Mapping[str, tuple[str, float]]] = {
    "s": ("s", 1.0),
    "ms": ("s", 1e-3),
    "µs": ("s", 1e-6),
    "min": ("s", 60.0),
    "h": ("s", 3600.0),
    "bytes": ("B", 1.0),
    "kB": ("B", 1e3),
    "MB": ("B", 1e6),
    "GB": ("B", 1e9),
    "b/s": ("b/s", 1.0),
    "Gb/s": ("b/s", 1e9),
    "$": ("$", 1.0),
    "$1,000": ("$", 1e3),
    "1,000 $": ("$", 1e3),
    "million US$": ("$", 1e6),
    "million $": ("$", 1e6),
    "W": ("W", 1.0),
    "kW": ("W", 1e3),
    "GiB": ("GiB", 1.0),
}
"""Units at the end of a label, in parentheses or after a comma: the unit of the ticks, and its factor."""
LONG: Final = (("h", 3600.0), ("min", 60.0))
"""Long units of time, used from two of them on, except for powers of ten."""
SMALL: Final = (("m", 1e-3), ("µ", 1e-6), ("n", 1e-9), ("p", 1e-12))
LARGE: Final = (("P", 1e15), ("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3))
ROOM: Final = 0.04
"""Fraction of the range of the data left free at each end."""
NEAR_ZERO: Final = 0.25
"""Data that come this near to zero, as a share of the largest, are shown from there."""
_IN_UNIT = re.compile(r"^(.*?)(?:\s*\(([^()]*)\)|,\s*(\S+))$")


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis of numbers.

    Attributes
    ----------
    words : str
        Quantity, without a unit that is shown at the ticks.
    unit : str
        Unit of the ticks, shown with a suitable prefix; empty for plain numbers.
    scale : float
        Value of 1 in the data, in that unit.
    low, high : float
        Range in the data's unit.
    """

    words: str
    unit: str
    scale: float
    low: float
    high: float
    log: bool = False

    def tick(self, value: float, most: float | None = None) -> str:
        """Return a tick's text, with the prefix of the largest tick where that is given.

        Examples
        --------
        >>> axis = Axis("time", "s", 1e-3, 0, 50)
        >>> axis.tick(20), axis.tick(0.5, most=50), axis.tick(1500)
        ('20 ms', '0.5 ms', '1.5 s')
        """
        if not self.unit:
            return short_number(value)
        shown = self.scale * (value if most is None else most)
        prefix, scale = prefix_of(shown, self.unit, powers=self.log)
        count = value * self.scale / scale
        number = (f"{count:,.0f}" if abs(count) >= 1e4 else f"{count:.4g}").replace("-", "−")
        if value == 0:
            return "0"
        if self.unit == "$":
            return f"${number} {prefix}".rstrip()
        return f"{number} {prefix}" if prefix in dict(LONG) else f"{number} {prefix}{self.unit}"

    @property
    def round_in(self) -> float:
        """Size, in the data's unit, of which ticks should be round multiples: a minute or an hour for long times."""
        most = self.scale * max(abs(self.low), abs(self.high))
        prefix, scale = prefix_of(most, self.unit) if self.unit else ("", 1.0)
        return scale / self.scale if prefix in dict(LONG) else 1.0


def prefix_of(value: float, unit: str, *, powers: bool = False) -> tuple[str, float]:
    """Return the prefix for a value, and its factor: seconds use small prefixes, other units large ones.

    Where ``powers`` of ten are written, long times stay seconds.

    Examples
    --------
    >>> prefix_of(0.02, "s"), prefix_of(2e9, "B"), prefix_of(1500, "s"), prefix_of(80, "GiB")
    (('m', 0.001), ('G', 1000000000.0), ('min', 60.0), ('', 1.0))
    """
    size = abs(value) * (1 + 1e-9)
    if unit == "s":
        if value == 0 or size >= 1:
            return next((one for one in LONG if size >= 2 * one[1] and not powers), ("", 1.0))
        return next((one for one in SMALL if size >= one[1]), SMALL[-1])
    if unit == "GiB":
        return "", 1.0
    return next((one for one in LARGE if size >= one[1]), ("", 1.0))


def words_and_unit(label: str) -> tuple[str, str, float]:
    """Return a label without its unit, the unit, and the data's factor of that unit.

    Examples
    --------
    >>> words_and_unit("iteration time (ms)"), words_and_unit("time, s"), words_and_unit("share (of all)")
    (('iteration time', 's', 0.001), ('time', 's', 1.0), ('share (of all)', '', 1.0))
    """
    match = _IN_UNIT.match(label)
    words, unit = (match[1], match[2] or match[3]) if match else ("", label)
    if unit not in UNITS:
        return label, "", 1.0
    return (words, *UNITS[unit])


def number_axis(
    label: str, values: Iterable[Value], *, log: bool = False, from_zero: bool = False, room: float = ROOM
) -> Axis:
    """Return an axis from the least to the largest of the values, with some room at its ends.

    It begins at zero where requested, and where the values come near to it; by logarithms it never does.
    """
    numbers = [float(one) for one in values if not isinstance(one, str) and isfinite(one)]
    words, unit, scale = words_and_unit(label)
    above = [one for one in numbers if one > 0]
    if log and above:
        decades = max(log10(max(above) / min(above)), 0.3)
        factor = 10 ** (room * decades)
        return Axis(words, unit, scale, min(above) / factor, max(above) * factor, log=True)
    low, high = min(numbers, default=0.0), max(numbers, default=1.0)
    if low >= 0 and (from_zero or low <= NEAR_ZERO * high):
        return Axis(words, unit, scale, 0.0, high * (1 + room) if high > 0 else 1 + room)
    free = room * (high - low) if high > low else room * (abs(high) or 1.0)
    return Axis(words, unit, scale, low - free, high + free)


def line_axes(chart: LineChart) -> tuple[Axis, Axis]:
    """Return both axes of lines; a category axis has arbitrary numbers."""
    limits, x_limits = ([limit.value for limit in each] for each in (chart.limits, chart.x_limits))
    x = number_axis(
        chart.x_label,
        (*(x for one in chart.series for x in one.x), *x_limits),
        log=chart.x_log,
        from_zero=chart.x_from_zero,
    )
    y = number_axis(
        chart.y_label,
        (*(y for one in chart.series for y in one.y), *limits),
        log=chart.y_log,
        from_zero=chart.y_from_zero,
    )
    return x, y


def bar_axis(chart: BarChart) -> Axis:
    """Return the axis of values of bars: from zero, unless it is one of logarithms, to the end of the longest."""
    ends = {word: [0.0, 0.0] for word in chart.words}
    singles = [y for one in chart.series for y in one.y if isfinite(y)]
    for one in chart.series:
        for word, y in zip(one.x, one.y, strict=True):
            if isfinite(y):
                ends[str(word)][y >= 0] += y
    reached = [end for both in ends.values() for end in both] if chart.stacked else singles
    limits = [limit.value for limit in chart.limits]
    if chart.y_log:
        return number_axis(chart.y_label, [*reached, *limits], log=True, room=0.12)
    return number_axis(chart.y_label, [0.0, *reached, *limits], from_zero=True)


def places(servers: int, nodes: int) -> list[tuple[float, float]]:
    """Return x and y of every node on the unit circle, y upward: server 0 on top, clockwise; switches inside."""
    outer = [_place(index, servers, 1.0) for index in range(servers)]
    switches = nodes - servers
    radius = RADIUS_OF_SWITCHES if switches > 1 else 0.0
    return outer + [_place(index, switches, radius) for index in range(switches)]


def ring_cables(walk: tuple[int, ...]) -> Cables:
    """Return the cables of a closed walk."""
    steps = zip(walk, (*walk[1:], walk[0]), strict=True)
    return sorted({(min(a, b), max(a, b)) for a, b in steps})


def strands(chart: CircleChart) -> tuple[list[tuple[str, Cables]], tuple[str, Cables]]:
    """Return name and cables of each ring, and of the cables in none."""
    rings = [(ring.name, ring_cables(ring.walk)) for ring in chart.rings]
    in_rings = {pair for _, pairs in rings for pair in pairs}
    others = {(min(a, b), max(a, b)) for a, b, *_ in chart.links} - in_rings
    return rings, ("other links" if rings else "links", sorted(others))


def _place(index: int, count: int, radius: float) -> tuple[float, float]:
    angle = math.tau * index / count
    return radius * math.sin(angle), radius * math.cos(angle)


def styles(series: Sequence[Series]) -> tuple[Style, ...]:
    """Return the style of each series; a published one looks like ours of the same name, but is drawn hollow."""
    return styles_of([one.name for one in series])


def styles_of(names: Sequence[str]) -> tuple[Style, ...]:
    """Return the style of each name; equal names have equal styles."""
    keys = [_key(name) for name in names]
    order = list(dict.fromkeys(keys))
    colors: dict[str, int] = {}
    for key in order:  # of two fabrics of one name, the first has its color
        known = (KNOWN_COLORS | _network_colors()).get(re.split(r",|-\(", key, maxsplit=1)[0])
        if known is not None and known not in colors.values():
            colors[key] = known
    free = [index for index in range(len(LIGHT)) if index not in colors.values()] or list(range(len(LIGHT)))
    others = [key for key in order if key not in colors]
    colors.update((key, free[index % len(free)]) for index, key in enumerate(others))
    return tuple(style(order.index(key), colors[key]) for key in keys)


@cache
def _network_colors() -> dict[str, int]:
    return {
        _key(word): one.color
        for one in NETWORKS.values()
        if one.color is not None
        for word in (one.name, one.label)
    }


def style(index: int, color: int | None = None) -> Style:
    """Return the style of the series number ``index``, with the color of that number if none is given."""
    hue = (index if color is None else color) % len(LIGHT)
    return Style(index, LIGHT[hue], DARK[hue], [*MARKS][index % len(MARKS)], [*DASHES][index % len(DASHES)])


def _key(name: str) -> str:
    """Return a name as fabrics are written, and without the remark that it is published."""
    plain = re.sub(r"[\s,:(]*\b(published|ours|paper)\b[\s)]*", " ", name.lower()).strip()
    return re.sub(r"[\s_]+", "-", plain)
