"""Dated price lists, and the user's own: what one part costs, and how sure that is."""

from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from pydantic import Field, TypeAdapter

from topoopt.cost.part_rows import (
    SPEED_ITEMS,
    Item,
    Listed,
    at_speed,
    bandwidth_of,
    basis_words,
    check_once,
    csv_rows,
    read_rows,
    rows_around,
)
from topoopt.errors import InvalidInput, unknown_name
from topoopt.files import Strict, validated
from topoopt.units import format_bandwidth

PRICE_TABLES = ("2022", "2025")
"""Years of the price lists that come with the package."""


@dataclass(frozen=True, slots=True)
class PriceRow:
    """One price. ``bandwidth_bps`` is None for parts that do not depend on the speed."""

    item: Item
    bandwidth_bps: float | None
    usd: float
    confidence: str
    source: str


@dataclass(frozen=True, slots=True)
class PriceTable:
    """A price list: no two rows for the same item and speed."""

    name: str
    rows: tuple[PriceRow, ...]

    def __post_init__(self) -> None:
        check_once(self.rows, f"prices {self.name}")

    def unit_usd(self, item: Item, bandwidth_bps: float | None = None) -> float:
        """Return the price of one part.

        Between two listed speeds the price is interpolated linearly; below the lowest it is the lowest's,
        since nothing slower can be bought.

        Raises
        ------
        InvalidInput
            If the item is not listed, or the speed lies above the list.
        """
        if item not in SPEED_ITEMS:
            found = [row.usd for row in self.rows if row.item == item]
            if not found:
                raise InvalidInput(f'prices {self.name}: no price of "{item}"; add a row')
            return found[0]
        assert bandwidth_bps is not None
        listed = self._listed(item)
        if not listed:
            raise InvalidInput(f'prices {self.name}: no price of "{item}"; add a row')
        if bandwidth_bps > listed[-1][0]:
            raise InvalidInput(
                f"prices {self.name}: no {item} of {format_bandwidth(bandwidth_bps)}: the list ends at "
                f"{format_bandwidth(listed[-1][0])}; use more interfaces, or another price list"
            )
        return at_speed(listed, bandwidth_bps)

    def basis(self, item: Item, bandwidth_bps: float | None = None) -> str:
        """Return how :meth:`unit_usd` comes about, empty where the price is listed as it is."""
        if item not in SPEED_ITEMS:
            return ""
        assert bandwidth_bps is not None
        return basis_words(self._listed(item), bandwidth_bps)

    def rows_behind(self, item: Item, bandwidth_bps: float | None = None) -> tuple[PriceRow, ...]:
        """Return the rows that :meth:`unit_usd` is made of: one, or the two that it is interpolated between."""
        rows = [row for row in self.rows if row.item == item]
        if item not in SPEED_ITEMS:
            return tuple(rows[:1])
        assert bandwidth_bps is not None
        return rows_around(rows, bandwidth_bps)

    def speeds_bps(self) -> tuple[float, ...]:
        """Return the speeds at which NIC, transceiver and electrical port are all listed, ascending."""
        listed = [{speed for speed, _ in self._listed(item)} for item in SPEED_ITEMS]
        return tuple(sorted(set.intersection(*listed)))

    def _listed(self, item: Item) -> Listed:
        return sorted((row.bandwidth_bps or 0.0, row.usd) for row in self.rows if row.item == item)


class PriceRowModel(Strict):
    """One row of a price list; bandwidth_gbps only for nic, transceiver and electrical_port."""

    item: Item
    usd: float = Field(ge=0)
    bandwidth_gbps: float | None = Field(default=None, gt=0)
    confidence: str = "user"
    source: str = "user"


def find_prices(name: str) -> PriceTable:
    """Return a price list that comes with the package (``2022``, ``2025``), or the one in a file.

    A file is CSV with the columns ``item,bandwidth_gbps,usd,confidence,source`` (the last two may be left
    out, and the bandwidth is blank where it does not matter), or YAML with a list of such rows.

    Raises
    ------
    InvalidInput
        If there is no such list or file, or a row of it is wrong.

    Examples
    --------
    >>> find_prices("2022").unit_usd("transceiver", 100e9)
    99.0
    """
    if name in PRICE_TABLES:
        return _shipped(name)
    if Path(name).suffix.lower() in (".csv", ".yaml", ".yml", ".json"):
        return read_prices(name)
    raise unknown_name("prices", name, (*PRICE_TABLES, "a file .csv or .yaml"))


def suited_prices(bandwidth_bps: float) -> str:
    """Return the first price list of the package that has parts of this speed, the last where none has.

    Examples
    --------
    >>> suited_prices(100e9), suited_prices(400e9)
    ('2022', '2025')
    """
    fast = (name for name in PRICE_TABLES if _shipped(name).speeds_bps()[-1] >= bandwidth_bps)
    return next(fast, PRICE_TABLES[-1])


def read_prices(path: str | Path) -> PriceTable:
    """Return the price list of a CSV or YAML file; see :func:`find_prices`."""
    rows = read_rows(path, "prices", "item, bandwidth_gbps and usd")
    return PriceTable(str(path), tuple(_row(row, f"{path}: row {i}") for i, row in enumerate(rows, 1)))


def prices_schema() -> dict[str, Any]:
    """Return the JSON Schema of a price list in a file: a list of rows, whose keys are the columns of a CSV."""
    return TypeAdapter(list[PriceRowModel]).json_schema()


@cache
def _shipped(name: str) -> PriceTable:
    path = resources.files("topoopt.cost") / "data" / f"prices_{name}.csv"
    rows = csv_rows(path.read_text(encoding="utf-8"), path.name)
    return PriceTable(name, tuple(_row(row, f"{path.name}: row {i}") for i, row in enumerate(rows, 1)))


def _row(row: object, place: str) -> PriceRow:
    model = validated(PriceRowModel, row, place)
    bandwidth_bps = bandwidth_of(model.item, model.bandwidth_gbps, place)
    return PriceRow(model.item, bandwidth_bps, model.usd, model.confidence, model.source)
