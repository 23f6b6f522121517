"""Rows of a table of parts: which parts there are, reading them from CSV or YAML, and values between two speeds."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar

from topoopt.errors import InvalidInput
from topoopt.files import csv_lines, parse_yaml, read_text
from topoopt.units import format_bandwidth

Item = Literal[
    "transceiver", "nic", "electrical_port", "patch_panel_port", "ocs_port", "optical_switch_1x2", "fiber_m"
]
"""What is bought: the first three per speed, the others at any; ``fiber_m`` is one meter of fiber."""

SPEED_ITEMS: tuple[Item, ...] = ("transceiver", "nic", "electrical_port")

Listed = list[tuple[float, float]]
"""Speed in bits per second and value, ascending in speed."""


class _AtSpeed(Protocol):
    @property
    def item(self) -> Item: ...
    @property
    def bandwidth_bps(self) -> float | None: ...


Row = TypeVar("Row", bound=_AtSpeed)


def read_rows(path: str | Path, key: str, columns: str) -> list[Any]:
    """Return the rows of a CSV file, or of a YAML file that is a list or has one under ``key``.

    Raises
    ------
    InvalidInput
        If the file is missing, not valid, or has no rows; ``columns`` is what the message asks for.
    """
    text, place = read_text(path), str(path)
    if Path(path).suffix.lower() == ".csv":
        rows: Any = csv_rows(text, place)
    else:
        rows = parse_yaml(text, place)
        if isinstance(rows, Mapping) and list(rows) == [key]:
            rows = rows[key]
    if not isinstance(rows, list) or not rows:
        raise InvalidInput(f"{place}: expected a list of rows with {columns}")
    return rows


def csv_rows(text: str, place: str) -> list[dict[str, Any]]:
    """Return the rows of a CSV text, without their empty cells."""
    rows = [cells for _, cells in csv_lines(text, place, strict=True) if cells]
    header = rows[0] if rows else []
    for number, cells in enumerate(rows[1:], 1):
        if len(cells) > len(header):
            raise InvalidInput(f"{place}: row {number}: more values than the header has columns")
    return [{key: cell for key, cell in zip(header, cells, strict=False) if cell} for cells in rows[1:]]


def bandwidth_of(item: Item, bandwidth_gbps: float | None, place: str) -> float | None:
    """Return the speed of a row in bits per second, None of a part that has none.

    Raises
    ------
    InvalidInput
        If a speed is missing, or given where there is none.
    """
    if (item in SPEED_ITEMS) != (bandwidth_gbps is not None):
        wanted = "needs a bandwidth_gbps" if item in SPEED_ITEMS else "has no bandwidth_gbps"
        raise InvalidInput(f"{place}: {item} {wanted}")
    return None if bandwidth_gbps is None else bandwidth_gbps * 1e9


def check_once(rows: Iterable[_AtSpeed], place: str) -> None:
    """Refuse two rows for the same item and speed."""
    met = set()
    for row in rows:
        if (row.item, row.bandwidth_bps) in met:
            at = f" at {format_bandwidth(row.bandwidth_bps)}" if row.bandwidth_bps else ""
            raise InvalidInput(f"{place}: {row.item}{at} stands twice; leave one row")
        met.add((row.item, row.bandwidth_bps))


def at_speed(listed: Listed, bandwidth_bps: float) -> float:
    """Return the value at a speed: interpolated linearly, and below the list what its slowest has.

    The speed must not lie above the list.

    Examples
    --------
    >>> at_speed([(100e9, 678), (200e9, 815)], 150e9), at_speed([(100e9, 678)], 25e9)
    (746.5, 678)
    """
    if bandwidth_bps <= listed[0][0]:
        return listed[0][1]
    above = next(i for i, (at, _) in enumerate(listed) if at >= bandwidth_bps)
    (low, low_value), (high, high_value) = listed[above - 1], listed[above]
    return low_value + (high_value - low_value) * (bandwidth_bps - low) / (high - low)


def basis_words(listed: Listed, bandwidth_bps: float) -> str:
    """Return how a value at a speed comes about; empty where the speed is listed.

    Examples
    --------
    >>> basis_words([(100e9, 678), (200e9, 815)], 150e9)
    'interpolated between 100 Gb/s and 200 Gb/s'
    >>> basis_words([(100e9, 678)], 25e9), basis_words([(100e9, 678)], 100e9)
    ('as for 100 Gb/s, the slowest listed', '')
    """
    if any(speed == bandwidth_bps for speed, _ in listed):
        return ""
    if bandwidth_bps < listed[0][0]:
        return f"as for {format_bandwidth(listed[0][0])}, the slowest listed"
    above = next(i for i, (at, _) in enumerate(listed) if at > bandwidth_bps)
    low, high = listed[above - 1][0], listed[above][0]
    return f"interpolated between {format_bandwidth(low)} and {format_bandwidth(high)}"


def rows_around(rows: list[Row], bandwidth_bps: float) -> tuple[Row, ...]:
    """Return the row of a speed, or the rows next to it: two inside the list, one below it, none above it."""
    ordered = sorted(rows, key=lambda row: row.bandwidth_bps or 0.0)
    if not ordered or bandwidth_bps > (ordered[-1].bandwidth_bps or 0.0):
        return ()
    above = next(i for i, row in enumerate(ordered) if (row.bandwidth_bps or 0.0) >= bandwidth_bps)
    exact = ordered[above].bandwidth_bps == bandwidth_bps
    return tuple(ordered[above : above + 1] if exact or above == 0 else ordered[above - 1 : above + 1])
