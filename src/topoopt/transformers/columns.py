"""Nouns made of columns, a row for each configuration, run or model: their arrays, and some of their rows."""

from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from topoopt.base.arrays import Ints

Bools = NDArray[np.bool_]

Table = TypeVar("Table")


BLOCK = 16384
"""Rows that are worked on at once: their columns stay in the processor's cache."""


def blocks_of(table: Table, rows: int = BLOCK) -> Iterator[Table]:
    """Yield a table in parts of some rows, at least one part."""
    for first in range(0, len(table), rows) or [0]:  # type: ignore[arg-type]
        yield take_rows(table, slice(first, first + rows))


def take_rows(table: Table, rows: Ints | Bools | slice) -> Table:
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
