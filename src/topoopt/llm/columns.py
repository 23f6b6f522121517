"""Nouns made of columns, a row for each configuration, run or model: their arrays, and some of their rows."""

from collections.abc import Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

Table = TypeVar("Table")


def take_rows(table: Table, rows: Ints | Bools) -> Table:
    """Return some rows, by index or by mask; a field that is one value for all rows stays as it is."""
    columns = {}
    for field in fields(table):  # type: ignore[arg-type]
        column = getattr(table, field.name)
        if is_dataclass(column):
            columns[field.name] = take_rows(column, rows)
        elif np.ndim(column):
            columns[field.name] = column[..., rows]
    return replace(table, **columns)  # type: ignore[type-var]


def join_rows(tables: Sequence[Table]) -> Table:
    """Return the rows of several tables, one after the other."""
    names = [field.name for field in fields(tables[0])]  # type: ignore[arg-type]
    columns: dict[str, Any] = {name: np.concatenate([getattr(one, name) for one in tables]) for name in names}
    return replace(tables[0], **columns)  # type: ignore[type-var]
