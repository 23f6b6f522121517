"""What matplotlib draws on the axes of each kind of chart."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import LogNorm, Normalize
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from topoopt.report.chart import (
    BarChart,
    Chart,
    CircleChart,
    HeatmapChart,
    LineChart,
    Series,
    TimelineChart,
    Value,
)
from topoopt.report.circle import places, strands
from topoopt.report.paper_polar import draw_polar
from topoopt.report.polar_chart import PolarChart
from topoopt.report.style import DASHES, MARKS, Style, style, styles, styles_of
from topoopt.report.words import from_zero, short_number, time_unit

_MARKS_A_LINE: Final = 12
_FEW_POINTS: Final = 24
_FEW_BARS: Final = 150
_ROOM: Final = 1.06
_PLAIN_DECADES: Final = 2.0
"""Log axes over fewer decades than this are labeled between the powers of ten, too."""


def size_of(chart: Chart) -> tuple[float, float]:
    """Return width and height of the figure in inches, before title, legend and note are added."""
    match chart:
        case CircleChart() | PolarChart():
            return 5.6, 5.6
        case HeatmapChart():
            rows, columns = len(chart.values), max(map(len, chart.values), default=1)
            return 5.6, min(max(5.0 * rows / max(columns, 1), 1.6), 6.5)
        case TimelineChart():
            lanes = len(chart.lanes)
            return 6.4, min(0.6 + 0.36 * lanes, 6.0) if lanes else 3.8
        case BarChart(horizontal=True):
            return 6.0, min(1.0 + 0.3 * len(chart.words), 7.0)
        case BarChart():
            return min(max(5.2, 1.6 + 0.55 * len(chart.words)), 9.0), 3.1
        case _:
            return 5.6, 3.4


def draw_on(axes: Axes, chart: Chart) -> None:
    """Draw everything but title, legend and note."""
    match chart:
        case LineChart():
            _lines(axes, chart)
        case BarChart():
            _bars(axes, chart)
        case HeatmapChart():
            _heatmap(axes, chart)
        case TimelineChart():
            _timeline(axes, chart)
        case CircleChart():
            _circle(axes, chart)
        case PolarChart():
            draw_polar(axes, chart)


def _lines(axes: Axes, chart: LineChart) -> None:
    words = chart.words
    for one, look in zip(chart.series, styles(chart.series), strict=True):
        x = [words.index(str(value)) for value in one.x] if words else list(one.x)
        axes.plot(
            x,
            one.y,
            label=one.name,
            color=look.color,
            linestyle=DASHES[look.dash] if one.joined else "none",
            linewidth=1.0 if one.published else None,
            drawstyle="steps-post" if one.stepped else "default",
            zorder=2.5 if one.published else 2,
            **_marker(one, look),
        )
    if words:
        _name_ticks(axes.xaxis, words)
    else:
        _scale(axes, "x", chart.x_log and _any_above_zero(x for one in chart.series for x in one.x))
    _scale(axes, "y", chart.y_log and _any_above_zero(y for one in chart.series for y in one.y))
    if chart.x_from_zero and not (chart.x_log or words):
        axes.set_xlim(0, from_zero((x for one in chart.series for x in one.x), _ROOM))
    if chart.y_from_zero and not chart.y_log:
        axes.set_ylim(0, from_zero((y for one in chart.series for y in one.y), _ROOM))
    axes.set_xlabel(chart.x_label)
    axes.set_ylabel(chart.y_label)


def _marker(one: Series, look: Style) -> dict[str, Any]:
    points = len(one.x)
    if one.joined and one.stepped and points > _FEW_POINTS:
        every: Any = 0.12
    else:
        every = max(1, points // _MARKS_A_LINE) if one.joined and points > _FEW_POINTS else 1
    return {
        "marker": MARKS[look.mark] if one.marked or not one.joined else "none",
        "markevery": every,
        "markerfacecolor": "white" if one.published else look.color,
        "markeredgecolor": look.color,
        "markersize": 6.5 if one.published else None,
        "markeredgewidth": 1.3 if one.published else 0.5,
    }


def _bars(axes: Axes, chart: BarChart) -> None:
    words = chart.words
    place = np.arange(len(words), dtype=float)
    width = 0.78 / chart.beside
    positive, negative = np.zeros(len(words)), np.zeros(len(words))
    for number, (one, look) in enumerate(zip(chart.series, styles(chart.series), strict=True)):
        height = np.full(len(words), np.nan)
        for word, value in zip(one.x, one.y, strict=True):
            height[words.index(str(word))] = value
        at = place if chart.stacked else place + (number - (chart.beside - 1) / 2) * width
        start = np.where(np.nan_to_num(height) >= 0, positive, negative) if chart.stacked else None
        draw = axes.barh if chart.horizontal else axes.bar
        side = {"left": start} if chart.horizontal else {"bottom": start}
        draw(
            at,
            height,
            width * 0.94,
            label=one.name,
            facecolor="white" if one.published else look.color,
            edgecolor=look.color,
            linewidth=1.2 if one.published else 0.4,
            hatch="////" if one.published else None,
            **({} if start is None else side),  # type: ignore[arg-type]
        )
        if chart.stacked:
            positive += np.maximum(np.nan_to_num(height), 0)
            negative += np.minimum(np.nan_to_num(height), 0)
    _name_ticks(axes.yaxis if chart.horizontal else axes.xaxis, words)
    if chart.horizontal:
        axes.invert_yaxis()
    log = chart.y_log and _any_above_zero(y for one in chart.series for y in one.y)
    _scale(axes, "x" if chart.horizontal else "y", log)
    axes.grid(visible=False, axis="y" if chart.horizontal else "x")
    axes.set_xlabel(chart.y_label if chart.horizontal else chart.x_label)
    axes.set_ylabel(chart.x_label if chart.horizontal else chart.y_label)


def _heatmap(axes: Axes, chart: HeatmapChart) -> None:
    values = np.array(chart.values, float)
    present = values[np.isfinite(values)]
    above = present[present > 0]
    log = chart.value_log and above.size > 0 and above.min() < above.max()
    low, high = min(0.0, present.min(initial=0.0)), present.max(initial=0.0)
    norm = LogNorm(above.min(), above.max()) if log else Normalize(low, high if high > low else low + 1)
    shown = np.ma.masked_where(~np.isfinite(values) | (values == 0) | ((values < 0) & log), values)
    image = axes.imshow(shown, cmap="viridis_r", norm=norm, aspect="auto", interpolation="nearest")
    bar = axes.figure.colorbar(image, ax=axes, pad=0.02)
    bar.set_label(chart.value_label)
    bar.outline.set_visible(False)
    if log and np.log10(above.max() / above.min()) < _PLAIN_DECADES:
        bar.ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    bar.ax.yaxis.set_major_formatter(_ticks())
    bar.ax.yaxis.set_minor_formatter(NullFormatter())
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(8, integer=True))
    axes.grid(visible=False)
    axes.set_xlabel(chart.x_label)
    axes.set_ylabel(chart.y_label)


def _timeline(axes: Axes, chart: TimelineChart) -> None:
    unit, scale = time_unit(chart.end_s)
    for (kind, bars), look in zip(chart.by_kind.items(), styles_of(list(chart.by_kind)), strict=True):
        spans = [(bar.start_s / scale, bar.finish_s / scale, bar.lane, bar.lane + bar.lanes) for bar in bars]
        boxes = [
            [(start, top - 0.42), (end, top - 0.42), (end, below - 0.58), (start, below - 0.58)]
            for start, end, top, below in spans
        ]
        width = 0.3 if len(chart.bars) <= _FEW_BARS else 0.1
        axes.add_collection(
            PolyCollection(boxes, facecolor=look.color, edgecolor="white", linewidth=width, label=kind)
        )
    axes.set_xlim(
        min((bar.start_s / scale for bar in chart.bars), default=0.0),
        chart.end_s / scale if chart.bars else 1.0,
    )
    axes.set_ylim(chart.height - 0.45, -0.55)
    if chart.lanes:
        axes.set_yticks(range(chart.height), chart.lanes)
    axes.grid(visible=False, axis="y")
    axes.set_xlabel(f"time ({unit})")
    axes.set_ylabel(chart.y_label)
    axes.xaxis.set_major_formatter(_ticks())


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
            LineCollection(lines, colors="#555555", linewidths=0.9, linestyles="dotted", label=others)
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


def _name_ticks(axis: Axis, words: Sequence[str]) -> None:
    axis.set_ticks(range(len(words)), list(words))
    crowded = sum(map(len, words)) > 60 or max(map(len, words), default=0) > 14
    if axis.axis_name == "x" and crowded:  # type: ignore[attr-defined]
        for label in axis.get_ticklabels():
            label.set(rotation=30, ha="right", rotation_mode="anchor")


def _scale(axes: Axes, which: str, log: bool) -> None:
    """Set the scale of an axis, and ticks that read well."""
    axis = axes.xaxis if which == "x" else axes.yaxis
    if not log:
        axis.set_major_formatter(_ticks())
        return
    (axes.set_xscale if which == "x" else axes.set_yscale)("log")
    low, high = sorted(axes.get_xlim() if which == "x" else axes.get_ylim())
    if low > 0 and np.log10(high / low) < _PLAIN_DECADES:
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(_ticks())
    axis.set_minor_formatter(NullFormatter())


def _ticks() -> FuncFormatter:
    return FuncFormatter(lambda value, _: short_number(value))


def _any_above_zero(values: Iterable[Value]) -> bool:
    return any(not isinstance(value, str) and value > 0 for value in values)
