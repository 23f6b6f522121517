"""The files of ``topoopt reproduce``: rows and pictures of each figure."""

import os
from collections.abc import Sequence
from pathlib import Path

import topoopt
from topoopt.base.errors import InvalidInput
from topoopt.frontends.cli.output_file import check_folder_name, check_table, check_writable
from topoopt.schema.files import write_table


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


def write_figure(
    figure: "topoopt.Figure", folder: str, suffix: str, formats: Sequence[str]
) -> tuple[str, ...]:
    """Write the rows and draw the charts of a figure; return the files, rows first."""
    rows = os.path.join(folder, f"{figure.name}.{suffix}")
    columns = list(figure.rows[0]) if figure.rows else ["nothing"]
    write_table(rows, columns, (list(row.values()) for row in figure.rows))
    pictures = topoopt.draw_charts(figure.charts, folder, formats) if formats else ()
    return (rows, *pictures)
