"""Cells of one row of a table of runs as people write them: numbers, switches, words that mean something."""

import math
import re
from collections.abc import Mapping

from topoopt.base.errors import InvalidInput
from topoopt.schema.files import packaged_rows

Row = Mapping[str, str]

LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
"""In Markdown: what it shows counts."""

REMARK_BEHIND = re.compile(r"(.*?\d\S*)\s*[(\[].*")
"""A number, and what stands behind it in parentheses, such as that of another precision."""

THOUSANDS = re.compile(r"\d{1,3}(,\d{3})+(\.\d*)?")
SIZED = re.compile(r"(\d+(?:\.\d+)?)\s*([kmg])i?", re.IGNORECASE)
SIZES = {"k": 2**10, "m": 2**20, "g": 2**30}
"""Of counts: a sequence of 8k has 8,192 tokens, and a batch of 4M about so many as 512 of them."""

OUTCOMES = ("status", "iter_time_s", "iter_time_ms", "tflops_per_gpu", "mfu_pct", "mem_gb", "mem_gib")
"""Columns that may say that a run did not fit into memory."""

BYTES = {"mb": 1e6, "gb": 1e9, "mib": 2.0**20, "gib": 2.0**30}

EMPTY_WORDS = ("nan", "na", "n/a", "null", "-", "–", "—", "?", "unknown", "unspecified", "not stated")
"""Cells that say no more than an empty one."""

WORDS: dict[str, dict[str, str]] = {}
"""What the words of a column mean, in the order in which they are looked for."""

for _row in packaged_rows("measurements.training", "run_words"):
    WORDS.setdefault(_row["column"], {})[_row["word"]] = _row["meaning"]


def text(row: Row, column: str) -> str:
    """Return a cell without blanks around it; a column that is not there is empty, and so is ``n/a`` and its like."""
    cell = LINK.sub(r"\1", row.get(column) or "").strip().strip("*`").strip()
    return "" if cell.lower() in EMPTY_WORDS else cell


def out_of_memory(row: Row) -> bool:
    """Return whether a run did not fit into memory, by its status."""
    cells = (text(row, column).lower() for column in OUTCOMES)
    return any(re.search(r"\boom\b|out[- ]of[- ]memory", cell) for cell in cells)


def number(row: Row, column: str, default: float = math.nan) -> float:
    """Return a number, or ``default`` for an empty cell.

    Raises
    ------
    InvalidInput
        If the cell is not a finite number.
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
    return value


def size_bytes(row: Row, column: str, unit_bytes: float) -> float:
    """Return an amount of memory, in the unit of its cell (``69GB``) or of its column; 0 where it is empty."""
    cell = text(row, column)
    match = re.fullmatch(r"(.*?\d)\s*([mg]i?b)", cell, re.IGNORECASE)
    if match is None:
        return number(row, column, 0.0) * unit_bytes
    return number({column: match[1]}, column) * BYTES[match[2].lower()]


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


def switched_on(row: Row, column: str, default: bool) -> bool:
    """Return a yes or a no; an empty cell is the default."""
    cell = text(row, column).lower()
    if not cell:
        return default
    if cell not in WORDS["switch"]:
        raise InvalidInput(f'{column}: expected 0 or 1, got "{cell}"')
    return WORDS["switch"][cell] == "yes"


def meaning(column: str, cell: str) -> str:
    """Return what the first known word of a column means that is part of a cell; nothing if none is."""
    return next((name for word, name in WORDS[column].items() if word in cell), "")
