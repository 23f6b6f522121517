"""Moves at panels as a table: whose connection goes from which port to which."""

from collections.abc import Sequence

from topoopt.pages.page import Table
from topoopt.pages.rows import number, table, text
from topoopt.plans.inventory import Cable, Move


def move_table(moves: Sequence[Move]) -> Table:
    """Return a row for each move: the cable whose port stays in use, and where it was and is to be joined."""
    return table(
        "",
        moves,
        number("step"),
        text("do", "action"),
        text("panel", "cable.panel"),
        number("port", "cable.port"),
        text("of", lambda move: _named(move.cable)),
        number("from port", lambda move: _port(move.old)),
        number("to port", lambda move: _port(move.new)),
        text("now with", lambda move: _named(move.new) if move.new else None),
    )


def _named(cable: Cable) -> str:
    return f"{cable.id} {cable.server} {cable.interface}"


def _port(cable: Cable | None) -> str | None:
    return None if cable is None else str(cable.port)
