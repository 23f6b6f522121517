"""Charts for the screen: what plotly.js draws of each, and what the page's own script draws of a circle.

A figure is a plain mapping. Its colors are those for a white page; the script of the page changes them where it is dark
(:data:`topoopt.report.style.LIGHT` to ``DARK``).
"""

from collections.abc import Sequence
from math import isfinite
from typing import Any, Final

from topoopt.report.chart import (
    Bar,
    BarChart,
    Chart,
    CircleChart,
    HeatmapChart,
    LineChart,
    Series,
    TimelineChart,
)
from topoopt.report.circle import places, strands
from topoopt.report.polar_chart import PolarChart
from topoopt.report.screen_polar import polar_figure
from topoopt.report.style import LIGHT, Style, style, styles, styles_of
from topoopt.report.words import from_zero, time_unit

PAGE: Final = "#ffffff"
"""Inside of hollow marks and bars."""
PLAIN: Final = "#5b6470"
"""Links that are in no ring."""

_MANY_POINTS: Final = 40
_FEW_BARS: Final = 150
"""Outlines of more bars would leave nothing of the narrow ones, whose neighbors are a little paler instead."""
_MANY_STEPS: Final = 8
"""Longer lines have no marks: they would hide them."""
_HEIGHT: Final = 360
_BAR_HEIGHT: Final = 30
_ROOM: Final = 1.04


def figure(chart: Chart) -> dict[str, Any]:
    """Return a chart as the page's script takes it: ``kind``, ``title``, ``note`` and what is drawn."""
    match chart:
        case LineChart():
            body = _lines(chart)
        case BarChart():
            body = _bars(chart)
        case HeatmapChart():
            body = _heatmap(chart)
        case TimelineChart():
            body = _timeline(chart)
        case CircleChart():
            body = _circle(chart)
        case PolarChart():
            body = polar_figure(chart)
    kind = "circle" if isinstance(chart, CircleChart) else "plotly"
    return {"name": chart.name, "kind": kind, "title": chart.title, "note": chart.note, **body}


def _lines(chart: LineChart) -> dict[str, Any]:
    x_axis = _axis(chart.x_label, log=chart.x_log, words=bool(chart.words))
    y_axis = _axis(chart.y_label, log=chart.y_log)
    if chart.x_from_zero and not (chart.x_log or chart.words):
        x_axis["range"] = [0.0, from_zero((x for one in chart.series for x in one.x), _ROOM)]
    if chart.y_from_zero and not chart.y_log:
        y_axis["range"] = [0.0, from_zero((y for one in chart.series for y in one.y), _ROOM)]
    traces = [_line(one, look) for one, look in zip(chart.series, styles(chart.series), strict=True)]
    layout = {"xaxis": x_axis, "yaxis": y_axis, "hovermode": "closest"}
    return {"data": traces, "layout": layout, "height": _HEIGHT}


def _line(one: Series, look: Style) -> dict[str, Any]:
    few = len(one.x) <= (_MANY_STEPS if one.stepped else _MANY_POINTS)
    marked = not one.joined or (one.marked and few)
    trace: dict[str, Any] = {
        "type": "scatter",
        "name": _escaped(one.name),
        "x": [_escaped(x) if isinstance(x, str) else x for x in one.x],
        "y": _numbers(one.y),
        "mode": ("lines+markers" if marked else "lines") if one.joined else "markers",
        "line": {
            "color": look.color,
            "dash": look.dash,
            "width": 2,
            "shape": "hv" if one.stepped else "linear",
        },
        "marker": {
            "symbol": look.mark,
            "size": 9 if one.published or not one.joined else 7,
            "color": PAGE if one.published else look.color,
            "line": {"color": look.color, "width": 1.8 if one.published else 0},
        },
    }
    if one.labels:
        trace["text"] = [_escaped(label) for label in one.labels]
        trace["hovertemplate"] = "%{text}<br>%{x}, %{y}<extra></extra>"
    return trace


def _bars(chart: BarChart) -> dict[str, Any]:
    named = _axis(chart.x_label, words=True)
    valued = _axis(chart.y_label, log=chart.y_log)
    rows = len(chart.words)
    height = max(_HEIGHT, 140 + _BAR_HEIGHT * rows * (1 + chart.beside) // 2)
    if chart.horizontal:
        named["autorange"] = "reversed"
    return {
        "data": [
            _bar(one, look, chart.horizontal)
            for one, look in zip(chart.series, styles(chart.series), strict=True)
        ],
        "layout": {
            "barmode": "stack" if chart.stacked else "group",
            "xaxis": valued if chart.horizontal else named,
            "yaxis": named if chart.horizontal else valued,
            "hovermode": "y unified" if chart.horizontal else "x unified",
            "bargap": 0.3,
        },
        "height": _HEIGHT if not chart.horizontal else 150 if rows * chart.beside == 1 else height,
    }


def _bar(one: Series, look: Style, horizontal: bool) -> dict[str, Any]:
    words, values = [_escaped(str(x)) for x in one.x], _numbers(one.y)
    trace: dict[str, Any] = {
        "type": "bar",
        "name": _escaped(one.name),
        "orientation": "h" if horizontal else "v",
        "x": values if horizontal else words,
        "y": words if horizontal else values,
        "marker": {
            "color": PAGE if one.published else look.color,
            "line": {"color": look.color, "width": 1.5 if one.published else 0},
            "pattern": {"shape": "/" if one.published else "", "fgcolor": look.color},
        },
    }
    if one.labels:
        trace |= {"text": [_escaped(label) for label in one.labels], "textposition": "none"}
    return trace


def _heatmap(chart: HeatmapChart) -> dict[str, Any]:
    """Colors by the logarithm are those of the exponents; what is pointed at is said as it is."""
    present = [value for row in chart.values for value in row if isfinite(value) and value > 0]
    columns = max(map(len, chart.values), default=1)
    square = {"constrain": "domain", "showgrid": False}
    rows_down = {"autorange": "reversed", "scaleanchor": "x"}
    return {
        "data": [{"type": "heatmap", "values": [_numbers(row) for row in chart.values]}],
        "layout": {
            "xaxis": {**_axis(chart.x_label), **_numbered(columns), **square},
            "yaxis": {**_axis(chart.y_label), **_numbered(len(chart.values)), **square, **rows_down},
        },
        "value_label": chart.value_label,
        "log": chart.value_log and bool(present) and min(present) < max(present),
        "height": 430,
    }


def _timeline(chart: TimelineChart) -> dict[str, Any]:
    unit, scale = time_unit(chart.end_s)
    few = len(chart.bars) <= _FEW_BARS
    times, lanes = _axis(f"time ({unit})"), _axis(chart.y_label)
    times["range"] = [0.0, from_zero((bar.finish_s / scale for bar in chart.bars), _ROOM)]
    lanes |= {"range": [chart.height - 0.5, -0.5], "showgrid": False, **_numbered(chart.height)}
    if chart.lanes:
        names = [_escaped(lane) for lane in chart.lanes]
        lanes |= {"tickvals": list(range(chart.height)), "ticktext": names}
    kinds = chart.by_kind.items()
    return {
        "data": [
            _lane_bars(kind, bars, scale, look.color, few)
            for (kind, bars), look in zip(kinds, styles_of(list(chart.by_kind)), strict=True)
        ],
        "layout": {"barmode": "overlay", "xaxis": times, "yaxis": lanes, "hovermode": "closest"},
        "height": 120 + 46 * chart.height if chart.lanes else 460,
    }


def _lane_bars(kind: str, bars: Sequence[Bar], scale: float, color: str, few: bool) -> dict[str, Any]:
    return {
        "type": "bar",
        "orientation": "h",
        "name": _escaped(kind),
        "base": _numbers([bar.start_s / scale for bar in bars]),
        "x": _numbers([(bar.finish_s - bar.start_s) / scale for bar in bars]),
        "y": [bar.lane + (bar.lanes - 1) / 2 for bar in bars],
        "width": [bar.lanes - 0.2 for bar in bars],
        "text": [_escaped(bar.label or kind) for bar in bars],
        "textposition": "none",
        "hovertemplate": "%{text}<extra>" + _escaped(kind) + "</extra>",
        "marker": {
            "color": color,
            "line": {"color": PAGE, "width": 0.5 if few else 0},
            "opacity": [1 if few or number % 2 == 0 else 0.78 for number in range(len(bars))],
        },
    }


def _circle(chart: CircleChart) -> dict[str, Any]:
    """Routes are kept short: lists of ``[weight, nodes…]`` under ``"src-dst"``."""
    rings, (others, rest) = strands(chart)
    lines = [(name, style(index).color, pairs) for index, (name, pairs) in enumerate(rings)]
    if rest:
        lines.append((others, PLAIN, rest))
    return {
        "servers": chart.servers,
        "places": [[round(x, 5), round(y, 5)] for x, y in places(chart.servers, chart.nodes)],
        "rings": [{"name": name, "color": color, "cables": pairs} for name, color, pairs in lines],
        "links": [[src, dst, ports, round(size)] for src, dst, ports, size in chart.links],
        "turned": chart.turned,
        "routes": {
            f"{route.src}-{route.dst}": [[round(weight, 4), *nodes] for weight, nodes in route.paths]
            for route in chart.routes
        },
    }


def _axis(title: str, *, log: bool = False, words: bool = False) -> dict[str, Any]:
    axis: dict[str, Any] = {"title": {"text": _escaped(title)}, "automargin": True}
    if words:
        axis.update({"type": "category", "showgrid": False})
    elif log:
        axis.update({"type": "log", "dtick": "D2", "exponentformat": "SI"})
    else:
        axis["exponentformat"] = "SI"
    return axis


def _numbered(count: int) -> dict[str, int]:
    """Return the ticks of an axis that counts things from 0: ten at most, and none between two of them."""
    sizes = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, count)
    return {"tick0": 0, "dtick": next(size for size in sizes if count / size <= 10)}


def _numbers(values: Sequence[float]) -> list[float | None]:
    """Return the values with None where JSON has no number, at the precision that a screen can show."""
    return [float(f"{value:.7g}") if isfinite(value) else None for value in values]


def _escaped(text: str) -> str:
    """Return text that plotly.js, which reads some tags, shows as it is."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def colors() -> dict[str, str]:
    """Return which color on a white page becomes which on a dark one."""
    dark = {style(index).color: style(index).dark_color for index in range(len(LIGHT))}
    return {**dark, PAGE: "#161b22", PLAIN: "#98a2b0"}
