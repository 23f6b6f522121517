"""Cells of a row of a table of runs as people write them: text, numbers, counts, degrees."""

import math
import re
from collections.abc import Mapping

from topoopt.base.errors import InvalidInput

Row = Mapping[str, str]
LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
"""In Markdown: what it shows counts."""
REMARK_BEHIND = re.compile(r"(.*?\d\S*)\s*[(\[].*")
"""A number, and what stands behind it in parentheses, such as that of another precision."""
THOUSANDS = re.compile(r"\d{1,3}(,\d{3})+(\.\d*)?")
SIZED = re.compile(r"(\d+(?:\.\d+)?)\s*([kmg])i?", re.IGNORECASE)
SIZES = {"k": 2**10, "m": 2**20, "g": 2**30}
"""Of counts: a sequence of 8k has 8,192 tokens, and a batch of 4M about so many as 512 of them."""
EMPTY_WORDS = ("nan", "na", "n/a", "null", "-", "–", "—", "?", "unknown", "unspecified", "not stated")
"""Cells that say no more than an empty one."""


def text(row: Row, column: str) -> str:
    """Return a cell without blanks around it; a column that is not there is empty, and so is ``n/a`` and its like."""
    cell = LINK.sub(r"\1", row.get(column) or "").strip().strip("*`").strip()
    return "" if cell.lower() in EMPTY_WORDS else cell


def number(row: Row, column: str, default: float = math.nan, *, least: float = -math.inf) -> float:
    """Return a number, or ``default`` for an empty cell.

    Raises
    ------
    InvalidInput
        If the cell is not a finite number, or one below ``least``.
    """
    cell = text(row, column)
    if not cell or cell.lower() == "none":
        return default
    remark = REMARK_BEHIND.fullmatch(cell)
    cell = (remark[1] if remark else cell).lstrip("~≈≃ ").rstrip("? ")  # about so many, or so it is thought
    try:
        value = float(cell.replace(",", "") if THOUSANDS.fullmatch(cell) else cell)
    except ValueError:
        like = " such as 5.5" if re.fullmatch(r"\d+,\d+", cell) else ""
        raise InvalidInput(f'{column}: expected a number{like}, got "{cell}"') from None
    if not math.isfinite(value):
        raise InvalidInput(f'{column}: expected a finite number, got "{cell}"')
    if value < least:
        raise InvalidInput(f"{column}: expected a number >= {least:g}, got {cell}")
    return value


def degree(row: Row, column: str) -> int:
    """Return a parallel degree; 1 for an empty cell, and for 0, as some write none."""
    return 1 if number(row, column) == 0 else whole(row, column, 1)


def whole(row: Row, column: str, default: int | None = None) -> int:
    """Return a whole number of at least 1; ``64.0`` is one, and ``8k`` is 8,192.

    Raises
    ------
    InvalidInput
        If it is something else, or is missing and has no default.
    """
    sized = SIZED.fullmatch(text(row, column).strip("~≈? "))
    value = float(sized[1]) * SIZES[sized[2].lower()] if sized else number(row, column)
    if math.isnan(value):
        if default is None:
            raise InvalidInput(f"{column}: missing")
        return default
    if value < 1 or value != int(value):
        raise InvalidInput(f"{column}: expected a whole number >= 1, got {value:g}")
    return int(value)
