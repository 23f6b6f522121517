"""A table of measured runs as a file: its columns, and rows whose cells are text."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from topoopt.base.errors import InvalidInput, unknown_name
from topoopt.schema.files import csv_lines, packaged_rows, read_text

Row = Mapping[str, str]

NEEDED = ("mode", "model", "accelerator")
"""Columns without which no row says anything."""


@dataclass(frozen=True, slots=True)
class RunTable:
    """Rows of a table of measured runs, by the line of the file that each begins in."""

    path: str
    rows: tuple[Row, ...]
    lines: tuple[int, ...]


def known_columns() -> tuple[str, ...]:
    """Return the columns that a table of runs may have."""
    return tuple(row["column"] for row in packaged_rows("measurements.serving", "run_columns"))


def read_run_table(path: str | Path) -> RunTable:
    """Return the rows of a table of measured runs; columns that are missing are empty in every row.

    Raises
    ------
    InvalidInput
        If the file is no table, has an unknown column or one twice, lacks one that is needed, or a line of it is too
        short or too long.
    """
    lines = [(number, line) for number, line in csv_lines(read_text(path), str(path), ",") if any(line)]
    if not lines:
        raise InvalidInput(
            f"{path}: is empty; expected a table of runs with columns such as {', '.join(NEEDED)}"
        )
    columns = [cell.strip() for cell in lines[0][1]]
    _check_columns(columns, path)
    for number, line in lines[1:]:
        if len(line) != len(columns):
            raise InvalidInput(
                f"{path}: line {number}: expected {len(columns)} cells as in the first line, got {len(line)}"
            )
    if len(lines) == 1:
        raise InvalidInput(f"{path}: has columns and no row")
    rows = tuple(dict(zip(columns, (cell.strip() for cell in line), strict=True)) for _, line in lines[1:])
    return RunTable(str(path), rows, tuple(number for number, _ in lines[1:]))


def _check_columns(columns: list[str], path: str | Path) -> None:
    known = known_columns()
    for place, column in enumerate(columns):
        if column not in known:
            raise InvalidInput(f"{path}: {unknown_name('column', column, known)}")
        if column in columns[:place]:
            raise InvalidInput(f"{path}: column {column}: is there twice; leave one of them out")
    for needed in NEEDED:
        if needed not in columns:
            raise InvalidInput(f"{path}: not a table of served runs: there is no column {needed}")
