"""The words and numbers of one row of a table of runs, as people write them."""

import math
import re
from collections.abc import Mapping

from topoopt.errors import InvalidInput
from topoopt.files import packaged_rows

Row = Mapping[str, str]

THOUSANDS = re.compile(r"\d{1,3}(,\d{3})+(\.\d*)?")
EMPTY_WORDS = ("nan", "na", "n/a", "null", "-", "–", "—")
"""Cells that say no more than an empty one."""

WORDS: dict[str, dict[str, str]] = {}
"""What the words of a column mean, in the order in which they are looked for."""

for _row in packaged_rows("llm", "run_words"):
    WORDS.setdefault(_row["column"], {})[_row["word"]] = _row["meaning"]


def text(row: Row, column: str) -> str:
    """Return a cell without blanks around it; a column that is not there is empty, and so is ``n/a`` and its like."""
    cell = (row.get(column) or "").strip()
    return "" if cell.lower() in EMPTY_WORDS else cell


def out_of_memory(row: Row) -> bool:
    """Return whether a run did not fit into memory, by its status."""
    status = text(row, "status").lower()
    return "oom" in status or "out of memory" in status or "out-of-memory" in status


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
    try:
        value = float(cell.replace(",", "") if THOUSANDS.fullmatch(cell) else cell)
    except ValueError:
        raise InvalidInput(f'{column}: expected a number, got "{cell}"') from None
    if not math.isfinite(value):
        raise InvalidInput(f'{column}: expected a finite number, got "{cell}"')
    return value


def degree(row: Row, column: str) -> int:
    """Return a parallel degree; 1 for an empty cell, and for 0, as some write none."""
    return 1 if number(row, column) == 0 else whole(row, column, 1)


def whole(row: Row, column: str, default: int | None = None) -> int:
    """Return a whole number of at least 1; ``64.0`` is one.

    Raises
    ------
    InvalidInput
        If it is something else, or is missing and has no default.
    """
    value = number(row, column)
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


def zero_stage(row: Row) -> int:
    """Return the ZeRO stage: 0..3, ``zero-1``, ``fsdp`` (3), ``ddp/dist-opt`` (1); an empty cell is 0."""
    cell = text(row, "zero").lower().removesuffix(".0")
    if not cell:
        return 0
    word = re.sub(r"^(deepspeed[ _-]*)?(zero[ _-]*)?(stage[ _-]*)?", "", cell)
    if word not in WORDS["zero"]:
        raise InvalidInput(f'zero: expected one of {", ".join(WORDS["zero"])}, got "{cell}"')
    return int(WORDS["zero"][word])


def recomputation(row: Row) -> str:
    """Return what is computed again: none, selective or full; an empty cell is none."""
    cell = text(row, "recompute").lower().removesuffix(".0")
    if cell not in WORDS["recompute"]:
        raise InvalidInput(f'recompute: expected none, selective or full, got "{cell}"')
    return WORDS["recompute"][cell]


def precision(row: Row) -> str:
    """Return the precision of the linear layers, or nothing for an empty cell; MXFP8 and FP8-CS are ``fp8``."""
    cell = text(row, "precision").lower()
    name = meaning("precision", cell)
    if cell and not name:
        raise InvalidInput(f'precision: expected one of {", ".join(WORDS["precision"])}, got "{cell}"')
    return name


def meaning(column: str, cell: str) -> str:
    """Return what the first known word of a column means that is part of a cell; nothing if none is."""
    return next((name for word, name in WORDS[column].items() if word in cell), "")
