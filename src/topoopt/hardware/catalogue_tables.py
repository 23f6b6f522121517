"""Tables of the catalogue as an answer: what can be bought, with the source of every row."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from topoopt.door import shows_itself
from topoopt.frame import frame
from topoopt.hardware.catalogue import CATALOGUES, CatalogueRow, catalogue

if TYPE_CHECKING:
    from pandas import DataFrame


@shows_itself
@dataclass(frozen=True, slots=True)
class HardwareTables:
    """One table of the catalogue, or all; ``named`` says which."""

    tables: Mapping[str, tuple[CatalogueRow, ...]]
    named: bool

    def to_json(self) -> dict[str, Any]:
        """Return the tables with their sources as a mapping."""
        return {name: [asdict(row) for row in rows] for name, rows in self.tables.items()}

    def to_frame(self) -> "DataFrame":
        """Return a row for each part, with the name of its table, as pandas has it."""
        return frame({"table": name, **row} for name, rows in self.to_json().items() for row in rows)


def hardware_tables(name: str | None = None) -> HardwareTables:
    """Return one table of the catalogue, or all.

    Raises
    ------
    InvalidInput
        If there is no such table.
    """
    names = tuple(CATALOGUES) if name is None else (name,)
    return HardwareTables({key: catalogue(key) for key in names}, named=name is not None)
