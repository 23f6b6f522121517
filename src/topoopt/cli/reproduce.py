"""``topoopt reproduce``: the paper's figures made again, ours beside the published."""

from typing import TYPE_CHECKING, Annotated

import typer

from topoopt.cli.word_list import listed
from topoopt.errors import InvalidInput, unknown_name

if TYPE_CHECKING:
    from topoopt.reproduction import Figure, StudySettings

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
    from topoopt.cli.failure import INTERRUPTED, was_interrupted
    from topoopt.cli.render import print_json, terminal
    from topoopt.cli.reproduce_files import check_files, write_figure, write_page
    from topoopt.cli.reproduce_report import figure_document, print_figure, print_list, print_overview
    from topoopt.reproduction import STUDIES, StudySettings, find_study

    if name == LIST:
        print_list({key: entry.title for key, entry in STUDIES.items()}, as_json)
        return
    if name != ALL:
        find_study(name)
    if seed < 0:
        raise InvalidInput(f"--seed: expected an integer >= 0, got {seed}")
    formats = _formats(pictures)
    names = list(STUDIES) if name == ALL else [name]
    check_files(out, names, _table(table), page)
    settings, done = StudySettings(quick, seed), []
    try:
        for key in names:
            figure = _made(key, settings)
            files = write_figure(figure, out, table, formats)
            done.append((figure, files))
            if not as_json:
                print_figure(terminal(), figure, files)
        if page is not None:
            write_page([figure for figure, _ in done], page)
    except BaseException as error:
        if not (was_interrupted(error) and done):
            raise
        typer.echo(f"interrupted: done and kept in {out}: {', '.join(row.name for row, _ in done)}", err=True)
        raise typer.Exit(INTERRUPTED) from None
    if len(done) > 1 and not as_json:
        print_overview(terminal(), [figure for figure, _ in done])
    if as_json:
        figures = [figure_document(figure, files) for figure, files in done]
        print_json({"quick": quick, "seed": seed, "figures": figures})


def _made(name: str, settings: "StudySettings") -> "Figure":
    from topoopt.cli.progress import progress
    from topoopt.reproduction import find_study

    with progress(name) as report:
        return find_study(name).study(settings, report)


def _table(suffix: str) -> str:
    if suffix not in TABLES:
        raise unknown_name("--format", suffix, TABLES)
    return suffix


def _formats(text: str) -> tuple[str, ...]:
    from topoopt.report import FORMATS

    names = listed(text, "--pictures", "formats with commas, or none") or ()
    for name in names:
        if name not in FORMATS:
            raise unknown_name("--pictures", name, [*FORMATS, "none"])
    return names
