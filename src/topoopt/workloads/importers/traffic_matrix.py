"""A traffic matrix from a CSV or ``.npy`` file: bytes of one iteration, row = sender, column = receiver."""

import io
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from topoopt.base.errors import InvalidInput
from topoopt.schema.files import csv_lines, read_bytes, read_text


def read_traffic_matrix(path: str | Path) -> NDArray[np.float64]:
    """Return bytes per ordered pair of servers; lines of a CSV that start with ``#`` are skipped.

    What the numbers mean is checked where they become traffic:
    ``traffic_from_matrix(read_traffic_matrix(path), str(path))`` refuses a matrix that is not square and
    bytes that are negative or not finite.

    Raises
    ------
    InvalidInput
        If the file is not a table of numbers, with the row and column.
    """
    return _from_npy(path) if Path(path).suffix.lower() == ".npy" else _from_csv(path)


def _from_npy(path: str | Path) -> NDArray[np.float64]:
    content = io.BytesIO(read_bytes(path))
    try:
        array = np.load(content, allow_pickle=False)
    except Exception:  # NumPy has its header parsed by Python's own parser, which raises whatever it likes
        raise InvalidInput(f"{path}: not a NumPy array file of plain numbers, or cut short") from None
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "iuf":
        kind = array.dtype if isinstance(array, np.ndarray) else "an archive of arrays"
        raise InvalidInput(f"{path}: expected an array of numbers, got {kind}")
    return array.astype(np.float64)


def _from_csv(path: str | Path) -> NDArray[np.float64]:
    lines = [line for line in read_text(path).splitlines() if line.strip() and not line.startswith("#")]
    rows = [row for _, row in csv_lines("\n".join(lines), str(path))]
    if not rows:
        raise InvalidInput(f"{path}: expected a square matrix of bytes, got an empty file")
    for number, row in enumerate(rows):
        if len(row) != len(rows[0]):
            raise InvalidInput(
                f"{path}: row {number}: expected {len(rows[0])} cells as in row 0, got {len(row)}"
            )
    return np.array([[_number(path, r, c, cell) for c, cell in enumerate(row)] for r, row in enumerate(rows)])


def _number(path: str | Path, row: int, column: int, cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        hint = "; a header row or column must go" if 0 in (row, column) else ""
        shown = cell if len(cell) <= 40 else cell[:37] + "..."
        raise InvalidInput(
            f'{path}: row {row}, column {column}: expected bytes, got "{shown}"{hint}'
        ) from None
