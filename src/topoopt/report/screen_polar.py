"""A polar chart for the screen, as plotly.js draws it."""

from html import escape
from typing import Any, Final

from topoopt.report.polar_chart import Arc, PolarChart
from topoopt.report.style import styles_of

LINE: Final = "#5b6470"
_HEIGHT: Final = 430
_STEP_DEG: Final = 3


def polar_figure(chart: PolarChart) -> dict[str, Any]:
    """Return traces and layout: 0 degrees on top, and clockwise."""
    kinds = chart.by_kind.items()
    bars = [
        _bars(kind, arcs, look.color)
        for (kind, arcs), look in zip(kinds, styles_of(list(chart.by_kind)), strict=True)
    ]
    return {
        "data": [*bars, *(_circle(radius, name) for radius, name in chart.circles)],
        "layout": {
            "polar": {
                "angularaxis": {
                    "direction": "clockwise",
                    "rotation": 90,
                    "tickvals": [degrees for degrees, _ in chart.ticks],
                    "ticktext": [escape(text, quote=False) for _, text in chart.ticks],
                },
                "radialaxis": {
                    "range": [0, 1],
                    "showticklabels": False,
                    "ticks": "",
                    "showline": False,
                    "showgrid": False,
                },
            },
            "hovermode": "closest",
        },
        "height": _HEIGHT,
    }


def _bars(kind: str, arcs: list[Arc], color: str) -> dict[str, Any]:
    return {
        "type": "barpolar",
        "name": escape(kind, quote=False),
        "theta": [round(arc.start_deg + arc.width_deg / 2, 4) for arc in arcs],
        "width": [round(arc.width_deg, 4) for arc in arcs],
        "base": [round(arc.inner, 5) for arc in arcs],
        "r": [round(arc.outer - arc.inner, 5) for arc in arcs],
        "text": [escape(arc.label or kind, quote=False) for arc in arcs],
        "hovertemplate": "%{text}<extra></extra>",
        "marker": {"color": color, "line": {"width": 0}},
    }


def _circle(radius: float, name: str) -> dict[str, Any]:
    around = list(range(0, 361, _STEP_DEG))
    return {
        "type": "scatterpolar",
        "name": escape(name, quote=False),
        "mode": "lines",
        "theta": around,
        "r": [round(radius, 5)] * len(around),
        "hoverinfo": "skip",
        "line": {"color": LINE, "dash": "dash", "width": 1.4},
    }
