"""``topoopt results``: what a sweep has found, asked in flags or in SQL, as table, file or chart."""

from dataclasses import dataclass
from typing import Annotated

import typer

import topoopt
from topoopt.cli.output_file import check_writable
from topoopt.cli.render import print_json, show, terminal
from topoopt.cli.spread import spread
from topoopt.cli.table_file import check_table, write_table
from topoopt.cli.words import given, words
from topoopt.errors import InvalidInput

QUESTION, CHART = "Question", "Chart"
FEW = 20
"""Rows of a table where --limit says nothing."""


@dataclass(frozen=True, slots=True)
class QuestionArguments:
    """Which rows; ``None`` where a flag was not given."""

    columns: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            rich_help_panel=QUESTION,
            help="With commas; what differs and the main figures if not given.",
        ),
    ] = None
    where: Annotated[
        str | None,
        typer.Option(
            metavar="SQL", rich_help_panel=QUESTION, help="A condition, such as \"model = 'dlrm'\"."
        ),
    ] = None
    order: Annotated[
        str | None,
        typer.Option(
            metavar="SQL", rich_help_panel=QUESTION, help='Such as "cost_usd desc"; by settings if not given.'
        ),
    ] = None
    limit: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            rich_help_panel=QUESTION,
            help="Most rows; 20 in the terminal, all in files and JSON. 0: all.",
        ),
    ] = None
    best: Annotated[
        str | None,
        typer.Option(
            metavar="fastest|cheapest|SQL",
            rich_help_panel=QUESTION,
            help="The fabric that has least of it, for each job.",
        ),
    ] = None
    per: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            rich_help_panel=QUESTION,
            help="With --best: for each of these; all that differs but fabric.",
        ),
    ] = None
    sql: Annotated[
        str | None,
        typer.Option(
            metavar="QUERY", rich_help_panel=QUESTION, help="Any question to points, runs and attempts."
        ),
    ] = None


@dataclass(frozen=True, slots=True)
class ChartArguments:
    """A picture in place of rows."""

    plot: Annotated[
        str | None, typer.Option(metavar="X", rich_help_panel=CHART, help="Draw over this column.")
    ] = None
    y: Annotated[str, typer.Option("--y", metavar="Y", rich_help_panel=CHART, help="What is drawn.")] = (
        "iteration_time_s"
    )
    by: Annotated[
        str, typer.Option(metavar="LIST", rich_help_panel=CHART, help="A line for each value of these.")
    ] = "fabric"
    log: Annotated[
        str, typer.Option(metavar="x|y|xy|none", rich_help_panel=CHART, help="Logarithmic axes.")
    ] = "none"
    figure: Annotated[
        str | None,
        typer.Option(metavar="FILE", rich_help_panel=CHART, help="The picture: .png, .svg, .pdf or .html."),
    ] = None


@spread
def results(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="What topoopt sweep has written.", show_default=False)
    ],
    question: QuestionArguments,
    chart: ChartArguments,
    out: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write the rows as .csv or .parquet (needs topoopt\\[parquet])."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show, query, export and plot what a sweep has stored; also while it runs."""
    for flag, text in (
        ("--where", question.where),
        ("--y", chart.y),
        ("--by", chart.by),
        ("--log", chart.log),
    ):
        if text is not None and not text.strip():
            raise InvalidInput(f"{flag}: expected a word, got nothing; leave the flag out")
    check_table(out, "--out")
    if _is_drawn(chart):
        _draw(file, question, chart, out, as_json)
        return
    few = FEW if question.limit is None and out is None and not as_json else question.limit
    asked = words(question) | given({"limit": None if question.sql is not None else few})
    for name in ("columns", "per"):
        if name in asked:
            asked[name] = _listed(asked[name], f"--{name}")
    answer = topoopt.results(file, **asked)
    if out is not None:
        write_table(out, answer.rows.columns, answer.rows.rows)
    if as_json:
        print_json(answer.to_json())
        return
    show(answer)
    if out is not None:
        terminal().print(f"  written: {out}, {len(answer.rows.rows):,} rows", markup=False)


def _is_drawn(chart: ChartArguments) -> bool:
    if (chart.plot is None) != (chart.figure is None):
        had, missing = ("--plot", "--figure") if chart.figure is None else ("--figure", "--plot")
        raise InvalidInput(f"{had}: needs {missing}, too: --plot X --figure FILE.png")
    return chart.plot is not None


def _draw(
    file: str, question: QuestionArguments, chart: ChartArguments, out: str | None, as_json: bool
) -> None:
    """Draw the chart; a question other than a condition has no meaning beside it."""
    assert chart.plot is not None
    assert chart.figure is not None
    for flag in ("columns", "order", "best", "sql"):
        if getattr(question, flag) is not None:
            raise InvalidInput(f"--{flag}: a picture is of all points, or those of --where; leave it out")
    if out is not None:
        raise InvalidInput("--out: a picture is of all points, or those of --where; leave it out")
    check_writable(chart.figure, "--figure")
    topoopt.check_chart_file(chart.figure)
    drawn = topoopt.results_chart(
        file,
        chart.plot,
        y=chart.y,
        by=_listed(chart.by, "--by") or (),
        log=chart.log,
        where=question.where,
    )
    topoopt.write_chart(chart.figure, drawn)
    if as_json:
        print_json({"file": file, "figure": chart.figure})
    else:
        terminal().print(f"written: {chart.figure}", markup=False)


def _listed(text: str | None, flag: str) -> tuple[str, ...] | None:
    """Return what stands between commas, but not between those inside of brackets; None where nothing was said."""
    if text is None:
        return None
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    found = tuple(word.strip() for word in parts if word.strip())
    if not found:
        raise InvalidInput(f'{flag}: expected columns with commas, got "{text}"')
    return found
