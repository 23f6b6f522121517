"""``topoopt results``: what a sweep has found, asked in flags or in SQL, as table, file or chart."""

from typing import Annotated, TypedDict

from typer import Argument, Option

import topoopt
from topoopt.base.errors import InvalidInput
from topoopt.frontends.cli.output import check_table, check_writable, print_json, show, terminal
from topoopt.frontends.cli.word_flags import spread
from topoopt.schema.files import write_table
from topoopt.schema.words import File, ResultsWords, Word, panel

FEW = 20
"""Rows of a table where --limit says nothing."""


@panel("Chart")
class ChartWords(TypedDict, total=False):
    """A picture in place of rows."""

    plot: Annotated[str, Word("X")]
    """Draw over this column."""
    y: Annotated[str, Word("Y", "iteration_time_s")]
    """What is drawn."""
    by: Annotated[str, Word("LIST", "fabric")]
    """A line for each value of these."""
    log: Annotated[str, Word("x|y|xy|none", "none")]
    """Logarithmic axes."""
    figure: File
    """The picture: .png, .svg, .pdf or .html."""


class ResultsFiles(TypedDict, total=False):
    """What is written."""

    out: File
    """Write the rows as .csv or .parquet (needs topoopt[parquet])."""


@spread
def results(
    file: Annotated[
        str, Argument(metavar="FILE", help="What topoopt sweep has written.", show_default=False)
    ],
    words: ResultsWords,
    chart: ChartWords,
    files: ResultsFiles,
    as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show, query, export and plot what a sweep has stored; also while it runs."""
    for word, text in (("where", words.get("where", "true")), *chart.items()):
        if word not in ("plot", "figure") and not str(text).strip():
            raise InvalidInput(f"--{word}: expected a word, got nothing; leave the flag out")
    out = files.get("out")
    check_table(out, "--out")
    if "plot" in chart or "figure" in chart:
        _draw(file, words, chart, out, as_json)
        return
    if out is None and not as_json and "sql" not in words:
        words.setdefault("limit", FEW)
    answer = topoopt.results(file, **words)
    if out is not None:
        write_table(out, answer.rows.columns, answer.rows.rows)
    show(answer, as_json)
    if out is not None and not as_json:
        terminal().print(f"  written: {out}, {len(answer.rows.rows):,} rows", markup=False)


def _draw(file: str, words: ResultsWords, chart: ChartWords, out: str | None, as_json: bool) -> None:
    """Draw the chart; a question other than a condition has no meaning beside it."""
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
    if as_json:
        print_json({"file": file, "figure": figure})
    else:
        terminal().print(f"written: {figure}", markup=False)
