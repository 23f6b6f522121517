"""Rows of a CSV: the separator and the decimal sign are found, numbers come out as Python writes them.

Cells are separated by commas, semicolons or tabs, whichever the first line has. Beside commas the decimal sign is a
point. Beside semicolons and tabs, as European spreadsheets write them, it is a point or a comma: ``0,5`` and
``1.234,50`` say which, and ``1 234,50`` has blanks between its groups. ``1.450`` alone does not, and is refused: a
number that is wrong by a factor of a thousand is worse than one that is to be written again.
"""

import csv
import io
import re
import sys
from collections.abc import Iterable, Iterator
from importlib import resources
from itertools import islice

from topoopt.base.errors import InvalidInput, check_known, shown

_LOOKED_AT = 20
"""Lines by which a separator is chosen where the first line has several of them."""
_NUMBER = re.compile(
    r"([+-]?)(?:(\d{1,3})((?:([.,'’\u00a0\u202f])\d{3})(?:\4\d{3})*)|(\d+)|(?=[.,]\d))(?:([.,])(\d*))?([eE][+-]?\d+)?"
)
"""Sign; first group, other groups, their sign; or digits without groups; decimal sign, fraction, exponent."""
_MONEY = re.compile(
    r"\s*(US\$|[$€£¥]|[A-Z]{3})?\s*([+-]?[.,]?\d[\d.,'’\u00a0\u202f]*)\s*(US\$|[$€£¥]|[A-Z]{3})?\s*"
)
_BLANKS = re.compile(r"[+-]?\d{1,3}(?: \d{3})+[.,]\d+")
"""A number with blanks between its groups; without a fraction it may be a list of numbers."""
_MARKS = re.compile(r"[\"$€£¥'’\u00a0\u202f]|[A-Z]{3} ?\d|\d ?[A-Z]{3}")
"""Marks of numbers with groups and of currencies."""
_UNIT = re.compile(r"(.*?\d)(\s*[A-Za-zµ/]{1,6})?")
"""A number and its unit."""
_DOLLARS = ("$", "US$", "USD")


def csv_lines(text: str, place: str, separator: str = "") -> list[tuple[int, list[str]]]:
    """Return the line number and cells of every row; a row may span several lines, and ends on the one given.

    Parameters
    ----------
    separator
        The one that is known; by default it is found. A first line ``sep=;``, as Excel has it, says it, too.

    Raises
    ------
    InvalidInput
        If the text is no CSV, a number may be read in two ways, or an amount is in another currency, with the line.
    """
    # 128 KiB otherwise; what is too long is refused by those who know its meaning
    csv.field_size_limit(sys.maxsize)
    said = re.match(r"sep=([,;\t|])\s*\n", text)
    separator = separator or (said[1] if said else _separator(text))
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=separator != "|")
    try:
        rows = [(reader.line_num, row) for row in reader]
    except csv.Error as error:
        raise InvalidInput(f"{place}: line {reader.line_num}: not valid CSV: {error}") from None
    rows = rows[1:] if said else rows
    if _MARKS.search(text) or (separator in ";\t" and ("." in text or "," in text)):
        make_plain(rows, place, separator in ";\t")
    return rows


def headed_rows(
    text: str,
    place: str,
    columns: Iterable[str],
    expected: str,
    row: str = "line {line}",
    needed: Iterable[str] = (),
) -> tuple[list[str], Iterator[tuple[int, str, dict[str, str]]]]:
    """Return the header of a CSV text, and its rows: line number, place for messages, and cells by column.

    Blank rows are left out, and blanks around cells.

    Parameters
    ----------
    columns : names that a header may have
    expected : description of the content that an empty file lacks
    row : name of a row in messages, of its ``line`` or its ``index`` among the rows
    needed : names that a header must have

    Raises
    ------
    InvalidInput
        As :func:`csv_lines`; for an empty file, a header alone, and a column that is unknown, repeated or missing;
        where it is reached, for a row with another number of cells than the header.
    """
    columns = tuple(columns)
    rows = [(line, [cell.strip() for cell in cells]) for line, cells in csv_lines(text, place)]
    first, *others = [(line, cells) for line, cells in rows if any(cells)] or [(0, [])]
    header = first[1]
    while header and not header[-1]:  # a spreadsheet also writes formatted columns that are empty
        header = header[:-1]
    empty = [""] * (len(first[1]) - len(header))
    if not header:
        raise InvalidInput(f"{place}: expected {expected}, got an empty file")
    for number, name in enumerate(header):
        check_known(f"{place}: column {number + 1}", name, columns)
        if name in header[:number]:
            raise InvalidInput(f'{place}: column {number + 1}: "{name}" stands twice')
    for name in needed:
        if name not in header:
            raise InvalidInput(f'{place}: missing column "{name}"; expected {", ".join(columns)}')
    if not others:
        raise InvalidInput(f"{place}: expected {expected}, got the header alone")

    def below() -> Iterator[tuple[int, str, dict[str, str]]]:
        for index, (line, cells) in enumerate(others):
            here = f"{place}: {row.format(line=line, index=index)}"
            if empty and cells[len(header) :] == empty:
                cells = cells[: len(header)]  # noqa: PLW2901
            if len(cells) != len(header):
                raise InvalidInput(f"{here}: expected {len(header)} cells as in the header, got {len(cells)}")
            yield line, here, dict(zip(header, cells, strict=True))

    return header, below()


def packaged_rows(room: str, name: str) -> list[dict[str, str]]:
    """Return the rows of a table that comes with the package, ``<room>/data/<name>.csv``, as they are written."""
    path = resources.files(f"topoopt.{room}") / "data" / f"{name}.csv"
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))


def _separator(text: str) -> str:
    """Return the sign that splits all of the first rows into equally many cells, or else is most frequent in one."""
    lines = list(islice((line for line in io.StringIO(text, newline=None) if line.strip()), _LOOKED_AT))
    first = re.sub(r'"[^"]*"', "", lines[0]) if lines else ""
    there = [sign for sign in "\t;," if sign in first]
    for sign in there[:-1]:
        if len({len(row) for row in csv.reader(lines, delimiter=sign)}) == 1:
            return sign
    return max(reversed(there), key=first.count, default=",")


def make_plain(
    rows: list[tuple[int, list[str]]], place: str, european: bool, left: Iterable[int] = ()
) -> None:
    """Write the numbers of all rows as Python does, once the decimal sign of the table is known.

    Parameters
    ----------
    rows : line numbers and cells
        Changed in place.
    european : bool
        Whether commas may be decimal signs, since they separate no cells.
    left : columns of names, which are no numbers

    Raises
    ------
    InvalidInput
        As :func:`csv_lines`.
    """
    paid = {column for column, name in enumerate(rows[0][1] if rows else ()) if "usd" in name.lower()}
    signs, names = set() if european else {"."}, frozenset(left)
    pending: list[tuple[str, list[str], int, str, str]] = []
    for line, cells in rows:
        here = f"{place}: line {line}".removeprefix(": ")
        for column, written in enumerate(cells):
            cell = _amount(written, here) if column in paid else written.strip()
            if european and _BLANKS.fullmatch(cell):
                cell = cell.replace(" ", "")
            parts = _UNIT.fullmatch(cell)
            number = _NUMBER.fullmatch(parts[1]) if parts and column not in names else None
            if parts is None or number is None:
                continue
            (plain, sign), unit = _number(number), parts[2] or ""
            if european and sign:
                signs.add(sign)
            if plain and (european or sign != ","):
                cells[column] = plain + unit
            elif not plain:
                pending.append((here, cells, column, parts[1], unit))
    for here, cells, column, cell, unit in pending:
        if len(signs) != 1:
            as_groups, (before, after) = re.sub("[.,]", "", cell), re.split("[.,]", cell)
            as_decimal = f"{float(f'{before}.{after}'):.9g}"
            raise InvalidInput(
                f'{here}: "{cell}" may be {as_groups} or {as_decimal} in a table with semicolons '
                f"or tabs; write {as_groups} or {before}.{after}0"
            )
        decimal = signs == {"." if "." in cell else ","}
        cells[column] = re.sub("[.,]", "." if decimal else "", cell) + unit


def _amount(cell: str, place: str) -> str:
    """Return an amount of dollars without their sign, and other text as it is."""
    money = _MONEY.fullmatch(cell)
    signs = [sign for sign in (money[1], money[3]) if sign] if money else []
    for sign in signs:
        if sign not in _DOLLARS:
            raise InvalidInput(f"{place}: expected US dollars, got {shown(cell)}; convert the amount")
    return money[2] if money and signs else cell.strip()


def _number(match: re.Match[str]) -> tuple[str, str]:
    """Return a number as Python writes it, and the decimal sign that it shows; no number where that is open."""
    sign, first, groups, group, digits, decimal, fraction, exponent = match.groups(default="")
    whole = first + re.sub(r"\D", "", groups) + digits
    if decimal and decimal == group:
        return match[0], ""
    if decimal:
        return f"{sign}{whole}.{fraction}{exponent}", decimal
    if group in (".", ",") and len(groups) == 4:
        if first.startswith("0") or exponent:
            return f"{sign}{first}.{groups[1:]}{exponent}", group
        return "", ""
    return f"{sign}{whole}{exponent}", {".": ",", ",": "."}.get(group, "")
