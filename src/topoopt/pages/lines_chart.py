"""Rows of a sweep as a chart of lines, in units that a person reads."""

from pathlib import PurePath
from typing import Any

from topoopt.pages.cells import cell, heading
from topoopt.pages.chart import LineChart, Series
from topoopt.studies.sweep import Lines

SCALES = {"_bps": ("Gb/s", 1e9), "_s": ("ms", 1e-3), "_usd": ("1,000 $", 1e3), "_w": ("kW", 1e3)}
"""By the ending of a column: the unit on the axis, and how much of the column's it is."""


def lines_chart(lines: Lines, columns: tuple[str, str], x_log: bool, y_log: bool, source: str) -> LineChart:
    """Return lines over two columns as a chart, in units that a person reads; ``source`` names a single line."""
    x, y = columns
    x_label, x_scale = _scale(x)
    y_label, y_scale = _scale(y)
    series = tuple(
        Series(
            line.name or PurePath(source).stem,
            tuple(_scaled(value, x_scale) for value in line.x),
            tuple(value / y_scale for value in line.y),
        )
        for line in lines.lines
    )
    title = f"{_words(y)} over {_words(x)}"
    return LineChart(
        "results",
        title[:1].upper() + title[1:],
        x_label,
        y_label,
        series,
        x_log,
        y_log,
        _note(lines),
    )


def _note(lines: Lines) -> str:
    parts = [", ".join(f"{_words(name)} {cell(name, value)}" for name, value in lines.fixed)]
    if lines.averaged:
        parts.append(f"mean over {', '.join(_words(name) for name in lines.averaged)}")
    return "; ".join(part for part in parts if part)


def _scale(column: str) -> tuple[str, float]:
    for ending, (unit, scale) in SCALES.items():
        if column.isidentifier() and column.endswith(ending):
            return f"{_words(column)} ({unit})", scale
    return _words(column), 1.0


def _words(column: str) -> str:
    return heading(column, SCALES) if column.isidentifier() else column


def _scaled(value: Any, scale: float) -> float | str:
    return value / scale if isinstance(value, int | float) and not isinstance(value, bool) else str(value)
