"""The wiring that a patch list of ``topoopt export`` leads to: circuits kept and connected, not disconnected ones."""

import csv
import io
import re
from collections.abc import Mapping

from topoopt.base.errors import InvalidInput, shown
from topoopt.topologies.wirings.foreign_graph import ForeignGraph, ForeignLink

SYNTAX = "patch list"
_NEEDED = ("server_a", "nic_a", "server_b", "nic_b", "circuit_id", "action")
_ACTIONS = ("keep", "connect", "disconnect")
_Row = tuple[str, Mapping[str, str]]  # a line, its cells


def is_patch_list(text: str) -> bool:
    """Return whether the first line names the columns of a patch list."""
    return set(_NEEDED) <= set(text.lstrip("\ufeff").partition("\n")[0].strip().split(","))


def patch_list_graph(text: str) -> ForeignGraph:
    """Return the links after the last step; the last row of a circuit decides whether it is there.

    Ports are in the order of the names of interfaces; a circuit from one half of a port to another (``>``) is a fiber
    that goes one way.

    Raises
    ------
    InvalidInput
        With the line, for an unknown action, or a cell that is missing.
    """
    last: dict[str, _Row] = {}
    for line, row in enumerate(csv.DictReader(io.StringIO(text.lstrip("\ufeff"), newline="")), 2):
        for column in _NEEDED:
            if not row.get(column):
                raise InvalidInput(f"line {line}: {column}: missing; export the patch list again")
        if row["action"] not in _ACTIONS:
            raise InvalidInput(
                f"line {line}: action: expected {', '.join(_ACTIONS)}, got {shown(row['action'])}"
            )
        last[row["circuit_id"]] = f"line {line}", row
    rows = [(place, row) for place, row in last.values() if row["action"] != "disconnect"]
    names = {row[column] for _, row in rows for column in ("nic_a", "nic_b")}
    port = {name: number for number, name in enumerate(sorted(names, key=_by_numbers))}
    links = (
        ForeignLink(
            place,
            (row["server_a"], row["server_b"]),
            {"source_port": port[row["nic_a"]], "target_port": port[row["nic_b"]]},
        )
        for place, row in rows
    )
    return ForeignGraph(SYNTAX, (), tuple(links), any(">" in row["circuit_id"] for _, row in rows))


def _by_numbers(name: str) -> list[tuple[int, str]]:
    return [(int(part) if part.isdecimal() else -1, part) for part in re.split(r"(\d+)", name)]
