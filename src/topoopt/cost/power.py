"""What one part draws: makers' figures with their source, and the user's own.

The papers behind the price lists give no watts. Where nobody's figure is known a bill says which part it lacks.
"""

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
    check_once,
    csv_rows,
    read_rows,
    rows_around,
)
from topoopt.errors import unknown_name
from topoopt.files import Strict, validated

TYPICAL_POWER = "typical"
"""Name of the table that comes with the package."""


@dataclass(frozen=True, slots=True)
class PowerRow:
    """What one part draws; ``bandwidth_bps`` is None for parts that do not depend on the speed."""

    item: Item
    bandwidth_bps: float | None
    watts: float
    confidence: str
    source: str


@dataclass(frozen=True, slots=True)
class PowerTable:
    """Watts of parts: no two rows for the same item and speed."""

    name: str
    rows: tuple[PowerRow, ...]

    def __post_init__(self) -> None:
        check_once(self.rows, f"power {self.name}")

    def unit_w(self, item: Item, bandwidth_bps: float | None = None) -> float | None:
        """Return the watts of one part, interpolated as prices are; None where nobody's figure is known."""
        listed: Listed = sorted(
            (row.bandwidth_bps or 0.0, row.watts) for row in self.rows if row.item == item
        )
        if item not in SPEED_ITEMS:
            return listed[0][1] if listed else None
        assert bandwidth_bps is not None
        return at_speed(listed, bandwidth_bps) if listed and bandwidth_bps <= listed[-1][0] else None

    def rows_behind(self, item: Item, bandwidth_bps: float | None = None) -> tuple[PowerRow, ...]:
        """Return the rows that :meth:`unit_w` is made of; none where nobody's figure is known."""
        rows = [row for row in self.rows if row.item == item]
        if item not in SPEED_ITEMS:
            return tuple(rows[:1])
        assert bandwidth_bps is not None
        return rows_around(rows, bandwidth_bps)


class PowerRowModel(Strict):
    """One row of a table of watts; bandwidth_gbps only for nic, transceiver and electrical_port."""

    item: Item
    watts: float = Field(ge=0)
    bandwidth_gbps: float | None = Field(default=None, gt=0)
    confidence: str = "user"
    source: str = "user"


def find_power(name: str = TYPICAL_POWER) -> PowerTable:
    """Return the table that comes with the package, or the one in a file.

    A file is CSV with the columns ``item,bandwidth_gbps,watts,confidence,source`` (the last two may be left
    out, and the bandwidth is blank where it does not matter), or YAML with a list of such rows.

    Raises
    ------
    InvalidInput
        If there is no such table or file, or a row of it is wrong.

    Examples
    --------
    >>> find_power().unit_w("transceiver", 100e9), find_power().unit_w("nic", 800e9)
    (3.5, None)
    """
    if name == TYPICAL_POWER:
        return _typical()
    if Path(name).suffix.lower() in (".csv", ".yaml", ".yml", ".json"):
        rows = read_rows(name, "power", "item, bandwidth_gbps and watts")
        return PowerTable(name, tuple(_row(row, f"{name}: row {i}") for i, row in enumerate(rows, 1)))
    raise unknown_name("power", name, (TYPICAL_POWER, "a file .csv or .yaml"))


def power_schema() -> dict[str, Any]:
    """Return the JSON Schema of a table of watts in a file: a list of rows, whose keys are the columns of a CSV."""
    return TypeAdapter(list[PowerRowModel]).json_schema()


@cache
def _typical() -> PowerTable:
    path = resources.files("topoopt.cost") / "data" / "power_typical.csv"
    rows = csv_rows(path.read_text(encoding="utf-8"), path.name)
    return PowerTable(
        TYPICAL_POWER, tuple(_row(row, f"{path.name}: row {i}") for i, row in enumerate(rows, 1))
    )


def _row(row: object, place: str) -> PowerRow:
    model = validated(PowerRowModel, row, place)
    bandwidth_bps = bandwidth_of(model.item, model.bandwidth_gbps, place)
    return PowerRow(model.item, bandwidth_bps, model.watts, model.confidence, model.source)
