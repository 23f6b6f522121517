"""``topoopt reproduce``: the paper's figures made again, ours beside the published."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

import topoopt
from topoopt.cli.failure import INTERRUPTED, was_interrupted
from topoopt.cli.progress import progress
from topoopt.cli.render import print_json, show_page
from topoopt.cli.reproduce_files import check_files, write_figure
from topoopt.cli.word_list import listed
from topoopt.errors import InvalidInput, unknown_name

ALL, LIST = "all", "list"
FIGURES = "motivation|fig10|...|fig17|table1|all|list"
TABLES = ("csv", "parquet")
FOLDER = "reproduction"


def reproduce(
    name: Annotated[
        str, typer.Argument(metavar=FIGURES, help="A figure of the paper; all of them; or a list of them.")
    ],
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer points and smaller searches: minutes for all figures.")
    ] = False,
    out: Annotated[
        str, typer.Option(metavar="DIR", help="Folder for the rows and pictures; made if it is missing.")
    ] = FOLDER,
    table: Annotated[
        str, typer.Option("--format", metavar="csv|parquet", help="File format of the rows.")
    ] = "csv",
    pictures: Annotated[
        str, typer.Option(metavar="LIST", help="Picture formats, of png, svg and pdf; or none.")
    ] = "png,svg,pdf",
    page: Annotated[
        str | None,
        typer.Option(
            metavar="FILE.md", help="Also write all that is printed as a page, its pictures beside it."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="For whatever is drawn: searches, random graphs.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, with the rows.")] = False,
) -> None:
    """Make figures of the paper again: ours beside the published, rows and pictures in a folder.

    The rows of a figure go to DIR/NAME.csv, its pictures to DIR as well. Figures that are done when Ctrl-C is pressed
    stay.
    """
    titles = topoopt.reproducible()
    if name == LIST:
        _list(titles, as_json)
        return
    if name not in (ALL, *titles):
        raise unknown_name("figure", name, titles)
    if seed < 0:
        raise InvalidInput(f"--seed: expected an integer >= 0, got {seed}")
    formats = _formats(pictures)
    names = list(titles) if name == ALL else [name]
    check_files(out, names, _table(table), page)
    done: list[tuple[topoopt.Figure, tuple[str, ...]]] = []
    try:
        for key in names:
            with progress(key) as report:
                figure = topoopt.reproduce(key, quick=quick, seed=seed, on_progress=report)
            files = write_figure(figure, out, table, formats)
            done.append((figure, files))
            if not as_json:
                show_page(topoopt.figure_page(figure, files))
        if page is not None:
            topoopt.write_figures_page([figure for figure, _ in done], page)
    except BaseException as error:
        if not (was_interrupted(error) and done):
            raise
        typer.echo(f"interrupted: done and kept in {out}: {', '.join(row.name for row, _ in done)}", err=True)
        raise typer.Exit(INTERRUPTED) from None
    if as_json:
        figures = [_document(figure.to_json(), files) for figure, files in done]
        print_json({"quick": quick, "seed": seed, "figures": figures})
    elif len(done) > 1:
        show_page(topoopt.overview_page([figure for figure, _ in done]))


def _list(titles: Mapping[str, str], as_json: bool) -> None:
    if as_json:
        print_json({"figures": [{"figure": name, "title": title} for name, title in titles.items()]})
    else:
        table = topoopt.Table("", ("figure", "what it shows"), tuple(titles.items()))
        show_page(topoopt.Page("figures", "", "", (), (), (topoopt.Section("figures", "", "", (table,)),)))


def _document(figure: dict[str, Any], files: tuple[str, ...]) -> dict[str, Any]:
    """Return a figure with its files, which stand before the rows."""
    rows = figure.pop("rows")
    return {**figure, "files": list(files), "rows": rows}


def _table(suffix: str) -> str:
    if suffix not in TABLES:
        raise unknown_name("--format", suffix, TABLES)
    return suffix


def _formats(text: str) -> tuple[str, ...]:
    names = listed(text, "--pictures", "formats with commas, or none") or ()
    for name in names:
        if name not in topoopt.FORMATS:
            raise unknown_name("--pictures", name, [*topoopt.FORMATS, "none"])
    return names
