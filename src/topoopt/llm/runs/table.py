"""A table of runs as a file: the columns that are known, under the names that people give them."""

from collections.abc import Sequence
from pathlib import Path

from topoopt.errors import InvalidInput
from topoopt.files import csv_lines, packaged_rows, read_text

NEEDED_COLUMNS = ("gpus", "gpu", "gbs")

SEPARATORS = ",;\t"

_NAMES = {
    name: row["column"]
    for row in packaged_rows("llm", "run_columns")
    for name in (row["column"], *row["other_names"].split())
}
"""The column of each of its names; capitals, blanks and hyphens do not matter."""


def column_of(written: str) -> str:
    """Return the column that a heading means; nothing for one that is not known.

    Examples
    --------
    >>> column_of(" Micro-Batch Size"), column_of("TP"), column_of("weather")
    ('mbs', 'tp', '')
    """
    return _NAMES.get("_".join(written.strip().lower().replace("-", " ").split()), "")


def read_run_table(path: str | Path) -> tuple[tuple[str, ...], list[dict[str, str]]]:
    """Return the headings as written, and the rows, in which every known column also has its usual name.

    Lines without any cell are left out. Cells are separated by commas, or where the first line has more of them by
    semicolons or tabs.

    Raises
    ------
    InvalidInput
        If the file is no such table, a column is missing or there twice, or a line is too short or too long.
    """
    text = read_text(path)
    separator = max(SEPARATORS, key=text.partition("\n")[0].count)
    rows = csv_lines(text, str(path), separator, strict=True)
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


def _names(columns: Sequence[str], path: str | Path) -> list[str]:
    """Return the usual name of each column, or as it is written where nobody knows it."""
    names = [column_of(written) or written for written in columns]
    for place, name in enumerate(names):
        if name in names[:place]:
            first = columns[names.index(name)]
            raise InvalidInput(
                f'{path}: the columns "{first}" and "{columns[place]}" say the same; leave one of them out'
            )
    for needed in NEEDED_COLUMNS:
        if needed not in names and not (needed == "gbs" and "gbs_tokens" in names):
            raise InvalidInput(
                f"{path}: not a table of runs: there is no column {needed}; needed: {', '.join(NEEDED_COLUMNS)}"
            )
    return names
