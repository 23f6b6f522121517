"""Testbeds as a page: which there are, and how their servers forward."""

from topoopt.pages.page import Block, Notes, Page, Section, Table
from topoopt.pages.rows import number, table, text
from topoopt.pages.words import counted
from topoopt.plugins.testbeds import TestbedsAnswer

_SAID = {"up": "put up", "down": "removed", "status": "on this machine"}


def testbeds_page(answer: TestbedsAnswer) -> Page:
    """Return a row for each testbed."""
    blocks: list[Block] = [_rows(answer)] if answer.testbeds else []
    notes = [f"{name} was left alone: {reason}" for name, reason in answer.left_alone.items()]
    if answer.checked_pairs:
        notes.append(f"packets of all {answer.checked_pairs} pairs go as the plan says; {answer.why}")
    if not blocks:
        notes.insert(0, "none")
    if notes:
        blocks.append(Notes(tuple(notes)))
    return Page(
        "testbed",
        f"testbeds {_SAID[answer.done]}",
        f"{counted(len(answer.testbeds), 'testbed')} {_SAID[answer.done]}.",
        sections=(Section("testbeds", "Testbeds", "", tuple(blocks)),),
    )


def _rows(answer: TestbedsAnswer) -> Table:
    return table(
        "",
        answer.testbeds,
        text("name"),
        text("standing"),
        number("servers"),
        number("cables"),
        number("bandwidth", "bandwidth_bps"),
        number("scale"),
        text("forwarding"),
        text("namespaces", lambda state: f"{state.namespaces[0]} ... {state.namespaces[-1]}"),
    )
