"""``topoopt results``: what a sweep has found, asked in flags or in SQL, as table, file or chart."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from topoopt.errors import InvalidInput

if TYPE_CHECKING:
    from topoopt.cli.results_chart import ChartRequest
    from topoopt.sweep import Results, Rows

QUESTION, CHART = "Question", "Chart"
FEW = 20
"""Rows of a table where --limit says nothing."""

SHOWN = ("model", "fabric")
"""Columns that are always in the table, with all settings that differ."""
FIGURES = ("iteration_time_s", "gap", "cost_usd")


def results(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="What topoopt sweep has written.", show_default=False)
    ],
    columns: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            rich_help_panel=QUESTION,
            help="With commas; what differs and the main figures if not given.",
        ),
    ] = None,
    where: Annotated[
        str | None,
        typer.Option(
            metavar="SQL", rich_help_panel=QUESTION, help="A condition, such as \"model = 'dlrm'\"."
        ),
    ] = None,
    order: Annotated[
        str | None,
        typer.Option(
            metavar="SQL", rich_help_panel=QUESTION, help='Such as "cost_usd desc"; by settings if not given.'
        ),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            rich_help_panel=QUESTION,
            help="Most rows; 20 in the terminal, all in files and JSON. 0: all.",
        ),
    ] = None,
    best: Annotated[
        str | None,
        typer.Option(
            metavar="fastest|cheapest|SQL",
            rich_help_panel=QUESTION,
            help="The fabric that has least of it, for each job.",
        ),
    ] = None,
    per: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            rich_help_panel=QUESTION,
            help="With --best: for each of these; all that differs but fabric.",
        ),
    ] = None,
    sql: Annotated[
        str | None,
        typer.Option(
            metavar="QUERY", rich_help_panel=QUESTION, help="Any question to points, runs and attempts."
        ),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write the rows as .csv or .parquet (needs topoopt\\[parquet])."),
    ] = None,
    plot: Annotated[
        str | None, typer.Option(metavar="X", rich_help_panel=CHART, help="Draw over this column.")
    ] = None,
    y: Annotated[
        str, typer.Option("--y", metavar="Y", rich_help_panel=CHART, help="What is drawn.")
    ] = "iteration_time_s",
    by: Annotated[
        str, typer.Option(metavar="LIST", rich_help_panel=CHART, help="A line for each value of these.")
    ] = "fabric",
    log: Annotated[
        str, typer.Option(metavar="x|y|xy|none", rich_help_panel=CHART, help="Logarithmic axes.")
    ] = "none",
    figure: Annotated[
        str | None,
        typer.Option(metavar="FILE", rich_help_panel=CHART, help="The picture: .png, .svg, .pdf or .html."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show, query, export and plot what a sweep has stored; also while it runs."""
    from topoopt.cli.render import print_json
    from topoopt.cli.table_file import check_table, write_table
    from topoopt.sweep import open_results

    for flag, text in (("--where", where), ("--y", y), ("--by", by), ("--log", log)):
        if text is not None and not text.strip():
            raise InvalidInput(f"{flag}: expected a word, got nothing; leave the flag out")
    chart = _chart(plot, y, by, log, figure)
    question = {"--columns": columns, "--order": order, "--best": best, "--sql": sql, "--out": out}
    said = [flag for flag, word in question.items() if word is not None]
    check_table(out, "--out")
    if chart is not None:
        if said:
            raise InvalidInput(f"{said[0]}: a picture is of all points, or those of --where; leave it out")
        _draw(file, chart, where, as_json)
        return
    if limit is not None and limit < 0:
        raise InvalidInput(f"--limit: expected an integer >= 0, got {limit}")
    _check_together(sql, best, {**question, "--where": where, "--per": per})
    few = limit if limit is not None else (0 if out is not None or as_json else FEW)
    with open_results(file) as opened:
        if sql is None:
            listed, jobs = _words(columns, "--columns"), _words(per, "--per")
            found = _asked(opened, listed, where, order, best, jobs, few)
        else:
            from topoopt.sweep import query

            found = query(opened, sql)
        if out is not None:
            write_table(out, found.columns, found.rows)
        if as_json:
            print_json(_document(opened, found))
        else:
            _print(opened, found, bool(said or where), few, out)


def _chart(plot: str | None, y: str, by: str, log: str, figure: str | None) -> "ChartRequest | None":
    from topoopt.cli.results_chart import ChartRequest, check_figure

    if (plot is None) != (figure is None):
        given, missing = ("--plot", "--figure") if figure is None else ("--figure", "--plot")
        raise InvalidInput(f"{given}: needs {missing}, too: --plot X --figure FILE.png")
    if plot is None or figure is None:
        return None
    check_figure(figure)
    if log not in ("x", "y", "xy", "none"):
        raise InvalidInput(f'--log: expected x, y, xy or none, got "{log}"')
    return ChartRequest(plot, y, _words(by, "--by") or (), "x" in log, "y" in log, figure)


def _draw(file: str, chart: "ChartRequest", where: str | None, as_json: bool) -> None:
    from topoopt.cli.render import print_json, terminal
    from topoopt.cli.results_chart import draw
    from topoopt.sweep import open_results

    with open_results(file) as opened:
        draw(opened, chart, where)
    if as_json:
        print_json({"file": file, "figure": chart.file})
    else:
        terminal().print(f"written: {chart.file}", markup=False)


def _check_together(sql: str | None, best: str | None, words: dict[str, str | None]) -> None:
    """Refuse flags that have no meaning beside each other."""
    given = {flag for flag, word in words.items() if word is not None}
    for flag in sorted(given - {"--sql", "--out"}):
        if sql is not None:
            raise InvalidInput(f"{flag}: say it in --sql, which is a question of its own")
    if "--per" in given and best is None:
        raise InvalidInput("--per: needs --best, such as --best fastest")
    if best is not None and "--order" in given:
        raise InvalidInput("--order: the rows of --best are in the order of --per; leave it out")


def _words(text: str | None, flag: str) -> tuple[str, ...] | None:
    """Return what stands between commas, but not between those inside of brackets; None where nothing was said."""
    if text is None:
        return None
    words, depth = [""], 0
    for letter in text:
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and depth == 0:
            words.append("")
        else:
            words[-1] += letter
    found = tuple(word.strip() for word in words if word.strip())
    if not found:
        raise InvalidInput(f'{flag}: expected columns with commas, got "{text}"')
    return found


def _asked(
    opened: "Results",
    columns: tuple[str, ...] | None,
    where: str | None,
    order: str | None,
    best: str | None,
    per: tuple[str, ...] | None,
    limit: int,
) -> "Rows":
    from topoopt.sweep import BEST, axes_of, select
    from topoopt.sweep import best as best_of

    axes = axes_of(opened)
    if columns is None:
        differing = [*SHOWN[:1], *(axis for axis in axes if axis not in SHOWN), *SHOWN[1:]]
        more = [best] if best is not None and best not in BEST and best not in FIGURES else []
        columns = (*differing, *FIGURES, *more)
    if best is not None:
        jobs = tuple(axis for axis in axes if axis != "fabric") if per is None else per
        return best_of(opened, columns, best, jobs, where=where, limit=limit)
    return select(opened, columns, where=where, order=order, limit=limit)


def _document(opened: "Results", found: "Rows") -> dict[str, Any]:
    from dataclasses import asdict

    from topoopt.sweep import summarized

    return {
        "file": opened.path,
        "live": opened.live,
        **asdict(summarized(opened)),
        "columns": found.columns,
        "rows": [dict(zip(found.columns, map(_plain, row), strict=True)) for row in found.rows],
    }


def _plain(value: Any) -> Any:
    """Return a value as JSON knows it; what SQL can make and JSON not, as text."""
    if isinstance(value, float) and not float("-inf") < value < float("inf"):
        return None
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return str(value)


def _print(opened: "Results", found: "Rows", asked: bool, limited: int, out: str | None) -> None:
    from topoopt.cli.cells import cell
    from topoopt.cli.render import print_table, terminal

    console = terminal()
    if not asked:
        from topoopt.cli.results_summary import print_summary
        from topoopt.sweep import summarized

        print_summary(console, opened, summarized(opened))
        console.print()
    shown = found.rows if out is None else found.rows[:FEW]
    cells = [[cell(name, value) for name, value in zip(found.columns, row, strict=True)] for row in shown]
    numbers = [
        name
        for place, name in enumerate(found.columns)
        if any(isinstance(row[place], int | float) for row in shown)
    ]
    if cells:
        print_table(console, found.columns, cells, numbers=numbers)
    else:
        console.print("  no rows")
    if limited and len(found.rows) == limited:
        console.print(f"  the first {limited}; --limit 0 for all")
    if opened.live:
        console.print("  a sweep is writing this file: these are its results so far")
    if out is not None:
        console.print(f"  written: {out}, {len(found.rows):,} rows", markup=False)
