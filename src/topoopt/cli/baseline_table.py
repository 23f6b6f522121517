"""Fabrics that are left out, and prices in words."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


def print_skipped(console: "Console", skipped: "Iterable[tuple[str, str]]") -> None:
    """Say which fabrics are not in the table, and why."""
    for fabric, reason in skipped:
        console.print(
            f"  without {fabric}: {reason.removeprefix(f'{fabric}: ')}", highlight=False, markup=False
        )


def usd(price: float | None) -> str:
    """Return ``$1.23 M``, ``$83 k`` or a dash where there is no price."""
    if price is None:
        return "–"
    for unit, scale in (("M", 1e6), ("k", 1e3)):
        if price >= scale:
            return f"${price / scale:.3g} {unit}"
    return f"${price:.0f}"
