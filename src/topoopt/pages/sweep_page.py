"""A sweep and its results file, as pages: points and values, and rows of figures."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from operator import itemgetter
from pathlib import PurePath
from typing import Any

from topoopt.pages.chart import Chart, LineChart, Series
from topoopt.pages.page import Block, Notes, Page, Section, Table
from topoopt.pages.pareto_chart import ParetoPoint, pareto_front, pareto_series
from topoopt.pages.tables import cell, counted, facts, heading, number, table, text
from topoopt.studies.sweep import Lines, ResultsAnswer, Summary, SweepAnswer, SweepPreview

SCALES = {"_bps": ("Gb/s", 1e9), "_s": ("ms", 1e-3), "_usd": ("1,000 $", 1e3), "_w": ("kW", 1e3)}
"""Axis unit by the suffix of a column, and its size in the column's unit."""
MOST_VALUES, MOST_ERRORS, MOST_ROWS = 12, 5, 20


def sweep_page(answer: SweepAnswer) -> Page:
    """Return the number of computed points, and their file."""
    run = answer.run
    kinds = [
        f"{count:,} {'with' if status == 'ok' else status + ', without'} a result"
        for status, count in sorted(run.by_status.items(), key=lambda item: item[0] != "ok")
    ]
    points = {
        "computed": f"{run.computed:,}" + (f": {'; '.join(kinds)}" if kinds else ""),
        "found": f"{run.found:,} that were there already" if run.found else "",
        "beside": f"{counted(run.others, 'point')} of other sweeps" if run.others else "",
        "results": answer.out,
    }
    failed = "What has failed is tried again by the same command; the reason is in its row."
    notes = (Notes((failed,), warn=True),) if run.by_status.get("failed") else ()
    return _page("sweep", answer.sweep.name, counted(run.points, "point"), (facts(points), *notes))


def preview_page(answer: SweepPreview) -> Page:
    """Return a preview of a sweep."""
    points = len(answer.sweep.points)
    axes = facts({name: ", ".join(cell(name, one) for one in row) for name, row in answer.sweep.axes.items()})
    missing = f"{answer.finished:,} are in {answer.out}, {points - answer.finished:,} would be computed"
    return _page("sweep", answer.sweep.name, f"{points:,} points", (axes, Notes((missing,))))


def results_page(answer: ResultsAnswer) -> Page:
    """Return the requested rows; without a query, also a summary of the file."""
    summary = answer.summary
    total, names = sum(summary.by_status.values()), ", ".join(summary.sweeps) or "no sweep"
    heading = (answer.file, f"{counted(total, 'point')} of {names}") if answer.whole else ("", "")
    above = _summary(summary) if answer.whole else ()
    return _page("results", *heading, (*above, *_table(answer)))


def sweep_report(answer: ResultsAnswer, charts: Sequence[Chart]) -> Page:
    """Return the page of a results file: its summary, charts by model, cost against time, and all rows.

    Parameters
    ----------
    charts
        Iteration times over every axis.
    """
    place = answer.rows.columns.index
    model, fabric, time_s, cost = map(place, ("model", "fabric", "iteration_time_s", "cost_usd"))
    rows = [row for row in answer.rows.rows if row[time_s] is not None]
    priced = [row for row in rows if row[cost] is not None]
    fronts: list[Chart] = []
    for name in dict.fromkeys(row[model] for row in priced):
        points = [
            ParetoPoint(str(row[fabric]), row[cost] / 1e3, row[time_s] * 1e3, _settings(answer, row))
            for row in priced
            if row[model] == name
        ]
        series = pareto_series(points, pareto_front(points), {}, name_all=False)
        axes = "price of the network ($1,000)", "iteration time (ms)"
        title = f"{name}: price against iteration time"
        fronts.append(LineChart(f"cost_against_time_{len(fronts)}", title, *axes, series))
    page = results_page(answer)
    stored, *_ = _summary(answer.summary)
    every = _table(replace(answer, limit=len(answer.rows.rows) + 1))
    folded = tuple(replace(block, folded=True) if isinstance(block, Table) else block for block in every)
    best = min(rows, key=itemgetter(time_s), default=None)
    fastest = (
        "" if best is None else f"The fastest of {counted(len(rows), 'point')}: {_settings(answer, best)}."
    )
    sections = (
        Section("sweep", "Points", "", (stored,)),
        Section("axes", "Iteration time over each axis", "", tuple(charts)),
        Section("fronts", "Price against iteration time", "Lower left is better.", tuple(fronts)),
        Section("rows", "All points", "", folded),
    )
    return replace(
        page, kind="sweep", headline=fastest, sections=tuple(one for one in sections if one.blocks)
    )


def _settings(answer: ResultsAnswer, row: tuple[Any, ...]) -> str:
    """Return the settings and figures of a row in one line."""
    return ", ".join(
        f"{heading(name)} {cell(name, value)}"
        for name, value in zip(answer.rows.columns, row, strict=True)
        if value is not None
    )


def _page(kind: str, title: str, remark: str, blocks: tuple[Block, ...]) -> Page:
    section = Section(kind, "Points" if title else "", "", blocks)
    return Page(kind, title, sections=(section,), remark=remark)


def _summary(summary: Summary) -> tuple[Block, ...]:
    """Return the contents of the file, the settings that vary, and why some points have no result."""
    without = [f"{count:,} {status}" for status, count in summary.by_status.items() if status != "ok"]
    stored = {
        **{name: _values(name, values) for name, values in summary.axes.items()},
        "computed by": f"topoopt {', '.join(summary.versions)}, in {counted(summary.runs, 'run')}",
        "without result": ", ".join(without),
    }
    errors = [f"{counted(count, 'point')}: {message}" for message, count in summary.errors[:MOST_ERRORS]]
    if len(summary.errors) > MOST_ERRORS:
        errors.append(f"and for {len(summary.errors) - MOST_ERRORS} other reasons: see the column error")
    return (facts(stored), *((Notes(tuple(errors), warn=True),) if errors else ()))


def _table(answer: ResultsAnswer) -> tuple[Block, ...]:
    rows, columns = answer.rows.rows, answer.rows.columns
    shown = rows if answer.limit else rows[:MOST_ROWS]
    described = [
        (number if any(isinstance(row[place], int | float) for row in shown) else text)(
            name, itemgetter(place), partial(cell, name)
        )
        for place, name in enumerate(columns)
    ]
    notes = [] if shown else ["no rows"]
    if answer.limit and len(rows) == answer.limit:
        notes.append(f"the first {answer.limit}; limit 0 for all")
    elif len(shown) < len(rows):
        notes.append(f"the first {len(shown)} of {len(rows):,}")
    if answer.live:
        notes.append("a sweep is writing this file: these are its results so far")
    values = (table("", shown, *described),) if shown else ()
    return (*values, *((Notes(tuple(notes)),) if notes else ()))


def _values(name: str, values: tuple[Any, ...]) -> str:
    shown = [cell(name, value) for value in values[:MOST_VALUES]]
    more = len(values) - MOST_VALUES
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


def lines_chart(lines: Lines, columns: tuple[str, str], x_log: bool, y_log: bool, source: str) -> LineChart:
    """Return lines over two columns as a chart, in units that a person reads; ``source`` names a single line."""
    x, y = columns
    x_label, x_scale = _scale(x)
    y_label, y_scale = _scale(y)
    series = tuple(
        Series(
            line.name or PurePath(source).stem,
            tuple(
                (
                    value / x_scale
                    if isinstance(value, int | float) and not isinstance(value, bool)
                    else str(value)
                )
                for value in line.x
            ),
            tuple(value / y_scale for value in line.y),
        )
        for line in lines.lines
    )
    title = f"{_words(y)} over {_words(x)}"
    parts = [", ".join(f"{_words(name)} {cell(name, value)}" for name, value in lines.fixed)]
    if lines.averaged:
        parts.append(f"mean over {', '.join(_words(name) for name in lines.averaged)}")
    return LineChart(
        "results",
        title[:1].upper() + title[1:],
        x_label,
        y_label,
        series,
        x_log,
        y_log,
        "; ".join(part for part in parts if part),
    )


def _scale(column: str) -> tuple[str, float]:
    for ending, (unit, scale) in SCALES.items():
        if column.isidentifier() and column.endswith(ending):
            return f"{_words(column)} ({unit})", scale
    return _words(column), 1.0


def _words(column: str) -> str:
    return heading(column, SCALES) if column.isidentifier() else column
