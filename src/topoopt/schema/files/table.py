"""Rows of a CSV: of a text, each with its line, cells of any length and one-line errors; of the package's own data."""

import csv
import io
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module, resources
from itertools import islice
from pathlib import PurePath
from typing import Any, BinaryIO

from topoopt.base.errors import InvalidInput
from topoopt.schema.files.write import whole_file

CSV, PARQUET = ".csv", ".parquet"
PIECE = 100_000
"""Rows that are held at once."""


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


def check_table_name(path: str) -> None:
    """Refuse the name of a table that could not be written after the work.

    Raises
    ------
    InvalidInput
        For another suffix, and for Parquet without pyarrow.
    """
    suffix = PurePath(path).suffix.lower()
    if suffix not in (CSV, PARQUET):
        raise InvalidInput(f"{path}: expected a file name that ends in {CSV} or {PARQUET}")
    if suffix == PARQUET:
        try:
            import_module("pyarrow")
        except ImportError:
            raise InvalidInput(
                f"{path}: Parquet needs pyarrow, which is not installed; "
                f'pip install "topoopt[parquet]", or name a {CSV} file'
            ) from None


def write_table(path: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write a table, whole or not at all; long ones in pieces, so that they need little memory.

    Parameters
    ----------
    columns : names
    rows : values of each row; ``None`` is empty

    Raises
    ------
    InvalidInput
        If the file cannot be written.
    """
    if PurePath(path).suffix.lower() == PARQUET:
        with whole_file(path) as stream:
            _write_parquet(stream, columns, rows)
    else:
        write_csv(path, columns, rows)


def write_csv(path: str | os.PathLike[str], columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write a table as CSV, whatever the file is called; see :func:`write_table`."""
    with whole_file(os.fspath(path)) as stream:
        text = io.TextIOWrapper(
            stream, encoding="utf-8", errors="backslashreplace", newline="", write_through=True
        )
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)
        text.detach()


def _write_parquet(stream: BinaryIO, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    import pyarrow  # noqa: PLC0415 - not everybody has it
    from pyarrow import parquet  # noqa: PLC0415

    writer = None
    for piece in _pieces(rows):
        by_column = list(zip(*piece, strict=True)) or [()] * len(columns)
        table = pyarrow.table(dict(zip(columns, map(list, by_column), strict=True)))
        writer = writer or parquet.ParquetWriter(stream, table.schema)
        writer.write_table(table)
    assert writer is not None, "there is always a first piece"
    writer.close()


def _pieces(rows: Iterable[Sequence[Any]]) -> Iterator[list[Sequence[Any]]]:
    """Yield the rows some at a time; of a table without rows, one empty piece."""
    source = iter(rows)
    piece = list(islice(source, PIECE))
    yield piece
    while piece := list(islice(source, PIECE)):
        yield piece
