"""A table as a file: CSV, or Parquet where pyarrow is installed; the suffix says which."""

import csv
import io
import os
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from itertools import islice
from pathlib import PurePath
from typing import Any, BinaryIO

from topoopt.base.errors import InvalidInput
from topoopt.schema.files.write import whole_file

CSV, PARQUET = ".csv", ".parquet"
PIECE = 100_000
"""Rows that are held at once."""


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
