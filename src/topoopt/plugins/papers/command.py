"""``topoopt reproduce``: the paper's figures made again, ours beside the published."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, TypedDict

from typer import Argument, Exit, Option, echo

import topoopt
from topoopt.base.errors import InvalidInput, check_known, unknown_name
from topoopt.base.extras import library
from topoopt.frontends.cli import (
    INTERRUPTED,
    check_folder_name,
    check_table,
    check_writable,
    print_json,
    progress,
    show_page,
    spread,
    was_interrupted,
)
from topoopt.schema.files import write_table
from topoopt.schema.words import Switch, Word

ALL, LIST = "all", "list"
FIGURES = "motivation|fig10|...|fig17|testbed|table1|mixnet|cassini|mltcp|wirings|all|list"
TABLES = ("csv", "parquet")


class FigureWords(TypedDict, total=False):
    """Accuracy, and output files."""

    quick: Switch
    """Use fewer points and smaller searches: minutes for all figures."""
    out: Annotated[str, Word("DIR", "reproduction")]
    """Directory for rows and pictures; it is created if missing."""
    table: Annotated[str, Word("csv|parquet", "csv", ("format",))]
    """File format of the rows."""
    pictures: Annotated[Sequence[str], Word("LIST", "png,svg,pdf", commas="formats with commas, or none")]
    """Picture formats, of png, svg and pdf; or none."""
    page: Annotated[str, Word("FILE.md")]
    """Also write all printed output as a page, with its pictures beside it."""
    seed: Annotated[int, Word(None, 0)]
    """Random seed of searches and random graphs."""


@spread
def reproduce(
    name: Annotated[str, Argument(metavar=FIGURES, help="Figure of the paper, or all, or list.")],
    words: FigureWords,
    as_json: Annotated[bool, Option("--json", help="Print JSON, with the rows.")] = False,
) -> None:
    """Reproduce figures of the paper: our values beside the published ones, as rows and pictures.

    All are those that are computed; testbed is measured on this machine, and needs root. The rows of a figure go to
    DIR/NAME.csv, its pictures to DIR as well. Figures that are done when Ctrl-C is pressed stay.
    """
    titles = topoopt.reproducible()
    if name == LIST:
        _list(titles, as_json)
        return
    if name not in (ALL, *titles):
        raise unknown_name("figure", name, titles)
    if words["seed"] < 0:
        raise InvalidInput(f"--seed: expected an integer >= 0, got {words['seed']}")
    _check_pictures(words["pictures"])
    check_known("--format", words["table"], TABLES)
    quick, seed, out, page = words["quick"], words["seed"], words["out"], words.get("page")
    names = list(topoopt.reproducible(measured=False)) if name == ALL else [name]
    check_files(out, names, words["table"], page)
    done: list[tuple[topoopt.Figure, tuple[str, ...]]] = []
    try:
        for key in names:
            with progress(key) as report:
                figure = topoopt.reproduce(key, quick=quick, seed=seed, on_progress=report)
            files = write_figure(figure, out, words["table"], words["pictures"])
            done.append((figure, files))
            if not as_json:
                show_page(topoopt.figure_page(figure, files))
        if page is not None:
            topoopt.write_figures_page([figure for figure, _ in done], page)
    except BaseException as error:
        if not (was_interrupted(error) and done):
            raise
        echo(f"interrupted: done and kept in {out}: {', '.join(row.name for row, _ in done)}", err=True)
        raise Exit(INTERRUPTED) from None
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
    """Return a figure with its files, which precede the rows."""
    rows = figure.pop("rows")
    return {**figure, "files": list(files), "rows": rows}


def check_files(folder: str, names: Sequence[str], suffix: str, page: str | None) -> None:
    """Create the folder, and refuse files that could not be written at the end.

    Raises
    ------
    InvalidInput
        If the folder cannot be made or written, or is a file, or Parquet is requested without pyarrow.
    """
    check_writable(page, "--page")
    check_folder_name(folder, "--out")
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInput(f"--out: {folder} cannot be made: {error.strerror or error}") from None
    for name in names:
        check_table(str(Path(folder) / f"{name}.{suffix}"), "--out")


def _check_pictures(formats: Sequence[str]) -> None:
    for name in formats:
        if name not in topoopt.FORMATS:
            raise unknown_name("--pictures", name, [*topoopt.FORMATS, "none"])
        library("matplotlib", "figures", "--pictures")


def write_figure(
    figure: "topoopt.Figure", folder: str, suffix: str, formats: Sequence[str]
) -> tuple[str, ...]:
    """Write the rows and draw the charts of a figure; return the files, rows first."""
    rows = os.path.join(folder, f"{figure.name}.{suffix}")
    columns = list(figure.rows[0]) if figure.rows else ["nothing"]
    write_table(rows, columns, (list(row.values()) for row in figure.rows))
    pictures = topoopt.draw_charts(figure.charts, folder, formats) if formats else ()
    return (rows, *pictures)
