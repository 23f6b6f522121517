"""The noun PartTable: what each part costs, or draws; between two speeds it is interpolated."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Literal

from topoopt.base.errors import InvalidInput
from topoopt.base.units import format_bandwidth

Item = Literal[
    "transceiver",
    "nic",
    "electrical_port",
    "linear_transceiver",
    "co_packaged_port",
    "passive_copper",
    "active_copper",
    "switch",
    "breakout_cable",
    "patch_panel_port",
    "ocs_port",
    "mems_port",
    "piezo_port",
    "optical_switch_1x2",
    "fiber_m",
]
"""What is bought: the first seven per speed, a switch by its name, the others at any; ``fiber_m`` is one meter of
fiber."""

SPEED_ITEMS: tuple[Item, ...] = (
    "transceiver",
    "nic",
    "electrical_port",
    "linear_transceiver",
    "co_packaged_port",
    "passive_copper",
    "active_copper",
)
"""What has a price for every speed."""

NAMED_ITEM: Item = "switch"
"""What has a price for every name of the catalogue of switches; where there is none it is that of its ports."""

BASIC_ITEMS: tuple[Item, ...] = ("transceiver", "nic", "electrical_port")
"""What every switched network takes at a speed."""

COLUMNS = {"prices": "usd", "power": "watts"}
"""Kinds of tables, and what the column of values is called in a file."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part that is bought: ``bandwidth_bps`` is None where it has no speed, ``name`` says of which switch it is."""

    item: Item
    bandwidth_bps: float | None = None
    name: str = ""

    @property
    def words(self) -> str:
        """The part as a list names it, with its speed or its name."""
        if self.name and self.item == NAMED_ITEM:
            return f"{self.item} {self.name}"
        return self.item + (f" of {format_bandwidth(self.bandwidth_bps)}" if self.bandwidth_bps else "")


@dataclass(frozen=True, slots=True)
class PartRow:
    """What one part costs or draws, who says so, and when.

    ``bandwidth_bps`` is None for parts without a speed; ``low`` and ``high`` say how far off the value may be, None
    where nobody says.
    """

    item: Item
    bandwidth_bps: float | None
    value: float
    confidence: str
    source: str
    date: str = ""
    name: str = ""
    low: float | None = None
    high: float | None = None

    def __post_init__(self) -> None:
        low, high = (self.value if end is None else end for end in (self.low, self.high))
        if not low <= self.value <= high:
            raise InvalidInput(
                f"{self.item}: {self.value:g} lies outside of its own range, {low:g} to {high:g}; mend one of them"
            )

    @property
    def key(self) -> tuple[Item, float | None, str]:
        """What a row of another list must say to be in place of this one."""
        return self.item, self.bandwidth_bps, self.name


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
            if row.key in met:
                at = (
                    f" at {format_bandwidth(row.bandwidth_bps)}"
                    if row.bandwidth_bps
                    else row.name and f" {row.name}"
                )
                raise InvalidInput(f"{self.kind} {self.name}: {row.item}{at} stands twice; leave one row")
            met.add(row.key)

    def overlaid(self, over: "PartTable", name: str) -> "PartTable":
        """Return this table with the rows of another in place of its own for the same part, or added."""
        instead = {row.key: row for row in over.rows}
        kept = tuple(instead.pop(row.key, row) for row in self.rows)
        return PartTable(self.kind, name, (*kept, *instead.values()))

    def known_value(self, item: Item, bandwidth_bps: float | None = None, name: str = "") -> float | None:
        """Return the price or the watts of one part, None where it is not listed or the speed lies above the list.

        Between two listed speeds it is interpolated linearly; below the lowest it is the lowest's, since nothing
        slower can be bought.
        """
        rows = self.rows_behind(item, bandwidth_bps, name)
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
        if value is None:
            raise InvalidInput(self.why_unknown(Part(item, bandwidth_bps)))
        return value

    def why_unknown(self, part: Part) -> str:
        """Return why a part has no value, with the remedy."""
        speeds = [row.bandwidth_bps for row in self.rows if row.item == part.item and row.bandwidth_bps]
        if not speeds or part.bandwidth_bps is None:
            return f'{self.kind} {self.name}: no price of "{part.item}"; add a row'
        return (
            f"{self.kind} {self.name}: no {part.words}: the list ends at "
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

    def rows_behind(
        self, item: Item, bandwidth_bps: float | None = None, name: str = ""
    ) -> tuple[PartRow, ...]:
        """Return the rows that a value is made of: one, the two that it is interpolated between, or none."""
        rows = sorted(
            (row for row in self.rows if row.item == item and (item != NAMED_ITEM or row.name == name)),
            key=lambda row: row.bandwidth_bps or 0.0,
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
            for item in BASIC_ITEMS
        ]
        return tuple(sorted(set.intersection(*listed)))

    def sources(self, parts: Iterable[Part]) -> list[dict[str, Any]]:
        """Return the rows that the values of parts are made of, with the names of the columns in a file."""
        rows = dict.fromkeys(
            row for part in parts for row in self.rows_behind(part.item, part.bandwidth_bps, part.name)
        )
        value = COLUMNS[self.kind]
        names = {"value": value, "low": f"low_{value}", "high": f"high_{value}"}
        return [{names.get(key, key): cell for key, cell in asdict(row).items()} for row in rows]
