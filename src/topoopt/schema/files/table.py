"""Rows of a CSV: of a text, each with its line, cells of any length and one-line errors; of the package's own data."""

import csv
import io
import sys
from importlib import resources

from topoopt.base.errors import InvalidInput


def csv_lines(
    text: str, place: str, separator: str = ",", *, strict: bool = False
) -> list[tuple[int, list[str]]]:
    """Return the line number and cells of every row; a row may span several lines, and ends on the one given.

    Raises
    ------
    InvalidInput
        If the text is no CSV, with the line.
    """
    csv.field_size_limit(
        sys.maxsize
    )  # 128 KiB otherwise; what is too long is refused by those who know its meaning
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=strict)
    try:
        return [(reader.line_num, row) for row in reader]
    except csv.Error as error:
        raise InvalidInput(f"{place}: line {reader.line_num}: not valid CSV: {error}") from None


def packaged_rows(room: str, name: str) -> list[dict[str, str]]:
    """Return the rows of a table that comes with the package, ``<room>/data/<name>.csv``, as they are written."""
    path = resources.files(f"topoopt.{room}") / "data" / f"{name}.csv"
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))
