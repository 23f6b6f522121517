"""A list of links as text: two servers a line, with commas, semicolons, tabs, blanks or arrows between them.

A first line may name the columns; behind the two ends there are then attributes.
"""

import ast
import csv
import re
from collections.abc import Iterator, Mapping
from typing import Any

from topoopt.base.errors import InvalidInput, shown
from topoopt.topologies.wirings.foreign_graph import ForeignGraph, ForeignLink, node_name

SYNTAX = "list of links"
_FROM = ("source", "src", "from", "source_server", "server_a", "node_a", "from_server", "host_a", "a_server")
_TO = (
    "target",
    "dst",
    "destination",
    "to",
    "target_server",
    "server_b",
    "node_b",
    "to_server",
    "host_b",
    "b_server",
)
_TWO = 2
_NUMBERS = re.compile(r"\s*(\d+)\s*(?:->|--|-)\s*(\d+)\s*")
_ARROW = re.compile(r"\s*(?:->|--|—|–)\s*|\s+-\s+")
_OF_NETWORKX = re.compile(r"(.*?)\s*(\{.*\})\s*")  # write_edgelist puts a dictionary behind each
_Line = tuple[int, str]


def listed_graph(text: str) -> ForeignGraph:
    """Return the graph of a list of links; what follows a # is a remark.

    Raises
    ------
    InvalidInput
        With the line, if it holds other than two servers, or fewer values than there are columns.
    """
    lines = [(number, _without_remark(line)) for number, line in enumerate(text.splitlines(), 1)]
    lines = [(number, line) for number, line in lines if line]
    if not lines:
        return ForeignGraph(SYNTAX, (), ())
    separator = _separator(lines)
    columns = [word.lower().replace(" ", "_") for word in _fields(lines[0], separator)]
    ends = _ends_of(columns)
    if ends is not None:
        return ForeignGraph(SYNTAX, (), tuple(_tabled(lines[1:], separator, columns, ends)))
    return ForeignGraph(SYNTAX, (), tuple(_pairs(lines, separator)))


def _without_remark(line: str) -> str:
    return line.partition("#")[0].strip()


def _separator(lines: list[_Line]) -> str:
    """Return the sign that stands in every line, as a table has it; "" for blanks and arrows."""
    return next((sign for sign in ",;\t" if all(sign in line for _, line in lines)), "")


def _fields(line: _Line, separator: str) -> list[str]:
    number, text = line
    if not separator:
        return [
            word
            for word in (_ARROW.split(text) if _ARROW.search(text) else re.split(r"[\s,;]+", text))
            if word
        ]
    try:
        return [word.strip() for word in next(csv.reader([text], delimiter=separator, strict=True))]
    except csv.Error as error:
        raise InvalidInput(f"line {number}: not CSV: {error}") from None


def _ends_of(columns: list[str]) -> tuple[int, int] | None:
    """Return which columns are the two ends, None where the first line names none."""
    found = [[columns.index(word) for word in words if word in columns] for words in (_FROM, _TO)]
    return (found[0][0], found[1][0]) if all(found) else None


def _tabled(
    lines: list[_Line], separator: str, columns: list[str], ends: tuple[int, int]
) -> Iterator[ForeignLink]:
    for line in lines:
        place, fields = f"line {line[0]}", _fields(line, separator)
        if len(fields) > len(columns) or len(fields) <= max(ends):
            raise InvalidInput(
                f"{place}: {len(fields)} values for the {len(columns)} columns {', '.join(columns)}"
            )
        a, b = (node_name(fields[end], place) for end in ends)
        says = {name: value for name, value in zip(columns, fields, strict=False) if value}
        yield ForeignLink(
            place, (a, b), {name: says[name] for name in says if columns.index(name) not in ends}
        )


def _pairs(lines: list[_Line], separator: str) -> Iterator[ForeignLink]:
    for number, line in lines:
        place = f"line {number}"
        behind = _OF_NETWORKX.fullmatch(line)
        text = behind[1] if behind else line
        says = _dictionary(behind[2], place) if behind else {}
        numbers = _NUMBERS.fullmatch(text)
        fields = [numbers[1], numbers[2]] if numbers else _fields((number, text), "" if behind else separator)
        if len(fields) != _TWO or not all(fields):
            more = (
                "; name the columns in a first line, such as source,target,bandwidth"
                if len(fields) > _TWO
                else ""
            )
            raise InvalidInput(f"{place}: expected two servers, such as 0 1, got {shown(text)}{more}")
        yield ForeignLink(place, (node_name(fields[0], place), node_name(fields[1], place)), says)


def _dictionary(text: str, place: str) -> Mapping[str, Any]:
    try:
        found = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise InvalidInput(
            f"{place}: expected attributes such as {{'bandwidth': '100Gbps'}}, got {shown(text)}"
        )
    return {str(name): value for name, value in found.items()}
