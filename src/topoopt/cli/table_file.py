"""A table as a file: CSV, or Parquet where pyarrow is installed; the suffix says which."""

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import PurePath
from typing import Any

from topoopt.cli.output_file import check_writable
from topoopt.errors import InvalidInput

CSV, PARQUET = ".csv", ".parquet"


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
    """Write a table, whole or not at all.

    Parameters
    ----------
    columns : names
    rows : values of each row; ``None`` is empty

    Raises
    ------
    InvalidInput
        If the file cannot be written.
    """
    from topoopt.files import write_atomically, write_bytes_atomically

    if PurePath(path).suffix.lower() == PARQUET:
        write_bytes_atomically(path, _parquet(columns, rows))
        return
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    write_atomically(path, text.getvalue())


def _parquet(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> bytes:
    import pyarrow
    from pyarrow import parquet

    by_column = list(zip(*rows, strict=True)) or [()] * len(columns)
    table = pyarrow.table(dict(zip(columns, map(list, by_column), strict=True)))
    buffer = io.BytesIO()
    parquet.write_table(table, buffer)
    return buffer.getvalue()


def _has_pyarrow() -> bool:
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        return False
    return True
