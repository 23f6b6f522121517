"""Prices and watts of parts, each with its source: dated lists of the package, and files of the user's own.

The papers behind the price lists give no watts; those are makers' figures. Where nobody's figure is known a bill says
which part it lacks.
"""

from collections.abc import Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from topoopt.cost.part_table import COLUMNS, SPEED_ITEMS, Item, PartRow, PartTable
from topoopt.errors import InvalidInput, unknown_name
from topoopt.files import Amount, Positive, Strict, csv_lines, parse_yaml, read_text, validated

PRICE_TABLES = ("2022", "2025")
"""Years of the price lists that come with the package."""
TYPICAL_POWER = "typical"
"""Name of the table of watts that comes with the package."""


class _PartRowModel(Strict):
    """What rows of prices and of watts have in common."""

    item: Item
    bandwidth_gbps: Positive | None = None
    confidence: str = "user"
    source: str = "user"


class PriceRowModel(_PartRowModel):
    """One row of a price list; bandwidth_gbps only for nic, transceiver and electrical_port."""

    usd: Amount


class PowerRowModel(_PartRowModel):
    """One row of a table of watts; bandwidth_gbps only for nic, transceiver and electrical_port."""

    watts: Amount


def find_prices(name: str) -> PartTable:
    """Return a price list that comes with the package (``2022``, ``2025``), or the one in a file.

    A file is CSV with the columns ``item,bandwidth_gbps,usd,confidence,source`` (the last two may be left
    out, and the bandwidth is blank where it does not matter), or YAML with a list of such rows.

    Raises
    ------
    InvalidInput
        If there is no such list or file, or a row of it is wrong.

    Examples
    --------
    >>> find_prices("2022").price_usd("transceiver", 100e9)
    99.0
    """
    return _find("prices", name, PRICE_TABLES)


def suited_prices(bandwidth_bps: float) -> str:
    """Return the first price list of the package that has parts of this speed, the last where none has.

    Examples
    --------
    >>> suited_prices(100e9), suited_prices(400e9)
    ('2022', '2025')
    """
    fast = (name for name in PRICE_TABLES if find_prices(name).speeds_bps()[-1] >= bandwidth_bps)
    return next(fast, PRICE_TABLES[-1])


def find_power(name: str = TYPICAL_POWER) -> PartTable:
    """Return the watts that come with the package, or those in a file: as for prices, with a column ``watts``.

    Raises
    ------
    InvalidInput
        If there is no such table or file, or a row of it is wrong.

    Examples
    --------
    >>> find_power().known_value("transceiver", 100e9), find_power().known_value("nic", 800e9)
    (3.5, None)
    """
    return _find("power", name, (TYPICAL_POWER,))


def prices_schema() -> dict[str, Any]:
    """Return the JSON Schema of a price list in a file: a list of rows, whose keys are the columns of a CSV."""
    return TypeAdapter(list[PriceRowModel]).json_schema()


def power_schema() -> dict[str, Any]:
    """Return the JSON Schema of a table of watts in a file: a list of rows, whose keys are the columns of a CSV."""
    return TypeAdapter(list[PowerRowModel]).json_schema()


def _find(kind: str, name: str, shipped: tuple[str, ...]) -> PartTable:
    if name in shipped:
        return _shipped(kind, name)
    if Path(name).suffix.lower() in (".csv", ".yaml", ".yml", ".json"):
        return _table(kind, name, name, read_text(name))
    raise unknown_name(kind, name, (*shipped, "a file .csv or .yaml"))


@cache
def _shipped(kind: str, name: str) -> PartTable:
    path = resources.files("topoopt.cost") / "data" / f"{kind}_{name}.csv"
    return _table(kind, name, path.name, path.read_text(encoding="utf-8"))


def _table(kind: str, name: str, place: str, text: str) -> PartTable:
    """Return the table of a CSV text, or of a YAML text that is a list or has one under its kind."""
    rows: Any = _csv_rows(text, place) if place.lower().endswith(".csv") else parse_yaml(text, place)
    if isinstance(rows, Mapping) and list(rows) == [kind]:
        rows = rows[kind]
    if not isinstance(rows, list) or not rows:
        raise InvalidInput(f"{place}: expected a list of rows with item, bandwidth_gbps and {COLUMNS[kind]}")
    return PartTable(kind, name, tuple(_row(kind, row, f"{place}: row {i}") for i, row in enumerate(rows, 1)))


def _csv_rows(text: str, place: str) -> list[dict[str, Any]]:
    """Return the rows of a CSV text, without their empty cells."""
    rows = [cells for _, cells in csv_lines(text, place, strict=True) if cells]
    header = rows[0] if rows else []
    for number, cells in enumerate(rows[1:], 1):
        if len(cells) > len(header):
            raise InvalidInput(f"{place}: row {number}: more values than the header has columns")
    return [{key: cell for key, cell in zip(header, cells, strict=False) if cell} for cells in rows[1:]]


def _row(kind: str, row: object, place: str) -> PartRow:
    """Return a row with its speed in bits per second, which parts have that depend on it, and no others."""
    model: PriceRowModel | PowerRowModel
    if kind == "prices":
        model = validated(PriceRowModel, row, place)
        value = model.usd
    else:
        model = validated(PowerRowModel, row, place)
        value = model.watts
    by_speed, gbps = model.item in SPEED_ITEMS, model.bandwidth_gbps
    if by_speed != (gbps is not None):
        rule = "needs a bandwidth_gbps" if by_speed else "has no bandwidth_gbps"
        raise InvalidInput(f"{place}: {model.item} {rule}")
    bandwidth_bps = None if gbps is None else gbps * 1e9
    return PartRow(model.item, bandwidth_bps, value, model.confidence, model.source)
