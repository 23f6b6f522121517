"""The noun PartTable: what each part costs, or draws; between two speeds it is interpolated."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Literal

from topoopt.errors import InvalidInput
from topoopt.units import format_bandwidth

Item = Literal[
    "transceiver", "nic", "electrical_port", "patch_panel_port", "ocs_port", "optical_switch_1x2", "fiber_m"
]
"""What is bought: the first three per speed, the others at any; ``fiber_m`` is one meter of fiber."""

SPEED_ITEMS: tuple[Item, ...] = ("transceiver", "nic", "electrical_port")

COLUMNS = {"prices": "usd", "power": "watts"}
"""Kinds of tables, and what the column of values is called in a file."""


@dataclass(frozen=True, slots=True)
class PartRow:
    """What one part costs or draws. ``bandwidth_bps`` is None for parts that do not depend on the speed."""

    item: Item
    bandwidth_bps: float | None
    value: float
    confidence: str
    source: str


@dataclass(frozen=True, slots=True)
class PartTable:
    """A price list in dollars or a table of watts: no two rows for the same item and speed.

    Attributes
    ----------
    kind : str
        One of :data:`COLUMNS`.
    """

    kind: str
    name: str
    rows: tuple[PartRow, ...]

    def __post_init__(self) -> None:
        met = set()
        for row in self.rows:
            if (row.item, row.bandwidth_bps) in met:
                at = f" at {format_bandwidth(row.bandwidth_bps)}" if row.bandwidth_bps else ""
                raise InvalidInput(f"{self.kind} {self.name}: {row.item}{at} stands twice; leave one row")
            met.add((row.item, row.bandwidth_bps))

    def known_value(self, item: Item, bandwidth_bps: float | None = None) -> float | None:
        """Return the price or the watts of one part, None where it is not listed or the speed lies above the list.

        Between two listed speeds it is interpolated linearly; below the lowest it is the lowest's, since nothing
        slower can be bought.
        """
        rows = self.rows_behind(item, bandwidth_bps)
        if len(rows) < 2:
            return rows[0].value if rows else None
        (low_bps, low), (high_bps, high) = ((row.bandwidth_bps or 0.0, row.value) for row in rows)
        return low + (high - low) * ((bandwidth_bps or 0.0) - low_bps) / (high_bps - low_bps)

    def price_usd(self, item: Item, bandwidth_bps: float | None = None) -> float:
        """Return the price of one part; see :meth:`known_value`.

        Raises
        ------
        InvalidInput
            If the item is not listed, or the speed lies above the list.
        """
        value = self.known_value(item, bandwidth_bps)
        if value is not None:
            return value
        speeds = [row.bandwidth_bps for row in self.rows if row.item == item and row.bandwidth_bps]
        if not speeds or bandwidth_bps is None:
            raise InvalidInput(f'prices {self.name}: no price of "{item}"; add a row')
        raise InvalidInput(
            f"prices {self.name}: no {item} of {format_bandwidth(bandwidth_bps)}: the list ends at "
            f"{format_bandwidth(max(speeds))}; use more interfaces, or another price list"
        )

    def basis(self, item: Item, bandwidth_bps: float | None = None) -> str:
        """Return how a value comes about, empty where it is listed as it is."""
        speeds = [row.bandwidth_bps for row in self.rows_behind(item, bandwidth_bps)]
        if bandwidth_bps in speeds or not speeds:
            return ""
        listed = [format_bandwidth(speed) for speed in speeds if speed]
        if len(listed) == 1:
            return f"as for {listed[0]}, the slowest listed"
        return f"interpolated between {listed[0]} and {listed[1]}"

    def rows_behind(self, item: Item, bandwidth_bps: float | None = None) -> tuple[PartRow, ...]:
        """Return the rows that a value is made of: one, the two that it is interpolated between, or none."""
        rows = sorted(
            (row for row in self.rows if row.item == item), key=lambda row: row.bandwidth_bps or 0.0
        )
        if item not in SPEED_ITEMS:
            return tuple(rows[:1])
        assert bandwidth_bps is not None
        slower = [row for row in rows if (row.bandwidth_bps or 0.0) <= bandwidth_bps]
        faster = rows[len(slower) :]
        if slower and slower[-1].bandwidth_bps == bandwidth_bps:
            return (slower[-1],)
        return (*slower[-1:], faster[0]) if faster else ()

    def speeds_bps(self) -> tuple[float, ...]:
        """Return the speeds at which NIC, transceiver and electrical port are all listed, ascending."""
        listed = [
            {row.bandwidth_bps for row in self.rows if row.item == item and row.bandwidth_bps}
            for item in SPEED_ITEMS
        ]
        return tuple(sorted(set.intersection(*listed)))

    def sources(self, parts: Iterable[tuple[Item, float | None]]) -> list[dict[str, Any]]:
        """Return the rows that the values of parts are made of, with the names of the columns in a file."""
        rows = dict.fromkeys(row for part in parts for row in self.rows_behind(*part))
        names = {"value": COLUMNS[self.kind]}
        return [{names.get(key, key): cell for key, cell in asdict(row).items()} for row in rows]
