"""The files of ``topoopt reproduce``: rows and pictures of each figure, and the page of all of them."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from topoopt.cli.output_file import check_folder_name, check_writable
from topoopt.cli.table_file import check_table, write_table
from topoopt.errors import InvalidInput

if TYPE_CHECKING:
    from topoopt.reproduction import Figure


def check_files(folder: str, names: Sequence[str], suffix: str, page: str | None) -> None:
    """Refuse what could not be written after the work, and make the folder.

    Raises
    ------
    InvalidInput
        If the folder cannot be made or written, or is a file, or Parquet is asked for without pyarrow.
    """
    check_writable(page, "--page")
    check_folder_name(folder, "--out")
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInput(f"--out: {folder} cannot be made: {error.strerror or error}") from None
    for name in names:
        check_table(str(Path(folder) / f"{name}.{suffix}"), "--out")


def write_figure(figure: "Figure", folder: str, suffix: str, formats: Sequence[str]) -> tuple[str, ...]:
    """Write the rows and draw the charts of a figure; return the files, rows first."""
    from topoopt.report import draw_charts

    rows = os.path.join(folder, f"{figure.name}.{suffix}")
    columns = list(figure.rows[0]) if figure.rows else ["nothing"]
    write_table(rows, columns, (list(row.values()) for row in figure.rows))
    drawn = draw_charts(figure.charts, folder, formats) if formats else ()
    return (rows, *drawn)


def write_page(figures: Sequence["Figure"], path: str) -> None:
    """Write the page of all figures, with its pictures beside it."""
    from topoopt.files import write_atomically
    from topoopt.report import draw_charts
    from topoopt.reproduction import PICTURES
    from topoopt.reproduction import page as page_of

    pictures = Path(path).parent / PICTURES
    for figure in figures:
        draw_charts(figure.charts, pictures, ("svg",))
    write_atomically(path, page_of(figures))
