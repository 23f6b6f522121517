"""What fabrics are called beside each other."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from topoopt.base.units import format_bandwidth


def fabric_name(row: Any) -> str:
    """Return the label of a row's fabric with the bandwidth of a server."""
    return f"{row.label}, {format_bandwidth(row.server_bandwidth_bps)}"


def name_apart(rows: Sequence[Any]) -> Callable[[Any], str]:
    """Return what a fabric is called among these rows: with its bandwidth only where two have the same label."""
    count = Counter(row.label for row in rows)
    return lambda row: fabric_name(row) if count[row.label] > 1 else str(row.label)
