"""``topoopt.sweep`` and ``topoopt.results``: many plans from one file, and their results."""

import os
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

from topoopt.base.answers import Progress, silent
from topoopt.base.errors import InvalidInput
from topoopt.jobs import expecting
from topoopt.pages import LineChart, Page, lines_chart, sweep_report
from topoopt.schema.words import ResultsWords, checked_arguments, checked_words, pick
from topoopt.studies.sweep import (
    BEST,
    FRONT,
    Crew,
    Results,
    ResultsAnswer,
    Rows,
    SweepAnswer,
    SweepPreview,
    axes_of,
    count_finished,
    front_rows,
    kept_processes,
    kept_ray_cluster,
    lines_of,
    open_results,
    query,
    ray_cluster,
    read_sweep,
    run_sweep,
    select,
    summarized,
)
from topoopt.studies.sweep import best as best_of
from topoopt.studies.sweep import processes as processes_here

ALWAYS = ("model", "fabric")
"""Columns that are always in the table, with all settings that differ."""
FIGURES = ("iteration_time_s", "gap", "cost_usd")
DATABASE = ".duckdb"


@checked_arguments
def sweep(
    file: str | os.PathLike[str],
    *,
    out: str | os.PathLike[str] | None = None,
    processes: int = 0,
    ray: str | None = None,
    dry_run: bool = False,
    mix_versions: bool = False,
    on_progress: Progress = silent,
) -> SweepAnswer | SweepPreview:
    """Plan every combination of models, clusters, networks and seeds in a file, and store the results.

    Points in the results file are not computed again: after Ctrl-C, a crash, or with more values in the sweep, the
    same call continues. Read the results with :func:`topoopt.results`.

    Parameters
    ----------
    file
        The sweep, as YAML.
    out
        Results file; by default ``FILE.duckdb`` beside the sweep.
    processes
        Points computed in parallel; 0 for one per core.
    ray
        Compute on a Ray cluster: ``auto``, ``local``, ``ray://host:port``.
    dry_run
        Only preview the sweep; no file is written.
    mix_versions
        Continue in a file of another version of topoopt.
    on_progress
        Progress callback: stage, items done, and total.

    Returns
    -------
    SweepAnswer or SweepPreview

    Raises
    ------
    InvalidInput
        If the file is no sweep, or ``out`` holds no results.
    """
    place = os.fspath(file)
    with expecting(place, "sweep"):
        read = read_sweep(place)
    place = _results_of(file) if out is None else os.fspath(out)
    crew = crew_of(processes, ray)
    if dry_run:
        return SweepPreview(read, place, count_finished(read, place))
    return SweepAnswer(
        read, place, run_sweep(read, place, crew, on_progress=on_progress, mix_versions=mix_versions)
    )


def _results_of(file: str | os.PathLike[str]) -> str:
    if not Path(file).name:
        raise InvalidInput(f'FILE.yaml: expected the name of a file, got "{os.fspath(file)}"')
    return str(Path(file).with_suffix(DATABASE))


def crew_of(processes: int, address: str | None) -> Crew:
    """Return the crew: processes of this host, or a Ray cluster.

    Raises
    ------
    InvalidInput
        For a negative number, or no cluster there.
    """
    _check_crew(processes, address)
    return processes_here(processes) if address is None else ray_cluster(address, processes)


def kept_crew(processes: int, address: str | None) -> AbstractContextManager[Crew]:
    """Return a crew that is kept until the context ends.

    Raises
    ------
    InvalidInput
        As :func:`crew_of`.
    """
    _check_crew(processes, address)
    return kept_processes(processes) if address is None else kept_ray_cluster(address, processes)


def _check_crew(processes: int, address: str | None) -> None:
    if processes < 0:
        raise InvalidInput(f"processes: expected an integer >= 0, got {processes}")
    if address == "":
        raise InvalidInput("ray: expected auto, local or an address such as ray://host:10001, got nothing")


@checked_arguments
def results(file: str | os.PathLike[str], **words: Unpack[ResultsWords]) -> ResultsAnswer:
    """Show and query the results of a sweep; also while it runs.

    Parameters
    ----------
    file
        Results file of :func:`topoopt.sweep`.
    **words
        ``columns``: names, also with commas; by default varying settings and the main figures; ``where``: a
        condition, such as ``"model = 'dlrm'"``; ``order``: such as ``"cost_usd desc"``; ``limit``: most rows, 0 for
        all; ``best``: ``fastest``, ``cheapest`` or SQL to minimize, the best fabric for each job, or for each of
        ``per``, or ``front``, all fabrics that none beats in both price and time; ``sql``: any query of the tables
        points, runs and attempts.

    Returns
    -------
    ResultsAnswer

    Raises
    ------
    InvalidInput
        If the file holds no results, SQL is wrong, or options exclude each other.
    """
    checked_words(words, ResultsWords)
    limit = words.get("limit", 0)
    if limit < 0:
        raise InvalidInput(f"limit: expected an integer >= 0, got {limit}")
    for word in sorted(set(words) - {"sql", "limit"}):
        if "sql" in words:
            raise InvalidInput(f"{word}: say it in sql, which is a question of its own")
    if "per" in words and "best" not in words:
        raise InvalidInput("per: needs best, such as fastest")
    if "best" in words and "order" in words:
        raise InvalidInput("order: the rows of best are in the order of per; leave it out")
    with expecting(os.fspath(file), "results"), open_results(os.fspath(file)) as opened:
        rows = query(opened, words["sql"]) if "sql" in words else _rows(opened, words, limit)
        all_rows = not pick(words, ("columns", "where", "order", "best", "sql"))
        return ResultsAnswer(opened.path, opened.live, summarized(opened), rows, limit, all_rows)


@checked_arguments
def results_chart(
    file: str | os.PathLike[str],
    x: str,
    *,
    y: str = "iteration_time_s",
    by: str | Sequence[str] = ("fabric",),
    log: str = "none",
    where: str | None = None,
) -> LineChart:
    """Return stored results of a sweep as lines; :func:`topoopt.pages.write_chart` draws them.

    Parameters
    ----------
    x, y
        Columns, or SQL.
    by
        A line for each value of these; names, also with commas.
    log
        Logarithmic axes: ``x``, ``y``, ``xy`` or ``none``.
    where
        A condition.

    Raises
    ------
    InvalidInput
        If the file holds no results, or no point has both columns.
    """
    if log not in ("x", "y", "xy", "none"):
        raise InvalidInput(f'log: expected x, y, xy or none, got "{log}"')
    with expecting(os.fspath(file), "results"), open_results(os.fspath(file)) as opened:
        lines = lines_of(opened, x, y, _listed(by, "by"), where)
        return lines_chart(lines, (x, y), "x" in log, "y" in log, opened.path)


def results_report(file: str) -> Page:
    """Return the page of a results file, with iteration times over every axis of numbers, model by model."""
    answer = results(file)
    axes = {
        name: values
        for name, values in answer.summary.axes.items()
        if name != "seed" and all(isinstance(value, int | float) for value in values)
    }
    column = answer.rows.columns.index("model")
    charts: list[LineChart] = []
    for model in dict.fromkeys(row[column] for row in answer.rows.rows):
        for name in axes:
            with suppress(InvalidInput):  # no point of the model has a result
                where = "model = '{}'".format(str(model).replace("'", "''"))
                chart = results_chart(file, name, where=where)
                charts.append(
                    replace(chart, name=f"{name}_{len(charts)}", title=f"{model}: {chart.title.lower()}")
                )
    return sweep_report(answer, charts)


def _rows(opened: Results, words: Mapping[str, Any], limit: int) -> Rows:
    axes, best = axes_of(opened), words.get("best")
    if "columns" in words:
        columns = _listed(words["columns"], "columns")
    else:
        differing = [ALWAYS[0], *(axis for axis in axes if axis not in ALWAYS), ALWAYS[1]]
        more = [best] if best is not None and best not in (*BEST, FRONT, *FIGURES) else []
        columns = (*differing, *FIGURES, *more)
    if best is not None:
        others = tuple(axis for axis in axes if axis != "fabric")
        jobs = _listed(words["per"], "per") if "per" in words else others
        if best == FRONT:
            return front_rows(opened, columns, jobs, where=words.get("where"), limit=limit)
        return best_of(opened, columns, best, jobs, where=words.get("where"), limit=limit)
    return select(opened, columns, where=words.get("where"), order=words.get("order"), limit=limit)


def _listed(columns: str | Sequence[str], word: str) -> tuple[str, ...]:
    """Return columns, also those of a text with commas; commas inside of brackets are SQL."""
    if not isinstance(columns, str):
        return tuple(columns)
    parts, depth = [""], 0
    for letter in columns:
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    names = tuple(part.strip() for part in parts if part.strip())
    if not names:
        raise InvalidInput(f'{word}: expected columns with commas, got "{columns}"')
    return names
