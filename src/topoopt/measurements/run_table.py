"""Tables of measured runs: the one reader of training, serving and reinforcement learning, cell by cell.

A kind of runs states its columns. The reader finds them under the names that people give them; headings that mean no
column are carried along and listed.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, TypeVar

from topoopt.base.errors import InvalidInput, TopoOptError
from topoopt.base.limits import LARGEST
from topoopt.schema.files import csv_lines, packaged_rows, read_text

Row = Mapping[str, str]
LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
"""A Markdown link, of which the text counts."""
REMARK_BEHIND = re.compile(r"(.*?\d\S*)\s*[(\[].*")
"""A number followed by text in parentheses, such as that of another precision."""
THOUSANDS = re.compile(r"\d{1,3}(,\d{3})+(\.\d*)?")
SIZED = re.compile(r"(\d+(?:\.\d+)?)\s*([kmg])i?", re.IGNORECASE)
SIZES = {"k": 2**10, "m": 2**20, "g": 2**30}
"""Suffixes of counts: a sequence of 8k has 8,192 tokens, and a batch of 4M about as many as 512 of them."""
EMPTY_WORDS = ("nan", "na", "n/a", "null", "-", "–", "—", "?", "unknown", "unspecified", "not stated")
"""Cells equivalent to an empty one."""
RunT = TypeVar("RunT")
_SIGNS = (
    (r"#\s*-?\s*(of\b)?|\b(number|num|no)\.?\s*of\b", " num "),
    (r"%", " pct "),
    (r"/", " per "),
    (r"[()\[\]*_`,.-]", " "),
)
"""Patterns in a heading, and their replacements: ``#-GPUs``, ``MFU (%)``, ``Tokens / sec / GPU``."""
_SAME_WORDS = {
    **dict.fromkeys(("sec", "secs", "second", "seconds"), "s"),
    **dict.fromkeys(("tok", "toks", "token"), "tokens"),
    **dict.fromkeys(("chip", "device", "accelerator"), "gpu"),
    **dict.fromkeys(("chips", "devices", "accelerators"), "gpus"),
    **dict.fromkeys(("sample", "samples", "sequence", "seqs"), "sequences"),
    **dict.fromkeys(("tflop", "tflops", "teraflop", "teraflops"), "tflops"),
}
"""Words of one meaning, in any heading."""
VAGUE = ("system", "hardware", "size", "model size", "memory", "mem", "layout", "strategy", "software")
"""Headings that mean a column only where no other heading does: a system beside a GPU may be a cluster's name."""
MISSPELLED = 0.85
"""Likeness of headings above which one is taken for another that is misspelled."""
MOST_COLUMNS, LONGEST_CELL = 1000, 2000
RULE = set("|:- ")
"""Characters of the line between headings and cells of a Markdown table."""


def plain_heading(written: str) -> str:
    """Return a heading normalized: lower case, without signs and differences between writers."""
    plain = written.lower()
    for pattern, word in _SIGNS:
        plain = re.sub(pattern, word, plain)
    return " ".join(_SAME_WORDS.get(word, word) for word in plain.split())


@dataclass(frozen=True)
class RunColumns:
    """The columns of one kind of measured runs.

    Attributes
    ----------
    room : str
        The package whose table ``run_columns`` lists the columns, with their other names.
    needed : tuple of str
        Columns without which a table is not of this kind.
    instead : mapping
        Columns that a needed one follows from.
    """

    room: str
    needed: tuple[str, ...]
    instead: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @cached_property
    def names(self) -> Mapping[str, str]:
        """The column of each plain heading."""
        return {
            plain_heading(name): row["column"]
            for row in packaged_rows(self.room, "run_columns")
            for name in (row["column"], *row.get("other_names", "").split())
        }

    def column_of(self, written: str) -> str:
        """Return the column that a heading means; nothing for one that is not known."""
        return self.names.get(plain_heading(written), "")

    def columns_of(self, headings: Sequence[str]) -> list[str]:
        """Return the column of each heading; nothing for one that is not known, or vague beside a clearer one."""
        names = [self.column_of(written) for written in headings]
        clear = {
            name for name, written in zip(names, headings, strict=True) if plain_heading(written) not in VAGUE
        }
        return [
            "" if name in clear and plain_heading(written) in VAGUE else name
            for name, written in zip(names, headings, strict=True)
        ]


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row of a table: its place from 0, its name, and the data set that it belongs to.

    Attributes
    ----------
    cells : mapping
        Cells as written, by heading, and by column where the heading is known.
    """

    place: int
    name: str
    dataset: str
    cells: Row = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class RunTable:
    """A table of measured runs as it was read.

    Attributes
    ----------
    unknown_columns : tuple of str
        Headings that nothing is read from.
    """

    path: str
    headings: tuple[str, ...]
    rows: tuple[TableRow, ...]
    unknown_columns: tuple[str, ...] = ()

    def read(self, run_of: Callable[[TableRow], RunT], strict: bool = False) -> "MeasuredRuns[RunT]":
        """Return the runs of the rows, and the rows that no run can be made of, each with its reason.

        Raises
        ------
        InvalidInput
            For the first of those rows if ``strict``.
        """
        runs, others = [], []
        for row in self.rows:
            try:
                runs.append(run_of(row))
            except TopoOptError as error:
                if strict:
                    where = f"{self.path}: {row.name}"
                    raise InvalidInput(f"{where}: {error}; correct the row or leave it out") from None
                others.append(NotScored(row, str(error)))
        return MeasuredRuns(self, tuple(runs), tuple(others))


@dataclass(frozen=True, slots=True)
class NotScored:
    """A row of a table, or a quantity of it, that no prediction is compared with, and why."""

    row: TableRow
    reason: str

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-compatible mapping."""
        return {"id": self.row.name, "dataset": self.row.dataset, "reason": self.reason}


@dataclass(frozen=True)
class MeasuredRuns(Generic[RunT]):
    """A table of runs: rows that can be predicted, and the others."""

    table: RunTable
    runs: tuple[RunT, ...]
    not_scored: tuple[NotScored, ...]


def read_run_table(path: str | Path, known: RunColumns) -> RunTable:
    """Return a table of measured runs; every known column has its canonical name beside the heading.

    Lines without any cell are left out. Cells are separated by commas, or where the first line has more of them by
    semicolons, tabs or bars, as in Markdown.

    Raises
    ------
    InvalidInput
        If the file is no such table, a column is missing or there twice, or a line is too short or too long.
    """
    text = read_text(path)
    first = text.partition("\n")[0]
    is_markdown = first.count("|") > max(map(first.count, ",;\t"))
    rows = csv_lines(_without_borders(text), str(path), "|") if is_markdown else csv_lines(text, str(path))
    lines = [(number, line) for number, line in rows if any(cell.strip() for cell in line)]
    if not lines:
        raise InvalidInput(f"{path}: is empty; expected a table of runs with columns {_needed(known)}")
    headings = tuple(lines[0][1])
    longest = max(len(cell) for _, line in lines for cell in line)
    if len(headings) > MOST_COLUMNS or longest > LONGEST_CELL:  # patterns are looked for in each
        raise InvalidInput(
            f"{path}: {len(headings)} columns, and cells of up to {longest} characters; no table of runs has more "
            f"than {MOST_COLUMNS} columns or {LONGEST_CELL} characters in a cell"
        )
    columns = known.columns_of(headings)
    # the usual name of each column, or the heading where it is not known
    names = [column or written for column, written in zip(columns, headings, strict=True)]
    for place, name in enumerate(names):
        if name in names[:place]:
            first = headings[names.index(name)]
            raise InvalidInput(
                f'{path}: the columns "{first}" and "{headings[place]}" say the same; leave one of them out'
            )
    for needed in known.needed:
        if not {needed, *known.instead.get(needed, ())} & set(names):
            likely = [
                written.strip()
                for written, column in zip(headings, columns, strict=True)
                if needed in LIKELY and LIKELY[needed] in written.lower() and not column
            ]
            hint = f'; if that is "{likely[0]}", call it {needed}' if likely else ""
            raise InvalidInput(
                f"{path}: not a table of runs: there is no column {needed}{hint}; needed: {_needed(known)}"
            )
    for written, column in zip(headings, columns, strict=True):
        near = get_close_matches(plain_heading(written), known.names, n=1, cutoff=MISSPELLED)
        if near and not column and known.names[near[0]] not in names:
            meant = known.names[near[0]]
            raise InvalidInput(
                f'{path}: line 1: unknown column "{written.strip()}"; did you mean {meant}? Else give it another name'
            )
    for number, line in lines[1:]:
        if len(line) != len(headings):
            raise InvalidInput(
                f"{path}: line {number}: expected {len(headings)} cells as in the first line, got {len(line)}"
            )
    if len(lines) == 1:
        raise InvalidInput(f"{path}: has columns and no row")
    cells = [dict(zip((*headings, *names), (*line, *line), strict=True)) for _, line in lines[1:]]
    unknown = tuple(written for written, column in zip(headings, columns, strict=True) if not column)
    return RunTable(str(path), headings, table_rows(cells, [number for number, _ in lines[1:]]), unknown)


def table_rows(cells: Sequence[Row], lines: Sequence[int] = ()) -> tuple[TableRow, ...]:
    """Return rows with their names: their ``id``, or the line of the file, which begins with the headings."""
    numbers = lines or range(2, len(cells) + 2)
    return tuple(
        TableRow(place, text(row, "id") or f"line {line}", text(row, "dataset") or "runs", row)
        for place, (line, row) in enumerate(zip(numbers, cells, strict=True))
    )


def _without_borders(text: str) -> str:
    """Return the lines of a table in Markdown without their outer bars and without the rule below the headings."""
    lines = [line.strip() for line in text.splitlines()]
    inner = ("" if set(line) <= RULE else line.removeprefix("|").removesuffix("|") for line in lines)
    return "\n".join("|".join(cell.strip() for cell in line.split("|")) for line in inner)


LIKELY = {"gbs": "batch", "gpus": "gpus", "gpu": "gpu"}
"""Words in a heading that is not known, by the needed column that it may mean."""


def _needed(known: RunColumns) -> str:
    ways = (f"; or {' or '.join(others)} for {name}" for name, others in known.instead.items())
    return ", ".join(known.needed) + "".join(ways)


def text(row: Row, column: str) -> str:
    """Return a cell without blanks around it; missing columns, ``n/a`` and the like are empty."""
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
    if value > LARGEST:
        raise InvalidInput(f"{column}: expected a whole number <= {LARGEST}, got {value:g}")
    return int(value)
