"""A rewiring as a page: what stays, what moves in which order, and how long that takes."""

from topoopt.report.page import Block, Facts, Notes, Page, Section, Table
from topoopt.report.words import counted
from topoopt.rewiring import MoveOrder, Rewiring, RewiringAnswer
from topoopt.units import format_time

SHOWN = 12
"""Moves that are shown; all of them are in the answer."""


def rewiring_page(answer: RewiringAnswer) -> Page:
    """Return which fibers move, in which order, and the time of that by technology."""
    found = answer.rewiring
    moves = [_moves(answer), _times(answer)] if answer.moves() else []
    return Page(
        "rewiring",
        f"{answer.old} to {answer.new}",
        f"{counted(found.moved_fibers, _thing(answer))} move, at least {found.lower_bound} must.",
        (),
        (),
        (_summary(answer), *moves),
        {},
        f"{len(found.servers)} servers, {counted(found.old.panels, 'panel')}",
    )


def _thing(answer: RewiringAnswer) -> str:
    return "cable" if answer.rewiring.old.links == "duplex" else "fiber"


def _summary(answer: RewiringAnswer) -> Section:
    found, wiring, thing = answer.rewiring, answer.rewiring.old, _thing(answer)
    proof = "at least so many must move"
    if not found.gap:
        free = "order of servers and " if answer.relabeling else ""
        proof = f"no other {free}choice of ports needs fewer"
    width = counted(wiring.interfaces_per_panel, "interface")
    facts = (
        ("wired now", f"{counted(len(wiring.patches), thing)}, {width} of a server on each panel"),
        ("wired then", counted(len(found.new.patches), thing)),
        ("stay", f"{len(wiring.patches) - len(found.removed)}"),
        ("move", counted(found.moved_fibers, thing)),
        ("lower bound", f"{found.lower_bound}: {proof}"),
        ("servers", _renamed(found)),
        ("steps", _steps(answer.order)),
    )
    return Section("rewiring", "The wiring", "", (Facts("", facts),))


def _moves(answer: RewiringAnswer) -> Section:
    rows, order = answer.moves(), answer.order
    cells = tuple(
        (str(step), action, str(panel), f"server {a}, port {i}", f"server {b}, port {j}")
        for step, action, panel, a, i, b, j in rows[:SHOWN]
    )
    columns = ("step", "action", "panel", "from", "to")
    blocks: list[Block] = [Table("", columns, cells, ("step", "panel"))]
    if len(rows) > SHOWN:
        blocks.append(Notes((f"and {len(rows) - SHOWN} more; all of them are in JSON, and in a table",)))
    if order.cuts:
        least = min(step.reached for step in order.steps)
        cut = (
            f"{order.cuts} of {len(order.steps)} steps cut the job: for a moment only {least:.0%} of the pairs of "
            "servers reach each other. Stop the job for these, or give it more interfaces."
        )
        blocks.append(Notes((cut,), warn=True))
    return Section("moves", "Moves", "Of each step first what is unplugged.", tuple(blocks))


def _times(answer: RewiringAnswer) -> Section:
    cells = tuple(
        (
            row.technology.name,
            format_time(row.time_s),
            str(row.ports),
            str(row.technology.ports),
            "yes" if row.fits else "no",
        )
        for row in answer.times
    )
    columns = ("technology", "time", "ports needed", "has", "fits")
    return Section(
        "time",
        "Time",
        "",
        (Table("", columns, cells, ("time", "ports needed", "has")),),
        "an optical switch makes a step at once, a patch panel one fiber after the other",
    )


def _renamed(found: Rewiring) -> str:
    if not found.relabeled:
        return "rank r of the new plan is server r"
    shown = ", ".join(str(server) for server in found.servers[:16])
    return f"rank 0, 1, … of the new plan is server {shown}{', …' if len(found.servers) > 16 else ''}"


def _steps(order: MoveOrder) -> str:
    count = len(order.steps)
    if not count:
        return "none"
    if not order.keep_running:
        return f"{count}: the old job has ended, so all may be done at once"
    return (
        f"{count}, {'none of which cuts the job' if not order.cuts else f'of which {order.cuts} cut the job'}"
    )
