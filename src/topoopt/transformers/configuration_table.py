"""Many configurations as columns, for estimates of all of them at once."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from topoopt.base.arrays import Floats, Ints
from topoopt.catalog import PRECISIONS
from topoopt.transformers.configuration import (
    CONTEXTS,
    EXCHANGES,
    SCHEDULES,
    STORED_PRECISIONS,
    Configuration,
    part_bit,
    recomputation_bits,
    recomputation_word,
)
from topoopt.workloads.transformer import ADAPTERS

Bools = NDArray[np.bool_]
Table = TypeVar("Table")
BLOCK = 16384
"""Rows that are worked on at once: their columns stay in the processor's cache."""
_WORDS: Mapping[str, Sequence[str]] = {
    "precision": PRECISIONS,
    "context": CONTEXTS,
    "schedule": SCHEDULES,
    "adapters": ADAPTERS,
    "exchange": EXCHANGES,
    **dict.fromkeys(("dispatch", "weights", "gradients", "moments", "activation_inputs"), STORED_PRECISIONS),
}
"""Columns that hold indices of words."""
NF4_BYTES = (4 + 0.127) / 8
"""Bytes per weight in 4 bits with its share of the scales, which are in 8 bits themselves (QLoRA, Dettmers 2023,
section 3: 0.127 bits per parameter)."""
STORED_BYTES = np.array([np.nan, 4.0, 2.0, 1.0, NF4_BYTES])
"""Bytes per element by index of :data:`~topoopt.transformers.STORED_PRECISIONS`; the first is the default."""
FLOATS = ("offload_optimizer", "offload_activations", "document_spread")
"""Columns that hold no integers."""


@dataclass(frozen=True, eq=False)
class ConfigurationTable:
    """Configurations by columns, each an array of shape (configurations,), or () where all of them are alike.

    ``recompute`` holds the bits of :func:`~topoopt.transformers.recomputation_bits`. ``precision``, ``context``,
    ``schedule``, ``exchange``, ``dispatch``, ``weights``, ``gradients``, ``moments``, ``activation_inputs`` and
    ``adapters`` hold indices of their words in :data:`~topoopt.catalog.PRECISIONS`, ``CONTEXTS``, ``SCHEDULES``,
    ``EXCHANGES``, ``STORED_PRECISIONS`` and ``ADAPTERS``; switches 0 or 1; the others as in
    :class:`~topoopt.transformers.Configuration`. ``tp`` to ``precision`` always have a row axis.
    """

    tp: Ints
    pp: Ints
    dp: Ints
    global_batch: Ints
    sequence: Ints
    cp: Ints
    ep: Ints
    etp: Ints
    vpp: Ints
    micro_batch: Ints
    recompute: Ints
    zero: Ints
    sequence_parallel: Ints
    precision: Ints
    recompute_layers: Ints
    shard: Ints
    context: Ints
    schedule: Ints
    overlap_experts: Ints
    dispatch: Ints
    weights: Ints
    gradients: Ints
    moments: Ints
    activation_inputs: Ints
    offload_optimizer: Floats
    offload_activations: Floats
    adapter_rank: Ints
    adapters: Ints
    document: Ints
    document_spread: Floats
    exchange: Ints
    graphs: Ints

    def __len__(self) -> int:
        return len(self.tp)

    def take(self, rows: Ints | Bools) -> "ConfigurationTable":
        """Return some rows, by index or by mask."""
        return take_rows(self, rows)

    def recomputes(self, what: str) -> Bools:
        """Return which rows recompute one of :data:`~topoopt.transformers.RECOMPUTED_PARTS`, or whole layers
        (``full``)."""
        return np.asarray(self.recompute & part_bit(what) > 0)

    def has_word(self, column: str, word: str) -> Bools:
        """Return which rows have a value in a column of names, shape (configurations,) or ()."""
        return np.asarray(getattr(self, column) == _WORDS[column].index(word))

    def row(self, index: int) -> Configuration:
        """Return one configuration."""
        return Configuration(**{name: self._value(name, index) for name in COLUMNS})

    def _value(self, name: str, index: int) -> Any:
        column = getattr(self, name)
        return _FROM_COLUMN[name]((column[index] if np.ndim(column) else column).item())


COLUMNS = tuple(column.name for column in fields(ConfigurationTable))
_DEFAULTS = {
    column.name: column.default
    for column in fields(Configuration)
    if COLUMNS.index(column.name) > COLUMNS.index("precision")
}
"""Defaults of rarely used fields."""
RARE_COLUMNS = tuple(_DEFAULTS)
"""Columns that a search does not vary, but takes as they are given."""


_TO_COLUMN: Mapping[str, Callable[[Any], Any]] = {
    **dict.fromkeys(COLUMNS, int),
    **dict.fromkeys(FLOATS, float),
    **{name: words.index for name, words in _WORDS.items()},
    "recompute": recomputation_bits,
}
_FROM_COLUMN: Mapping[str, Callable[[Any], Any]] = {
    **dict.fromkeys(COLUMNS, int),
    **dict.fromkeys(FLOATS, float),
    **dict.fromkeys(("sequence_parallel", "overlap_experts", "graphs"), bool),
    **{name: words.__getitem__ for name, words in _WORDS.items()},
    "recompute": recomputation_word,
}


def configuration_table(configurations: Sequence[Configuration]) -> ConfigurationTable:
    """Return the configurations as columns."""
    columns: dict[str, Any] = {}
    for name in COLUMNS:
        values = [getattr(one, name) for one in configurations]
        if name in _DEFAULTS and values.count(_DEFAULTS[name]) == len(values):
            continue
        columns[name] = np.array([_TO_COLUMN[name](value) for value in values], _dtype(name))
    return table_of_columns(**columns)


def table_of_columns(**columns: Any) -> ConfigurationTable:
    """Return a table of some columns; missing rare ones have the defaults of :class:`Configuration`."""
    usual: dict[str, Any] = {
        name: np.array(_TO_COLUMN[name](value), _dtype(name))
        for name, value in _DEFAULTS.items()
        if name not in columns
    }
    return ConfigurationTable(**columns, **usual)


def column_value(name: str, value: Any) -> Any:
    """Return a field's value in its column.

    Examples
    --------
    >>> column_value("context", "ulysses"), column_value("tp", 8)
    (1, 8)
    """
    return _TO_COLUMN[name](value)


def _dtype(name: str) -> type:
    return np.float64 if name in FLOATS else np.int64


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
