"""A rewiring as a page: what stays, what moves in which order, and how long that takes."""

from collections.abc import Sequence

from topoopt.finder.rewiring import MoveOrder
from topoopt.pages.number_format import counted, yes_or_no
from topoopt.pages.page import Block, Notes, Page, Section, Table
from topoopt.pages.tables import facts, number, table, text
from topoopt.plans.inventory import Cable, Move, RewiringAnswer

SHOWN = 12
"""Moves that are shown; all of them are in the answer."""
RANKS = 8
"""Ranks whose servers are named."""


def rewiring_page(answer: RewiringAnswer) -> Page:
    """Return which fibers move, in which order, and the time of that by technology."""
    rewiring = answer.rewiring
    return Page(
        "rewiring",
        f"{answer.old} to {answer.new}",
        f"{counted(rewiring.moved_fibers, _thing(answer))} move, at least {rewiring.lower_bound} must.",
        sections=(_summary(answer), *((_moves(answer), _times(answer)) if answer.moves() else ())),
        remark=f"{len(rewiring.servers)} servers, {counted(rewiring.old.panels, 'panel')}",
    )


def _thing(answer: RewiringAnswer) -> str:
    return "cable" if answer.rewiring.old.links == "duplex" else "fiber"


def _summary(answer: RewiringAnswer) -> Section:
    rewiring, wiring, thing = answer.rewiring, answer.rewiring.old, _thing(answer)
    proof = "at least so many must move"
    if not rewiring.gap:
        free = "order of servers and " if answer.relabeling else ""
        proof = f"no other {free}choice of ports needs fewer"
    width = counted(wiring.interfaces_per_panel, "interface")
    entries = {
        "wired now": f"{counted(len(wiring.patches), thing)}, {width} of a server on each panel",
        "wired then": counted(len(rewiring.new.patches), thing),
        "stay": f"{len(wiring.patches) - len(rewiring.removed)}",
        "move": counted(rewiring.moved_fibers, thing),
        "lower bound": f"{rewiring.lower_bound}: {proof}",
        "servers": _renamed(answer),
        "steps": _steps(answer.order),
    }
    notes = (Notes(answer.warnings, warn=True),) if answer.warnings else ()
    return Section("rewiring", "The wiring", "", (facts(entries), *notes))


def _moves(answer: RewiringAnswer) -> Section:
    rows, order = answer.named_moves(), answer.order
    blocks: list[Block] = [move_table(rows[:SHOWN])]
    if len(rows) > SHOWN:
        blocks.append(Notes((f"and {len(rows) - SHOWN} more; all of them are in JSON, and in a table",)))
    if order.cuts:
        least = min(step.reached for step in order.steps)
        cut = (
            f"{order.cuts} of {len(order.steps)} steps cut the job: for a moment only {least:.0%} of the pairs of "
            "servers reach each other. Stop the job for these, or give it more interfaces."
        )
        blocks.append(Notes((cut,), warn=True))
    remark = "of each step first all is pulled out, then all is plugged in"
    return Section("moves", "Moves", "", tuple(blocks), remark)


def _times(answer: RewiringAnswer) -> Section:
    times = table(
        "",
        answer.times,
        text("technology", "technology.name"),
        number("time", "time_s"),
        number("ports needed", "ports"),
        number("has", "technology.ports"),
        text("fits", "fits", yes_or_no),
    )
    remark = "an optical switch makes a step at once, a patch panel one fiber after the other"
    return Section("time", "Time", "", (times,), remark)


def _renamed(answer: RewiringAnswer) -> str:
    servers, names = answer.rewiring.servers, answer.inventory.servers
    if not answer.rewiring.relabeled:
        return "rank r of the new plan is server r"
    shown = ", ".join(names[server].name for server in servers[:RANKS])
    return f"rank 0, 1, … of the new plan is {shown}{', …' if len(servers) > RANKS else ''}"


def _steps(order: MoveOrder) -> str:
    count = len(order.steps)
    if not count:
        return "none"
    if not order.keep_running:
        return f"{count}: the old job has ended, so all may be done at once"
    return f"{count}, {f'of which {order.cuts} cut the job' if order.cuts else 'none of which cuts the job'}"


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
