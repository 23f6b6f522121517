"""One chart as the bytes of a picture: its look, and the text around its axes."""

import io
import itertools
import math
import textwrap
from collections.abc import Sequence
from importlib.resources import as_file, files
from typing import Any, Final

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis as DrawnAxis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import PolyCollection
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from topoopt.pages.chart import (
    BarChart,
    Chart,
    CircleChart,
    HeatmapChart,
    Limit,
    LineChart,
    PolarChart,
    Series,
    StagesChart,
    TimelineChart,
)
from topoopt.pages.chart_layout import (
    DASHES,
    MARKS,
    Axis,
    Style,
    bar_axis,
    line_axes,
    styles,
    styles_of,
    words_and_unit,
)
from topoopt.pages.paper_diagrams import draw_network, draw_stages, size_of_stages

_MARKS_A_LINE: Final = 12
_FEW_POINTS: Final = 24
_FEW_BARS: Final = 150
_PLAIN_DECADES: Final = 2.0
"""Log axes over fewer decades than this are labeled between the powers of ten, too."""
_METADATA: Final[dict[str, Any]] = {
    "png": {"Software": "topoopt"},
    "svg": {"Date": None, "Creator": "topoopt"},
    "pdf": {"CreationDate": None, "ModDate": None, "Creator": "topoopt", "Producer": "topoopt"},
}
_GAP_POINTS: Final = 6
_LEGEND_LETTERS: Final = 72
"""Letters of a legend's line, over which it is broken."""
_TITLE_LETTERS: Final = 60
"""Letters of a line of the title: wider ones would make the whole figure wider than its axes."""
_TEXT_LETTERS: Final = 92
"""Letters of a line of the note."""


def axes_of(chart: Chart, axes: Any = None) -> Any:
    """Return the axes with one chart: those given, or those of a new figure with title, legend and note."""
    with mpl.rc_context(), as_file(files("topoopt.pages").joinpath("assets", "paper.mplstyle")) as look:
        mpl.rc_file(look)
        if axes is not None:
            draw_on(axes, chart)
            return axes
        figure = Figure(figsize=size_of(chart))
        FigureCanvasAgg(figure)
        axes = figure.add_subplot(projection="polar" if isinstance(chart, PolarChart) else None)
        draw_on(axes, chart)
        _write_around(figure, axes, chart)
        return axes


def draw(chart: Chart, formats: Sequence[str]) -> dict[str, bytes]:
    """Return one chart as the bytes of a file of each format."""
    result = {}
    with mpl.rc_context(), as_file(files("topoopt.pages").joinpath("assets", "paper.mplstyle")) as look:
        mpl.rc_file(look)
        figure = axes_of(chart).figure
        for name in formats:
            stream = io.BytesIO()
            metadata = _METADATA[name]
            figure.savefig(stream, format=name, metadata=metadata, bbox_inches="tight", pad_inches=0.06)
            result[name] = stream.getvalue()
    return result


def _write_around(figure: Figure, axes: Axes, chart: Chart) -> None:
    """Place the title above the axes, the legend below them and the note below that, without overlap."""
    figure.canvas.draw()
    scale = figure.dpi / 72
    box = axes.get_tightbbox()
    assert box is not None
    frame = axes.get_window_extent()
    top, bottom = max(box.y1, frame.y1), box.y0
    to_figure = figure.transFigure.inverted().transform
    left = float(to_figure((box.x0, 0))[0])
    title = "\n".join(textwrap.wrap(chart.title, _TITLE_LETTERS))
    above = float(to_figure((0, top + _GAP_POINTS * scale))[1])
    figure.text(left, above, title, fontsize=10.5, fontweight="bold", va="bottom")
    handles, labels = axes.get_legend_handles_labels()
    if len(labels) > 1 or (labels and not (isinstance(chart, BarChart) and not chart.stacked)):
        widest = max(map(len, labels)) + 6
        columns = max(1, min(len(labels), _LEGEND_LETTERS // widest))
        legend = figure.legend(
            handles,
            labels,
            loc="upper left",
            bbox_to_anchor=(left, float(to_figure((0, bottom - _GAP_POINTS * scale / 2))[1])),
            ncols=columns,
            borderaxespad=0,
            handlelength=2.6,
        )
        figure.canvas.draw()
        bottom = legend.get_window_extent().y0
    if chart.note:
        note = "\n".join(textwrap.wrap(chart.note, _TEXT_LETTERS))
        at = float(to_figure((0, bottom - _GAP_POINTS * scale))[1])
        figure.text(left, at, note, fontsize=8, color="#444444", va="top")


def size_of(chart: Chart) -> tuple[float, float]:
    """Return width and height of the figure in inches, before title, legend and note are added."""
    size = 5.6, 3.4
    match chart:
        case CircleChart() | PolarChart():
            size = 5.6, 5.6
        case StagesChart():
            size = size_of_stages(chart)
        case HeatmapChart():
            rows, columns = len(chart.values), max(map(len, chart.values), default=1)
            size = 5.6, min(max(5.0 * rows / max(columns, 1), 1.6), 6.5)
        case TimelineChart():
            lanes = len(chart.lanes)
            size = 6.4, min(0.6 + 0.36 * lanes, 6.0) if lanes else 2.4 if chart.until_s else 3.8
        case BarChart(horizontal=True):
            size = 6.0, min(1.0 + 0.3 * len(chart.words), 7.0)
        case BarChart():
            size = min(max(5.2, 1.6 + 0.55 * len(chart.words)), 9.0), 3.1
    return size


def draw_on(axes: Axes, chart: Chart) -> None:
    """Draw everything but title, legend and note."""
    match chart:
        case LineChart():
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
            across, up = line_axes(chart)
            if words:
                _name_ticks(axes.xaxis, words)
                axes.set_xlabel(chart.x_label)
            else:
                _set_axis(axes, "x", across)
            _set_axis(axes, "y", up)
            _draw_limits(axes, chart.limits)
            _draw_limits(axes, chart.x_limits, upright=True)
            _name_points(axes, chart)
        case BarChart():
            _bars(axes, chart)
        case HeatmapChart():
            _heatmap(axes, chart)
        case TimelineChart():
            _timeline(axes, chart)
        case CircleChart():
            draw_network(axes, chart)
        case PolarChart():
            draw_polar(axes, chart)
        case StagesChart():
            draw_stages(axes, chart)


def _name_points(axes: Axes, chart: LineChart) -> None:
    """Ring points, and write names beside them, with leaders to where neither points nor names are."""
    to_points = (axes.transData + axes.figure.dpi_scale_trans.inverted()).transform
    drawn = [(one, look) for one, look in zip(chart.series, styles(chart.series), strict=True) if one.names]
    edge = 72 * axes.figure.dpi_scale_trans.inverted().transform(axes.transAxes.transform((1.0, 1.0)))[0]
    taken = [(x - 6, x + 6, y - 6, y + 6) for one, _ in drawn for x, y in _points_of(one, to_points)]
    taken.append((edge, math.inf, -math.inf, math.inf))
    for one, look in drawn:
        if one.ringed:
            axes.plot(one.x, one.y, "o", ms=11, mfc="none", mec=look.color, mew=1.3, zorder=3)
        for name, value, place in zip(
            one.names, zip(one.x, one.y, strict=True), _points_of(one, to_points), strict=True
        ):
            found = _free_place(place, len(name) * 3.9, taken) if name else None
            if found is None:
                continue
            (across, up), side, box = found
            leader = {"arrowstyle": "-", "color": "#888888", "lw": 0.6, "shrinkA": 0, "shrinkB": 3}
            axes.annotate(
                name,
                value,
                (across, up),
                textcoords="offset points",
                fontsize=7.5,
                ha=side,
                va="center",
                arrowprops=leader if math.hypot(across, up) > _GAP_POINTS * 2 else None,
            )
            taken.append(box)


def _points_of(one: Series, to_points: Any) -> list[tuple[float, float]]:
    """Return where the points of a series are, in typographic points."""
    return [(72 * x, 72 * y) for x, y in to_points(list(zip(one.x, one.y, strict=True)))]


def _free_place(
    place: tuple[float, float], wide: float, taken: Sequence[tuple[float, float, float, float]]
) -> tuple[tuple[float, float], str, tuple[float, float, float, float]] | None:
    """Return the nearest free offset of a text from a point, its alignment and its box; None where none is free."""
    for far, turn in itertools.product((9, 20, 34, 50), (1, -1, 5, -5, 0, 6, 3, -3)):
        across, up = far * math.cos(turn * math.pi / 6), 1.1 * far * math.sin(turn * math.pi / 6)
        side = "left" if across > 1 else "right" if across < -1 else "center"
        left = place[0] + across - {"left": 0.0, "center": wide / 2, "right": wide}[side]
        box = left, left + wide, place[1] + up - 4.5, place[1] + up + 4.5
        if all(box[0] >= b or a >= box[1] or box[2] >= d or c >= box[3] for a, b, c, d in taken):
            return (across, up), side, box
    return None


def _marker(one: Series, look: Style) -> dict[str, Any]:
    points = len(one.x)
    if one.joined and one.stepped and points > _FEW_POINTS:
        every: Any = 0.12
    else:
        every = max(1, points // _MARKS_A_LINE) if one.joined and points > _FEW_POINTS else 1
    return {
        "marker": MARKS[look.mark] if one.marked or not one.joined else "none",
        "markevery": every,
        "markerfacecolor": "none" if one.published else look.color,
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
    _set_axis(axes, "x" if chart.horizontal else "y", bar_axis(chart))
    _draw_limits(axes, chart.limits, upright=chart.horizontal)
    axes.grid(visible=False, axis="y" if chart.horizontal else "x")
    (axes.set_ylabel if chart.horizontal else axes.set_xlabel)(chart.x_label)


def _heatmap(axes: Axes, chart: HeatmapChart) -> None:
    values = np.array(chart.values, float)
    present = values[np.isfinite(values)]
    above = present[present > 0]
    log = chart.value_log and above.size > 0 and (bool(chart.value_range) or above.min() < above.max())
    low, high = min(0.0, present.min(initial=0.0)), present.max(initial=0.0)
    least, most = chart.value_range or ((above.min(), above.max()) if log else (low, high))
    norm = LogNorm(least, most) if log else Normalize(least, most if most > least else least + 1)
    shown = np.ma.masked_where(~np.isfinite(values) | (values == 0) | ((values < 0) & log), values)
    image = axes.imshow(shown, cmap="Blues", norm=norm, aspect="auto", interpolation="nearest")
    bar = axes.figure.colorbar(image, ax=axes, pad=0.02)
    words, unit, scale = words_and_unit(chart.value_label)
    value = Axis(words, unit, scale, low, high, log)
    bar.set_label(", ".join(filter(None, (words, "log scale" if log else ""))))
    bar.outline.set_visible(False)
    if log and np.log10(most / least) < _PLAIN_DECADES:
        bar.ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    bar.ax.yaxis.set_major_formatter(_ticks(value))
    bar.ax.yaxis.set_minor_formatter(NullFormatter())
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(8, integer=True))
    axes.grid(visible=False)
    axes.set_xlabel(chart.x_label)
    axes.set_ylabel(chart.y_label)


def _timeline(axes: Axes, chart: TimelineChart) -> None:
    for (kind, bars), look in zip(chart.by_kind.items(), styles_of(list(chart.by_kind)), strict=True):
        spans = [(bar.start_s, bar.finish_s, bar.lane, bar.lane + bar.lanes) for bar in bars]
        boxes = [
            [(start, top - 0.42), (end, top - 0.42), (end, below - 0.58), (start, below - 0.58)]
            for start, end, top, below in spans
        ]
        width = 0.3 if len(chart.bars) <= _FEW_BARS else 0.1
        axes.add_collection(
            PolyCollection(boxes, facecolor=look.color, edgecolor="white", linewidth=width, label=kind)
        )
    begin_s, end_s = chart.span_s
    _set_axis(axes, "x", Axis("time", "s", 1.0, begin_s, end_s))
    letter_s = (end_s - begin_s) / 90
    for bar in chart.bars:
        if len(bar.name) * letter_s < bar.finish_s - bar.start_s:
            middle = (bar.start_s + bar.finish_s) / 2, bar.lane + bar.lanes / 2 - 0.5
            axes.text(*middle, bar.name, fontsize=6.5, color="white", ha="center", va="center", clip_on=True)
    axes.set_ylim(chart.height - 0.45, -0.55)
    if chart.lanes:
        axes.set_yticks(range(chart.height), chart.lanes)
    axes.grid(visible=False, axis="y")
    axes.set_ylabel(chart.y_label)


def _name_ticks(axis: DrawnAxis, words: Sequence[str]) -> None:
    axis.set_ticks(range(len(words)), list(words))
    crowded = sum(map(len, words)) > 60 or max(map(len, words), default=0) > 14
    if axis.axis_name == "x" and crowded:  # type: ignore[attr-defined]
        for label in axis.get_ticklabels():
            label.set(rotation=30, ha="right", rotation_mode="anchor")


def _set_axis(axes: Axes, which: str, axis: Axis) -> None:
    drawn = axes.xaxis if which == "x" else axes.yaxis
    if axis.log:
        (axes.set_xscale if which == "x" else axes.set_yscale)("log")
    (axes.set_xlim if which == "x" else axes.set_ylim)(axis.low, axis.high)
    (axes.set_xlabel if which == "x" else axes.set_ylabel)(axis.words)
    if axis.log and np.log10(axis.high / axis.low) < _PLAIN_DECADES:
        drawn.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    elif axis.round_in != 1 and not axis.log:
        least, most = (end / axis.round_in for end in (axis.low, axis.high))
        places = MaxNLocator(7).tick_values(least, most)
        drawn.set_major_locator(
            FixedLocator([place * axis.round_in for place in places if least <= place <= most])
        )
    drawn.set_major_formatter(_ticks(axis))
    drawn.set_minor_formatter(NullFormatter())


def _draw_limits(axes: Axes, limits: Sequence[Limit], *, upright: bool = False) -> None:
    for limit in limits:
        (axes.axvline if upright else axes.axhline)(
            limit.value, color="#222222", linewidth=1, linestyle=(0, (4, 2))
        )
        place = axes.get_xaxis_transform() if upright else axes.get_yaxis_transform()
        at = (limit.value, 1.01) if upright else (0.99, limit.value)
        axes.text(*at, limit.name, transform=place, fontsize=7.5, ha="right", va="bottom")


def _ticks(axis: Axis) -> FuncFormatter:
    """Return the texts of ticks: on a plain axis all with one prefix, by logarithms each with its own."""
    most = None if axis.log else max(abs(axis.low), abs(axis.high)) / 1.2
    return FuncFormatter(lambda value, _: axis.tick(value, most))


def draw_polar(axes: Any, chart: PolarChart) -> None:
    """Draw arcs and circles on polar axes, 0 degrees on top and clockwise."""
    axes.set_theta_zero_location("N")
    axes.set_theta_direction(-1)
    for (kind, arcs), look in zip(chart.by_kind.items(), styles_of(list(chart.by_kind)), strict=True):
        axes.bar(
            [math.radians(arc.start_deg + arc.width_deg / 2) for arc in arcs],
            [arc.outer - arc.inner for arc in arcs],
            [math.radians(arc.width_deg) for arc in arcs],
            [arc.inner for arc in arcs],
            label=kind,
            facecolor=look.color,
            linewidth=0,
        )
    around = np.linspace(0, math.tau, 181)
    for radius, name in chart.circles:
        axes.plot(
            around,
            np.full(len(around), radius),
            color="#222222",
            linewidth=0.9,
            linestyle=DASHES["dash"],
            label=name,
        )
    axes.set_ylim(0, 1)
    axes.set_yticks([])
    axes.set_xticks([math.radians(degrees) for degrees, _ in chart.ticks], [text for _, text in chart.ticks])
