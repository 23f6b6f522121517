"""A table as a file: CSV, or Parquet where pyarrow is installed; the suffix says which."""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import PurePath
from typing import Any, BinaryIO

from topoopt.cli.output_file import check_writable
from topoopt.errors import InvalidInput

CSV, PARQUET = ".csv", ".parquet"
PIECE = 100_000
"""Rows that are held at once."""


def check_table(path: str | None, flag: str) -> None:
    """Refuse a table that could not be written after the work.

    Raises
    ------
    InvalidInput
        As :func:`check_writable`, for another suffix, and for Parquet without pyarrow.
    """
    check_writable(path, flag)
    if path is None:
        return
    suffix = PurePath(path).suffix.lower()
    if suffix not in (CSV, PARQUET):
        raise InvalidInput(f"{flag}: {path}: expected a file name that ends in {CSV} or {PARQUET}")
    if suffix == PARQUET and not _has_pyarrow():
        raise InvalidInput(
            f"{flag}: {path}: Parquet needs pyarrow, which is not installed; "
            f'pip install "topoopt[parquet]", or name a {CSV} file'
        )


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
    from topoopt.files import whole_file

    write = _write_parquet if PurePath(path).suffix.lower() == PARQUET else _write_csv
    with whole_file(path) as stream:
        write(stream, columns, rows)


def _write_csv(stream: BinaryIO, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    text = io.TextIOWrapper(stream, encoding="utf-8", newline="", write_through=True)
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for piece in _pieces(rows):
        writer.writerows(piece)
    text.detach()


def _write_parquet(stream: BinaryIO, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    import pyarrow
    from pyarrow import parquet

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


def _has_pyarrow() -> bool:
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        return False
    return True
