"""Rows as lines: two columns, with a line for each value of other columns."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import fmean
from typing import Any

from topoopt.base.errors import InvalidInput
from topoopt.plans import front
from topoopt.studies.sweep.results import Results, Rows, axes_of, check_expressions, select

FRONT = "front"
"""Name of the Pareto front of price and time."""
_FIGURES = ("cost_usd", "iteration_time_s")
MOST_LINES = 24
"""Most lines of a chart that can be distinguished."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line: its name, and y for ascending x."""

    name: str
    x: tuple[Any, ...]
    y: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines of one picture.

    Attributes
    ----------
    averaged : tuple of str
        Settings that differ among the points behind one mark, which is their mean.
    fixed : tuple of (setting, value)
        Settings of the file that differ in it, but not among the points drawn.
    """

    lines: tuple[Line, ...]
    averaged: tuple[str, ...]
    fixed: tuple[tuple[str, Any], ...]


def lines_of(results: Results, x: str, y: str, by: Sequence[str], where: str | None = None) -> Lines:
    """Return y over x; where several points have the same x in one line, the mean of them.

    Raises
    ------
    InvalidInput
        For misspelled columns, a y that is no number, no points, or more lines than :data:`MOST_LINES`.
    """
    for flag, expressions in (("plot", (x,)), ("y", (y,)), ("by", tuple(by))):
        check_expressions(results, expressions, flag)
    axes = axes_of(results)
    rows = select(
        results, (*by, x, y, *axes), where=f"status = 'ok' AND ({where})" if where else "status = 'ok'"
    ).rows
    drawn = [row for row in rows if row[len(by)] is not None and row[len(by) + 1] is not None]
    if not drawn:
        raise InvalidInput(f"plot: no point has both {x} and {y}; loosen where, or take another column")
    if not all(isinstance(row[len(by) + 1], int | float) for row in drawn):
        raise InvalidInput(f'y: expected numbers, got {y}, such as "{drawn[0][len(by) + 1]}"')
    drawn.sort(key=lambda row: [_ordered(value) for value in row[: len(by) + 1]])
    lines = []
    averaged: set[str] = set()
    for name, group in groupby(drawn, key=lambda row: row[: len(by)]):
        points = []
        for value, same in groupby(group, key=lambda row: row[len(by)]):
            here = list(same)
            points.append((value, fmean(float(row[len(by) + 1]) for row in here)))
            for place, axis in enumerate(axes, len(by) + 2):
                if len({row[place] for row in here}) > 1:
                    averaged.add(axis)
        lines.append(Line(", ".join(str(part) for part in name), *map(tuple, zip(*points, strict=True))))
    if len(lines) > MOST_LINES:
        raise InvalidInput(f"by: {len(lines)} lines, allowed are {MOST_LINES}; use fewer columns, or where")
    fixed = [
        (axis, drawn[0][place])
        for place, axis in enumerate(axes, len(by) + 2)
        if axis not in by and len({row[place] for row in drawn}) == 1
    ]
    return Lines(tuple(lines), tuple(axis for axis in axes if axis in averaged), tuple(fixed))


def _ordered(value: Any) -> tuple[bool, Any]:
    """Sort numbers before text, so that both may be in one column."""
    return (not isinstance(value, int | float), value if isinstance(value, int | float) else str(value))


def front_rows(
    results: Results, columns: Sequence[str], per: Sequence[str], *, where: str | None = None, limit: int = 0
) -> Rows:
    """Return, of every combination of the columns ``per``, the points on the front, the cheapest first.

    A point without a price is on no front. Parameters as in :func:`topoopt.studies.sweep.best`, without the
    quantity.

    Raises
    ------
    InvalidInput
        As :func:`topoopt.studies.sweep.select`.
    """
    for place, expressions in (("columns", columns), ("per", per)):
        check_expressions(results, expressions, place)
    groups = ", ".join(per)
    kept = f"status = 'ok' AND ({where}\n)" if where else "status = 'ok'"
    found = select(results, (*columns, *_FIGURES, *per), where=kept, order=groups or None)
    price, time, first = len(columns), len(columns) + 1, len(columns) + len(_FIGURES)
    rows = [
        row[:price]
        for _, group in groupby(found.rows, key=lambda row: row[first:])
        for row in front(tuple(group), lambda row: row[price], lambda row: row[time])
    ]
    return Rows(found.columns[:price], tuple(rows[:limit] if limit else rows))
