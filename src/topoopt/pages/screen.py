"""Charts for the screen: plain mappings that the modules in ``assets/charts/`` draw, in a report and in any other page.

A figure has its data, the ranges of its axes, and the indices of the page's colors; width, ticks and fonts are the
page's. Numbers are as in the chart, with ``scale`` to SI units.
"""

from collections.abc import Sequence
from itertools import groupby
from math import isfinite
from typing import Any, Final

import numpy as np

from topoopt.base.answers import fields_of
from topoopt.pages.chart import (
    Bar,
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
    LIGHT,
    Axis,
    Style,
    bar_axis,
    line_axes,
    strands,
    style,
    styles,
    styles_of,
    words_and_unit,
)
from topoopt.pages.chart_layout import places as places_on_circle

PLAIN: Final = "plain"
"""The color of links that are in no ring."""
UNROLLED_FROM: Final = 128
"""Servers from which a circle is a thin ring, and a topology is shown unrolled."""

_MANY_POINTS: Final = 40
_MANY_STEPS: Final = 8
"""Longer lines have no marks: they would hide them."""
_HEIGHT: Final = 350
_BAR_HEIGHT: Final = 26


def figure(chart: Chart) -> dict[str, Any]:
    """Return a chart as the page's script takes it: ``kind``, ``name``, ``title``, ``note`` and its data."""
    body: dict[str, Any]
    match chart:
        case LineChart():
            x, y = line_axes(chart)
            looks = styles(chart.series)
            body = {
                "kind": "lines",
                "height": _HEIGHT,
                "x": {"label": chart.x_label, "words": chart.words} if chart.words else _axis(x),
                "y": _axis(y),
                "series": [_line(one, look) for one, look in zip(chart.series, looks, strict=True)],
                "limits": _limits(chart.limits),
                **({"x_limits": _limits(chart.x_limits)} if chart.x_limits else {}),
            }
        case BarChart():
            words = chart.words
            lying = 84 + 16 * bool(chart.limits) + _BAR_HEIGHT * len(words) * (1 + chart.beside) // 2
            body = {
                "kind": "bars",
                "height": (lying if len(words) * chart.beside > 1 else 112 + 16 * bool(chart.limits))
                if chart.horizontal
                else _HEIGHT,
                **fields_of(chart, "horizontal", "stacked"),
                "label": chart.x_label,
                "words": words,
                "value": _axis(bar_axis(chart)),
                "series": [
                    {"name": one.name, **_look(look, hollow=one.published), **_by_word(one, words)}
                    for one, look in zip(chart.series, styles(chart.series), strict=True)
                ],
                "limits": _limits(chart.limits),
            }
        case HeatmapChart():
            body = _heatmap(chart)
        case TimelineChart():
            body = _timeline(chart)
        case CircleChart():
            body = _network(chart)
        case PolarChart():
            body = _polar(chart)
        case StagesChart():
            body = _stages(chart)
    return {"name": chart.name, "title": chart.title, "note": chart.note, **body}


def _line(one: Series, look: Style) -> dict[str, Any]:
    few = len(one.x) <= (_MANY_STEPS if one.stepped else _MANY_POINTS)
    more = {
        **({"labels": list(one.labels)} if one.labels else {}),
        **({"names": list(one.names)} if any(one.names) else {}),
        **({"ringed": True} if one.ringed else {}),
    }
    return {
        "name": one.name,
        **_look(look, hollow=one.published),
        **fields_of(look, "dash", "mark"),
        "marked": not one.joined or (one.marked and few),
        **fields_of(one, "joined", "stepped"),
        "x": [x if isinstance(x, str) else _number(x) for x in one.x],
        "y": [_number(y) for y in one.y],
        **more,
    }


def _by_word(one: Series, words: Sequence[str]) -> dict[str, Any]:
    """Return the values of a series in the order of the categories, None where it has none."""
    values = {str(x): _number(y) for x, y in zip(one.x, one.y, strict=True)}
    found: dict[str, Any] = {"y": [values.get(word) for word in words]}
    if one.labels:
        said = {str(x): label for x, label in zip(one.x, one.labels, strict=True)}
        found["labels"] = [said.get(word, "") for word in words]
    return found


def _heatmap(chart: HeatmapChart) -> dict[str, Any]:
    """Return the values that there are, and row by row how often which of them comes: most are zero, or alike."""
    present = [value for row in chart.values for value in row if isfinite(value) and value > 0]
    words, unit, scale = words_and_unit(chart.value_label)
    rows = [[_number(value) for value in row] for row in chart.values]
    levels = list(dict.fromkeys([0, *(value for row in rows for value in row)]))
    place = {value: index for index, value in enumerate(levels)}
    return {
        "kind": "heatmap",
        "height": 430,
        **fields_of(chart, "x_label", "y_label"),
        "value": {"label": words, "unit": unit, "scale": scale},
        **({"range": list(chart.value_range)} if chart.value_range else {}),
        "log": chart.value_log and bool(present) and (bool(chart.value_range) or min(present) < max(present)),
        "levels": levels,
        "rows": [_runs([place[value] for value in row]) for row in rows],
    }


def _runs(numbers: Sequence[int]) -> list[int]:
    """Return each number and how often it comes in a row: (4, 4, 0) is 4, 2, 0, 1."""
    return [part for number, run in groupby(numbers) for part in (number, len(list(run)))]


def _timeline(chart: TimelineChart) -> dict[str, Any]:
    kinds = list(chart.by_kind)
    times = Axis("time", "s", 1.0, *chart.span_s)
    return {
        "kind": "timeline",
        "height": 66 + 40 * chart.height if chart.lanes else 300 if chart.until_s else 460,
        "x": _axis(times),
        "label": chart.y_label,
        "lanes": list(chart.lanes),
        "count": chart.height,
        "kinds": [{"name": kind, **_look(look)} for kind, look in zip(kinds, styles_of(kinds), strict=True)],
        "bars": [_lane_bar(bar, kinds.index(bar.kind)) for bar in chart.bars],
    }


def _lane_bar(bar: Bar, kind: int) -> list[Any]:
    return [
        bar.lane,
        _number(bar.start_s),
        _number(bar.finish_s),
        kind,
        bar.label or bar.kind,
        bar.lanes,
        *([bar.name] if bar.name else []),
    ]


def _network(chart: CircleChart) -> dict[str, Any]:
    """Return the links, on a circle or, for many servers, ring by ring."""
    rings, (others, rest) = strands(chart)
    lines: list[tuple[str, int | str, Any]] = [
        (name, _color(style(index)), pairs) for index, (name, pairs) in enumerate(rings)
    ]
    if rest:
        lines.append((others, PLAIN, rest))
    unrolled = chart.servers >= UNROLLED_FROM
    return {
        "kind": "unrolled" if unrolled else "circle",
        **fields_of(chart, "servers", "nodes"),
        **({"walks": _walks(chart)} if unrolled else {"places": _places(chart)}),
        "rings": [{"name": name, "color": color, "cables": pairs} for name, color, pairs in lines],
        **({"groups": _groups(chart, len(lines))} if unrolled else {}),
        "links": [[src, dst, ports, round(size)] for src, dst, ports, size in chart.links],
        "turned": chart.turned,
        "routes": _routes(chart),
    }


def _groups(chart: CircleChart, lines: int) -> list[dict[str, Any]]:
    """Return the lines of each group of rings, and those of the other links; one for all where all are of one."""
    names = [ring.group for ring in chart.rings] + ["other links"] * (lines - len(chart.rings))
    if len(set(names[: len(chart.rings)])) < 2:
        return [{"name": "", "lines": list(range(lines))}]
    rows = dict.fromkeys(names)
    return [
        {"name": row, "lines": [place for place, name in enumerate(names) if name == row]} for row in rows
    ]


def _routes(chart: CircleChart) -> dict[int, dict[int, str]]:
    """Return the paths by source and destination, ``76 5 1c;24 7``: 76 % of the bytes go over 5 and 48.

    Most of a large page is this, so that it is kept short: nodes between the ends to base 36, whole percents.
    """
    names = [np.base_repr(node, 36).lower() for node in range(chart.nodes)]
    texts: dict[int, dict[int, str]] = {}
    for route in chart.routes:
        paths = (
            " ".join([str(round(100 * weight)), *(names[node] for node in nodes[1:-1])])
            for weight, nodes in route.paths
        )
        texts.setdefault(route.src, {})[route.dst] = ";".join(paths)
    return texts


def _places(chart: CircleChart) -> list[list[float]]:
    return [[round(x, 5), round(y, 5)] for x, y in places_on_circle(chart.servers, chart.nodes)]


def _walks(chart: CircleChart) -> list[dict[str, Any]]:
    return [
        {"name": ring.name, "color": _color(style(index)), "walk": list(ring.walk)}
        for index, ring in enumerate(chart.rings)
    ]


def _polar(chart: PolarChart) -> dict[str, Any]:
    kinds = list(chart.by_kind)
    return {
        "kind": "polar",
        "height": 430,
        "kinds": [{"name": kind, **_look(look)} for kind, look in zip(kinds, styles_of(kinds), strict=True)],
        "arcs": [
            [
                *(round(value, 5) for value in (arc.start_deg, arc.width_deg, arc.inner, arc.outer)),
                kinds.index(arc.kind),
                arc.label or arc.kind,
            ]
            for arc in chart.arcs
        ],
        "circles": [{"radius": round(radius, 5), "name": name} for radius, name in chart.circles],
        "ticks": [[degrees, text] for degrees, text in chart.ticks],
    }


def _stages(chart: StagesChart) -> dict[str, Any]:
    return {
        "kind": "stages",
        "height": 200,
        "stages": [
            {"name": one.name, "lines": list(one.lines), "busy_s": _number(one.busy_s)}
            for one in chart.stages
        ],
        "sends": [_number(size) for size in chart.sends_bytes],
        "back": chart.back,
    }


def _axis(axis: Axis) -> dict[str, Any]:
    return {
        "label": axis.words,
        **fields_of(axis, "unit", "scale", "low", "high", "log"),
    }


def _limits(limits: Sequence[Limit]) -> list[dict[str, Any]]:
    return [{"value": limit.value, "label": limit.name} for limit in limits]


def _look(look: Style, *, hollow: bool = False) -> dict[str, Any]:
    return {"color": _color(look), "hollow": hollow}


def _color(look: Style) -> int:
    return LIGHT.index(look.color)


def _number(value: float) -> float | None:
    """Return a value, None where JSON has no number, at the precision that a screen can show, and no longer."""
    if not isfinite(value):
        return None
    shown = float(f"{value:.7g}")
    return int(shown) if shown.is_integer() and abs(shown) < 1e15 else shown
