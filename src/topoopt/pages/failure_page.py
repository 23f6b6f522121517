"""A failure as a page: before, during, every repair, the moves of the chosen one."""

from collections.abc import Mapping
from typing import Any

from topoopt.base.units import format_time
from topoopt.pages.page import Notes, Page, Section
from topoopt.pages.panel_moves import move_table
from topoopt.pages.rows import facts, number, table, text
from topoopt.pages.words import counted, duration
from topoopt.studies.failure import FailureAnswer

SHOWN = 12
"""Moves that are shown; all of them are in the JSON."""
NAMED = 4
"""Dead cables that are named."""

Row = Mapping[str, Any]


def failure_page(answer: FailureAnswer) -> Page:
    """Return what one failure costs a plan, and how it is repaired."""
    row = answer.to_json()
    repaired = _repaired(row["repaired"], _thing(row))
    size = (
        f"{row['model']} on {row['servers']} servers, {counted(row['panels'], 'panel')}, {row['simulator']}"
    )
    return Page(
        "failure",
        f"{row['failure']} fails",
        repaired[:1].upper() + repaired[1:] + ".",
        sections=(
            _summary(row),
            _repairs(row),
            *_moves(answer, row),
            *(_course(row) if "course" in row else ()),
        ),
        remark=size,
    )


def _thing(row: Row) -> str:
    return "cable" if row["links"] == "duplex" else "fiber"


def _summary(row: Row) -> Section:
    entries = {
        "dead": _dead(row),
        "before": f"{_time(row['before'])} an iteration",
        "during": _during(row["during"]),
        "repaired": _repaired(row["repaired"], _thing(row)),
    }
    return Section("failure", "The failure", "", (facts(entries),))


def _repairs(row: Row) -> Section:
    chosen, repairs = row["repaired"]["name"], row["repairs"]
    refused = {
        f"no {one['name']}": one["reason"] for one in repairs if not one["possible"] and one["meant_for_this"]
    }
    possible = table(
        "",
        [one for one in repairs if one["possible"]],
        text("repair", lambda one: f"{one['name']} ←" if one["name"] == chosen else one["name"]),
        number("iteration", _time),
        number("×", "relative_time", ".2f"),
        number("speed", "speed", ".1%"),
        number("moves", "moved_fibers"),
        number("moving", "move_time_s", duration),
        text("what it is", "description"),
    )
    return Section(
        "repairs",
        "Repairs",
        "Each simulated; speed is in samples a second, over that before the failure.",
        (possible, facts(refused, "Not possible", tight=True)),
        "chosen: the fastest; of those within 1 % the one with the fewest moves",
    )


def _moves(answer: FailureAnswer, row: Row) -> tuple[Section, ...]:
    moves = answer.named_moves()
    if not moves:
        return ()
    lines = []
    if len(moves) > SHOWN:
        lines.append(f"and {len(moves) - SHOWN} more; all of them are in JSON")
    if answer.spare is not None:
        lines.append(f"{answer.spare} is the spare server")
    if row["repaired"]["name"] == "look-ahead":
        lines.append("these are ports of the look-ahead panel behind it")
    notes = (Notes(tuple(lines)),) if lines else ()
    blocks = (move_table(moves[:SHOWN]), *notes)
    return (Section("moves", "Moves", "", blocks, f"of {row['repaired']['name']}"),)


def _dead(row: Row) -> str | list[str]:
    """Return how many cables are dead, and of a few, which."""
    number = counted(len(row["broken"]), _thing(row))
    if len(row["broken"]) > NAMED:
        return number
    return [number, *(_joined(one) for one in row["broken"])]


def _joined(one: Row) -> str:
    a, b = (
        f"port {one[f'{end}_panel_port']} ({one[f'{end}_cable']}, {one[f'{end}_server_name']} "
        f"{one[f'{end}_interface_name']})"
        for end in ("from", "to")
    )
    return f"{one['panel_name']}: {a} to {b}"


def _course(row: Row) -> tuple[Section]:
    phases = table(
        "",
        row["course"],
        text("phase", "name"),
        number("from", "start_s", duration),
        number("to", "end_s", duration),
        number("iteration", lambda one: "stands" if one["iteration_time_s"] is None else _time(one)),
    )
    lost_s = row["lost_work_s"]
    lost = f"{duration(lost_s)} since the last checkpoint" if lost_s else "none"
    blocks = (phases, facts({"lost work": lost}, tight=True))
    return (Section("course", "Course", "", blocks, f"moves on {row['optics']}"),)


def _time(row: Row) -> str:
    return format_time(row["iteration_time_s"]) if row.get("iteration_time_s") is not None else "–"


def _during(row: Row | None) -> str:
    if row is None:
        return "left out"
    if not row["possible"]:
        return f"the job stops: {row['reason']}"
    return f"{_time(row)}, {row['relative_time']:.2f} × as long: {row['description']}"


def _repaired(row: Row, thing: str) -> str:
    moves = counted(row["moved_fibers"], thing)
    again = "; starts again from its last checkpoint" if row["restart"] else ""
    return f"{_time(row)}, {row['relative_time']:.2f} × as long, {moves} moved: {row['description']}{again}"
