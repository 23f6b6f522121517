"""Many configurations as columns, for estimates of all of them at once."""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from topoopt.hardware import PRECISIONS
from topoopt.llm.columns import Bools, Ints, take_rows
from topoopt.llm.configuration import RECOMPUTATIONS, Configuration


@dataclass(frozen=True, eq=False)
class ConfigurationTable:
    """Configurations by columns, each an int64 array of shape (configurations,).

    ``recompute`` holds indices into :data:`~topoopt.llm.RECOMPUTATIONS`, ``precision`` into
    :data:`~topoopt.hardware.PRECISIONS`, ``sequence_parallel`` 0 or 1; the others as in
    :class:`~topoopt.llm.Configuration`.
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

    def __len__(self) -> int:
        return len(self.tp)

    def take(self, rows: Ints | Bools) -> "ConfigurationTable":
        """Return some rows, by index or by mask."""
        return take_rows(self, rows)

    def recomputes(self, what: str) -> Bools:
        """Return which rows recompute one of :data:`~topoopt.llm.RECOMPUTATIONS`."""
        return np.asarray(self.recompute == RECOMPUTATIONS.index(what))

    def row(self, index: int) -> Configuration:
        """Return one configuration."""
        words = {column.name: int(getattr(self, column.name)[index]) for column in fields(self)}
        named = {
            "recompute": RECOMPUTATIONS[words["recompute"]],
            "precision": PRECISIONS[words["precision"]],
            "sequence_parallel": bool(words["sequence_parallel"]),
        }
        return Configuration(**{**words, **named})  # type: ignore[arg-type]


def configuration_table(configurations: Sequence[Configuration]) -> ConfigurationTable:
    """Return the configurations as columns."""
    index = {"recompute": RECOMPUTATIONS.index, "precision": PRECISIONS.index}
    columns = (
        [index.get(column.name, int)(getattr(one, column.name)) for one in configurations]
        for column in fields(ConfigurationTable)
    )
    return ConfigurationTable(*(np.array(column, np.int64) for column in columns))
