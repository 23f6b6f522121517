"""A table of runs as a file: the columns that are known, under the names that people give them."""

from collections.abc import Sequence
from pathlib import Path

from topoopt.base.errors import InvalidInput
from topoopt.measurements.training.headings import column_of, columns_of
from topoopt.schema.files import csv_lines, read_text

NEEDED_COLUMNS = ("gpus", "gpu", "gbs")

INSTEAD = {"gpus": ("nodes",), "gbs": ("gbs_tokens", "grad_accum", "local_batch")}
"""Columns that a needed one follows from."""

SEPARATORS = ",;\t|"

RULE = set("|:- ")
"""Of these is the line between headings and cells of a table in Markdown."""


def read_run_table(path: str | Path) -> tuple[tuple[str, ...], list[dict[str, str]]]:
    """Return the headings as written, and the rows, in which every known column also has its usual name.

    Lines without any cell are left out. Cells are separated by commas, or where the first line has more of them by
    semicolons, tabs or bars, as in Markdown.

    Raises
    ------
    InvalidInput
        If the file is no such table, a column is missing or there twice, or a line is too short or too long.
    """
    text = read_text(path)
    separator = max(SEPARATORS, key=text.partition("\n")[0].count)
    if separator == "|":
        text = _without_borders(text)
    rows = csv_lines(text, str(path), separator, strict=separator != "|")
    lines = [(number, line) for number, line in rows if any(cell.strip() for cell in line)]
    columns = tuple(lines[0][1]) if lines else ()
    names = _names(columns, path)
    for number, line in lines[1:]:
        if len(line) != len(columns):
            raise InvalidInput(
                f"{path}: line {number}: expected {len(columns)} cells as in the first line, got {len(line)}"
            )
    return columns, [
        {**dict(zip(columns, line, strict=True)), **dict(zip(names, line, strict=True))}
        for _, line in lines[1:]
    ]


def _without_borders(text: str) -> str:
    """Return the lines of a table in Markdown without their outer bars and without the rule below the headings."""
    lines = [line.strip() for line in text.splitlines()]
    inner = ("" if set(line) <= RULE else line.removeprefix("|").removesuffix("|") for line in lines)
    return "\n".join("|".join(cell.strip() for cell in line.split("|")) for line in inner)


def _names(columns: Sequence[str], path: str | Path) -> list[str]:
    """Return the usual name of each column, or as it is written where nobody knows it."""
    names = [name or written for name, written in zip(columns_of(columns), columns, strict=True)]
    for place, name in enumerate(names):
        if name in names[:place]:
            first = columns[names.index(name)]
            raise InvalidInput(
                f'{path}: the columns "{first}" and "{columns[place]}" say the same; leave one of them out'
            )
    for needed in NEEDED_COLUMNS:
        if not {needed, *INSTEAD.get(needed, ())} & set(names):
            raise _lacking(path, needed, columns, names)
    return names


def _lacking(path: str | Path, needed: str, columns: Sequence[str], names: Sequence[str]) -> InvalidInput:
    """Return the error for a column that is not there, with a heading that might be meant."""
    kind = {"gbs": "batch", "gpus": "gpus", "gpu": "gpu"}[needed]
    likely = [
        column
        for column, name in zip(columns, names, strict=True)
        if kind in column.lower() and not column_of(name)
    ]
    hint = f'; if that is "{likely[0].strip()}", call it {needed}' if likely else ""
    ways = "; ".join(f"or {' or '.join(others)} for {name}" for name, others in INSTEAD.items())
    return InvalidInput(
        f"{path}: not a table of runs: there is no column {needed}{hint}; needed: {', '.join(NEEDED_COLUMNS)}; {ways}"
    )
