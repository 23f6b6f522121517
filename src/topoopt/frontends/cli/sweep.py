"""``topoopt sweep`` and ``topoopt results``: many plans from one file, and their stored results."""

import shlex
from typing import Annotated, TypedDict

from typer import Argument, Exit, Option, echo

import topoopt
from topoopt.base.errors import InvalidInput
from topoopt.frontends.cli.exit_code import INTERRUPTED, was_interrupted
from topoopt.frontends.cli.output import (
    check_table,
    check_writable,
    print_json,
    progress,
    show,
    terminal,
    write_page,
)
from topoopt.frontends.cli.word_flags import spread
from topoopt.schema.files import write_table
from topoopt.schema.words import File, ResultsWords, Switch, Word, panel

FEW = 20
"""Rows of a table without --limit."""


@panel("Chart")
class ChartWords(TypedDict, total=False):
    """A picture in place of rows."""

    plot: Annotated[str, Word("X")]
    """Draw a chart over this column, instead of rows."""
    y: Annotated[str, Word("Y", "iteration_time_s")]
    """Column to draw."""
    by: Annotated[str, Word("LIST", "fabric")]
    """One line for each combination of these columns."""
    log: Annotated[str, Word("x|y|xy|none", "none")]
    """Logarithmic axes."""
    figure: File
    """File for the chart: .png, .svg, .pdf or .html."""


class ResultsFiles(TypedDict, total=False):
    """Output files."""

    out: File
    """Write the rows as .csv or .parquet (needs topoopt[parquet])."""


class SweepWords(TypedDict, total=False):
    """Results file, and processes or hosts."""

    out: File
    """File for the results (default: FILE.duckdb beside the sweep)."""
    processes: Annotated[int, Word("N", 0)]
    """Points to compute at a time; 0 for one per core."""
    ray: Annotated[str, Word("ADDRESS")]
    """Address of a Ray cluster to compute on: auto, local, ray://host:port (needs topoopt[ray])."""
    dry_run: Switch
    """List the computations only; no file is written."""
    mix_versions: Switch
    """Continue a file that another version of topoopt wrote."""


@spread
def sweep(
    file: Annotated[
        str,
        Argument(metavar="FILE.yaml", help="Sweep file, such as examples/sweep.yaml.", show_default=False),
    ],
    words: SweepWords,
    as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
) -> None:
    """Plan every combination of models, clusters, networks and seeds in a file, and store the results.

    Points in the results file are not computed again: after Ctrl-C, a crash, or with more values in the sweep, the
    same command continues. Read the results with topoopt results.
    """
    preview = _preview(file, words)
    place = preview.out
    check_writable(place, "--out" if "out" in words else file)
    try:
        with progress("starting processes", remaining=True) as report:
            answer = topoopt.sweep(file, on_progress=report, **words)
    except BaseException as error:
        if not was_interrupted(error):
            raise
        done, points = _preview(file, words).finished, len(preview.sweep.points)
        echo(f"interrupted: {done:,} of {points:,} points are in {place}; the same command goes on", err=True)
        raise Exit(INTERRUPTED) from None
    show(answer, as_json, () if words["dry_run"] else (f"topoopt results {shlex.quote(place)}",))
    if isinstance(answer, topoopt.SweepAnswer) and answer.run.by_status.get("failed"):
        raise Exit(1)


def _preview(file: str, words: SweepWords) -> "topoopt.SweepPreview":
    preview = topoopt.sweep(file, **(words | {"dry_run": True}))
    assert isinstance(preview, topoopt.SweepPreview)
    return preview


@spread
def results(
    file: Annotated[str, Argument(metavar="FILE", help="Result file of topoopt sweep.", show_default=False)],
    words: ResultsWords,
    chart: ChartWords,
    files: ResultsFiles,
    as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show, query, export and plot the results of a sweep, also while it runs."""
    for word, text in (("where", words.get("where", "true")), *chart.items()):
        if word not in ("plot", "figure") and not str(text).strip():
            raise InvalidInput(f"--{word}: expected a word, got nothing; leave the flag out")
    out = files.get("out")
    check_table(out, "--out")
    if "plot" in chart or "figure" in chart:
        # draw the chart; a question other than a condition has no meaning beside it
        if "plot" not in chart or "figure" not in chart:
            had, missing = ("--plot", "--figure") if "plot" in chart else ("--figure", "--plot")
            raise InvalidInput(f"{had}: needs {missing}, too: --plot X --figure FILE.png")
        beside = [word for word in ("columns", "order", "best", "sql") if word in words]
        if beside or out is not None:
            flag = [*beside, "out"][0]
            raise InvalidInput(f"--{flag}: a picture is of all points, or those of --where; leave it out")
        figure = chart["figure"]
        check_writable(figure, "--figure")
        topoopt.check_chart_file(figure)
        lines = topoopt.results_chart(
            file, chart["plot"], y=chart["y"], by=chart["by"], log=chart["log"], where=words.get("where")
        )
        topoopt.write_chart(figure, lines)
        write_page(topoopt.results(file))
        if as_json:
            print_json({"file": file, "figure": figure})
        else:
            terminal().print(f"written: {figure}", markup=False)
        return
    if out is None and not as_json and "sql" not in words:
        words.setdefault("limit", FEW)
    answer = topoopt.results(file, **words)
    if out is not None:
        write_table(out, answer.rows.columns, answer.rows.rows)
    show(answer, as_json)
    if out is not None and not as_json:
        terminal().print(f"  written: {out}, {len(answer.rows.rows):,} rows", markup=False)
