"""PartTable: prices and watts of parts, from dated lists of the package overlaid with files.

The papers behind the price lists give no watts; those are makers' figures. Where no figure is known, the bill names
the part.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Literal, get_args

from topoopt.base.errors import InvalidInput, check_known, shown, unknown_name
from topoopt.base.units import format_bandwidth
from topoopt.catalog import packet_switches
from topoopt.schema.files import (
    Amount,
    Positive,
    Strict,
    headed_rows,
    is_file,
    parse_yaml,
    read_text,
    validated,
)

Item = Literal[
    "nic",
    "transceiver",
    "linear_transceiver",
    "passive_copper",
    "active_copper",
    "switch",
    "electrical_port",
    "co_packaged_port",
    "breakout_cable",
    "patch_panel_port",
    "manual_panel_port",
    "ocs_port",
    "mems_port",
    "piezo_port",
    "liquid_crystal_port",
    "silicon_photonics_port",
    "optical_switch_1x2",
    "fiber_m",
]
"""Items in the order of a bill, from the servers through the network; ``fiber_m`` is one meter of fiber."""
ITEMS: tuple[Item, ...] = get_args(Item)
SPEED_ITEMS = {item for item in ITEMS[: ITEMS.index("breakout_cable")] if item != "switch"}
"""Items with a price per speed."""
NAMED_ITEM: Item = "switch"
"""Item with a price per model in the catalogue of switches; without one, its ports are priced."""
BASIC_ITEMS: tuple[Item, ...] = ("transceiver", "nic", "electrical_port")
"""Items that every switched network needs at a speed."""
COLUMNS = {"prices": "usd", "power": "watts"}
"""Kinds of tables, and the name of the column of values in a file."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part that is bought: ``bandwidth_bps`` is None where it has no speed, ``name`` is the model of a switch."""

    item: Item
    bandwidth_bps: float | None = None
    name: str = ""

    @property
    def words(self) -> str:
        """The part as a list names it, with its speed or its name."""
        if self.name and self.bandwidth_bps is None:
            return f"{self.item} {self.name}"
        return self.item + (f" of {format_bandwidth(self.bandwidth_bps)}" if self.bandwidth_bps else "")


@dataclass(frozen=True, slots=True)
class PartRow:
    """Price or power of a part, with source and date.

    ``bandwidth_bps`` is None for parts without a speed; ``low`` and ``high`` are the range of the value, None
    where unknown.
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
        """Key by which a row of another list replaces this one."""
        return self.item, self.bandwidth_bps, self.name


@dataclass(frozen=True, slots=True)
class PartTable:
    """A price list in dollars or a table of watts: no two rows for the same item and speed.

    Attributes
    ----------
    kind : str
        A name in :data:`COLUMNS`.
    """

    kind: str
    name: str
    rows: tuple[PartRow, ...]

    def __post_init__(self) -> None:
        met = set()
        for row in self.rows:
            if row.key in met:
                raise InvalidInput(
                    f"{self.kind} {self.name}: {Part(*row.key).words} stands twice; leave one row"
                )
            met.add(row.key)

    def overlaid(self, over: "PartTable", name: str) -> "PartTable":
        """Return this table overlaid with another one's rows, which replace rows of the same part."""
        instead = {row.key: row for row in over.rows}
        kept = tuple(instead.pop(row.key, row) for row in self.rows)
        return PartTable(self.kind, name, (*kept, *instead.values()))

    def known_value(
        self, item: Item, bandwidth_bps: float | None = None, name: str = "", sold: bool = False
    ) -> float | None:
        """Return the price or the watts of one part, None where it is not listed or the speed is above the list.

        Between two listed speeds it is interpolated linearly, or where the part has to be ``sold`` it is that of the
        faster one; below the lowest it is the lowest's.
        """
        rows = self.rows_behind(item, bandwidth_bps, name, sold)
        if len(rows) < 2:
            return rows[0].value if rows else None
        (low_bps, low), (high_bps, high) = ((row.bandwidth_bps or 0.0, row.value) for row in rows)
        return low + (high - low) * ((bandwidth_bps or 0.0) - low_bps) / (high_bps - low_bps)

    def price_usd(self, item: Item, bandwidth_bps: float | None = None) -> float:
        """Return the price of one part; see :meth:`known_value`.

        Raises
        ------
        InvalidInput
            If the item is not listed, or the speed is above the list.
        """
        value = self.known_value(item, bandwidth_bps)
        if value is None:
            raise InvalidInput(self.why_unknown(Part(item, bandwidth_bps)))
        return value

    def why_unknown(self, part: Part) -> str:
        """Return the reason why a part has no value, with the remedy."""
        speeds = [row.bandwidth_bps for row in self.rows if row.item == part.item and row.bandwidth_bps]
        if not speeds or part.bandwidth_bps is None:
            return f'{self.kind} {self.name}: no price of "{part.item}"; add a row'
        return (
            f"{self.kind} {self.name}: no {part.words}: the list ends at "
            f"{format_bandwidth(max(speeds))}; use more interfaces, or another price list"
        )

    def basis(self, item: Item, bandwidth_bps: float | None = None, sold: bool = False) -> str:
        """Return the derivation of a value, empty where it is listed."""
        speeds = [row.bandwidth_bps for row in self.rows_behind(item, bandwidth_bps, sold=sold)]
        if bandwidth_bps in speeds or not speeds:
            return ""
        listed = [format_bandwidth(speed) for speed in speeds if speed]
        if len(listed) == 1:
            return f"as for {listed[0]}, the slowest listed that is enough"
        return f"interpolated between {listed[0]} and {listed[1]}"

    def rows_behind(
        self, item: Item, bandwidth_bps: float | None = None, name: str = "", sold: bool = False
    ) -> tuple[PartRow, ...]:
        """Return the rows that a value is made of: one, the two that it is interpolated between, or none.

        A part that is ``sold`` has one: speeds between two of the list are not sold.
        """
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
        return (*(() if sold else slower[-1:]), faster[0]) if faster else ()

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


PRICE_TABLES = ("2022", "2025", "2026")
"""Years of the price lists that come with the package."""
DEFAULT_PRICES = "2026"
"""The list by which every verb prices, at every speed, where no other is named."""
TYPICAL_POWER = "typical"
"""Name of the table of watts that comes with the package."""
NO_LIST = "none"
"""Name for no list: only the rows of files."""


class _PartRowModel(Strict):
    item: Item
    bandwidth_gbps: Positive | None = None
    confidence: str = "user"
    source: str = "user"
    date: str = ""
    name: str = ""


class PriceRowModel(_PartRowModel):
    """Row of a price list; bandwidth_gbps only for parts that have a speed, name only for a switch."""

    usd: Amount
    low_usd: Amount | None = None
    high_usd: Amount | None = None


class PowerRowModel(_PartRowModel):
    """Row of a table of watts; bandwidth_gbps only for parts that have a speed, name only for a switch."""

    watts: Amount
    low_watts: Amount | None = None
    high_watts: Amount | None = None


_ROW_MODELS: Mapping[str, type[_PartRowModel]] = {"prices": PriceRowModel, "power": PowerRowModel}
TABLES = (".csv", ".tsv", ".txt")
_SUFFIXES = (*TABLES, ".yaml", ".yml", ".json")
"""Endings of files that are tables; the last is that of "Unicode text" of spreadsheets."""


def find_prices(name: str, folder: str | Path = "") -> PartTable:
    """Return a price list that comes with the package (``2022``, ``2025``, ``2026``), with the rows of files over it.

    Lists are laid over each other from left to right, with commas: ``2025,mine.csv`` has the rows of ``mine.csv`` in
    place of those for the same parts, and all others of 2025. A file alone lies over the default list; behind
    ``none`` there is nothing but its own rows.

    A file is CSV with the columns ``item,bandwidth_gbps,usd,low_usd,high_usd,confidence,source,date,name`` (all after
    ``usd`` may be left out, and the bandwidth is blank where it does not matter), or YAML with a list of such rows.

    Parameters
    ----------
    folder
        Folder of files given without one.

    Raises
    ------
    InvalidInput
        If there is no such list or file, or a row of it is wrong.

    Examples
    --------
    >>> find_prices("2022").price_usd("transceiver", 100e9)
    99.0
    """
    return _laid("prices", name, PRICE_TABLES, DEFAULT_PRICES, folder)


def price_files(name: str) -> tuple[str, ...]:
    """Return the files that a price list is made of.

    Examples
    --------
    >>> price_files("2025,mine.csv"), price_files("2026")
    (('mine.csv',), ())
    """
    return tuple(part for part in _parts(name) if part not in (*PRICE_TABLES, NO_LIST))


def find_power(name: str = TYPICAL_POWER) -> PartTable:
    """Return the watts that come with the package, and over them those of files: as for prices, in a column ``watts``.

    Raises
    ------
    InvalidInput
        If there is no such table or file, or a row of it is wrong.

    Examples
    --------
    >>> find_power().known_value("transceiver", 100e9), find_power().known_value("nic", 3200e9)
    (3.5, None)
    """
    return _laid("power", name, (TYPICAL_POWER,), TYPICAL_POWER, "")


def _laid(kind: str, name: str, shipped: tuple[str, ...], usual: str, folder: str | Path) -> PartTable:
    """Return the overlaid tables of a comma-separated name; a leading file overlays the default table."""
    parts = _parts(name)
    if parts[0] not in (*shipped, NO_LIST) and _is_file(parts[0]):
        parts = (usual, *parts)
    if parts[0] == NO_LIST and len(parts) == 1:
        raise InvalidInput(f"{kind}: none has no rows; name files behind it, such as none,mine.csv")
    table = PartTable(kind, NO_LIST, ())
    for part in parts:
        if part == NO_LIST:
            continue
        over = _shipped(kind, part) if part in shipped else _of_file(kind, part, shipped, folder)
        table = table.overlaid(over, ",".join(parts))
    return table


def _parts(name: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in name.split(","))


def _is_file(name: str) -> bool:
    return Path(name).suffix.lower() in _SUFFIXES


def _of_file(kind: str, name: str, shipped: tuple[str, ...], folder: str | Path) -> PartTable:
    path = str(Path(folder) / name)
    if not _is_file(name) and (Path(name).suffix or is_file(path)):
        reason = f"is no price list; give a file {', '.join(_SUFFIXES)}" if is_file(path) else "no such file"
        raise InvalidInput(f"{kind}: {name}: {reason}")
    if not _is_file(name):
        raise unknown_name(kind, name, (*shipped, "a file .csv or .yaml"))
    return _table(kind, name, path, read_text(path))


@cache
def _shipped(kind: str, name: str) -> PartTable:
    path = resources.files("topoopt.pricing") / "data" / f"{kind}_{name}.csv"
    return _table(kind, name, path.name, path.read_text(encoding="utf-8"))


def _table(kind: str, name: str, place: str, text: str) -> PartTable:
    """Return the table of a CSV text, or of a YAML text that is a list or has one under its kind."""
    if Path(place).suffix.lower() in TABLES:
        columns, expected = (
            _ROW_MODELS[kind].model_fields,
            f"a header row with item and {COLUMNS[kind]}, and rows",
        )
        _, headed = headed_rows(text, place, columns, expected, needed=("item", COLUMNS[kind]))
        rows: Any = [{name: cell for name, cell in cells.items() if cell} for _, _, cells in headed]
    else:
        rows = parse_yaml(text, place)
    if isinstance(rows, Mapping) and list(rows) == [kind]:
        rows = rows[kind]
    if not isinstance(rows, list) or not rows:
        raise InvalidInput(f"{place}: expected a list of rows with item, bandwidth_gbps and {COLUMNS[kind]}")
    return PartTable(kind, name, tuple(_row(kind, row, f"{place}: row {i}") for i, row in enumerate(rows, 1)))


def _check_item(item: object, place: str) -> None:
    """Refuse an unknown part, with the nearest names; for a row without one, list all of them."""
    known = get_args(Item)
    if isinstance(item, str) and item and item not in known:
        near = get_close_matches(item, known, n=3, cutoff=0.5)
        question = f"did you mean {' or '.join(near)}? A" if near else "a"
        raise InvalidInput(
            f"{place}: item: unknown name {shown(item)}; {question} row without an item is told all {len(known)} names"
        )


def _row(kind: str, row: object, place: str) -> PartRow:
    """Return a row with its speed in bits per second, which parts have that depend on it, and no others."""
    if isinstance(row, Mapping):
        _check_item(row.get("item"), place)
    model = validated(_ROW_MODELS[kind], row, place)
    value, low, high = (getattr(model, ends + COLUMNS[kind]) for ends in ("", "low_", "high_"))
    by_speed, gbps = model.item in SPEED_ITEMS, model.bandwidth_gbps
    if by_speed != (gbps is not None):
        rule = "needs a bandwidth_gbps" if by_speed else "has no bandwidth_gbps"
        raise InvalidInput(f"{place}: {model.item} {rule}")
    if (model.item == NAMED_ITEM) != bool(model.name):
        rule = "needs a name (topoopt hardware switches)" if model.item == NAMED_ITEM else "has no name"
        raise InvalidInput(f"{place}: {model.item} {rule}")
    if model.name:
        check_known(f"{place}: switch", model.name, {row.name for row in packet_switches()})
    bandwidth_bps = None if gbps is None else gbps * 1e9
    about = model.confidence, model.source, model.date, model.name
    try:
        return PartRow(model.item, bandwidth_bps, value, *about, low, high)
    except InvalidInput as error:
        raise InvalidInput(f"{place}: {error}") from None
