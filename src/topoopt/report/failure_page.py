"""A failure as a page: before, during, every repair, the moves of the chosen one."""

from collections.abc import Mapping
from typing import Any

from topoopt.failure import FailureAnswer
from topoopt.report.page import Facts, Notes, Page, Section, Table
from topoopt.report.words import counted, duration
from topoopt.units import format_time

SHOWN = 12
"""Moves that are shown; all of them are in the JSON."""


def failure_page(answer: FailureAnswer) -> Page:
    """Return what one failure costs a plan, and how it is repaired."""
    row = answer.to_json()
    sections = [_summary(row), _repairs(row), *_moves(row), *([_course(row)] if "course" in row else [])]
    size = (
        f"{row['model']} on {row['servers']} servers, {counted(row['panels'], 'panel')}, {row['simulator']}"
    )
    repaired = _repaired(row["repaired"], _thing(row))
    return Page(
        "failure",
        f"{row['failure']} fails",
        repaired[:1].upper() + repaired[1:] + ".",
        (),
        (),
        tuple(sections),
        {},
        size,
    )


def _thing(row: Mapping[str, Any]) -> str:
    return "cable" if row["links"] == "duplex" else "fiber"


def _summary(row: Mapping[str, Any]) -> Section:
    facts = (
        ("dead", counted(len(row["broken"]), _thing(row))),
        ("before", f"{_time(row['before'])} an iteration"),
        ("during", _during(row["during"])),
        ("repaired", _repaired(row["repaired"], _thing(row))),
    )
    return Section("failure", "The failure", "", (Facts("", facts),))


def _repairs(row: Mapping[str, Any]) -> Section:
    numbers = ("iteration", "×", "speed", "moves", "moving")
    chosen = row["repaired"]["name"]
    cells = tuple(
        (
            f"{one['name']} ←" if one["name"] == chosen else one["name"],
            _time(one),
            f"{one['relative_time']:.2f}",
            f"{one['speed']:.1%}",
            str(one["moved_fibers"]),
            duration(one["move_time_s"]),
            one["description"],
        )
        for one in row["repairs"]
        if one["possible"]
    )
    refused = tuple(
        (f"no {one['name']}", one["reason"])
        for one in row["repairs"]
        if not one["possible"] and one["meant_for_this"]
    )
    return Section(
        "repairs",
        "Repairs",
        "Each simulated; speed is in samples a second, over that before the failure.",
        (
            Table("", ("repair", *numbers, "what it is"), cells, numbers),
            Facts("Not possible", refused, tight=True),
        ),
        "chosen: the fastest; of those within 1 % the one with the fewest moves",
    )


def _moves(row: Mapping[str, Any]) -> list[Section]:
    moves = [(action, move) for action in ("unplug", "plug") for move in row["moves"][action]]
    if not moves:
        return []
    cells = tuple(
        (
            action,
            str(move["panel"]),
            _port(move["from_server"], move["from_interface"], row["servers"]),
            _port(move["to_server"], move["to_interface"], row["servers"]),
        )
        for action, move in moves[:SHOWN]
    )
    more = [Notes((f"and {len(moves) - SHOWN} more; all of them are in JSON",))] if len(moves) > SHOWN else []
    table = Table("", ("action", "panel", "from", "to"), cells, ("panel",))
    return [Section("moves", "Moves", "", (table, *more), f"of {row['repaired']['name']}")]


def _port(server: int, interface: int, servers: int) -> str:
    name = f"server {server}" if server < servers else "the spare server"
    return f"{name}, port {interface}"


def _course(row: Mapping[str, Any]) -> Section:
    numbers = ("from", "to", "iteration")
    cells = tuple(
        (
            phase["name"],
            duration(phase["start_s"]),
            "–" if phase["end_s"] is None else duration(phase["end_s"]),
            "stands" if phase["iteration_time_s"] is None else _time(phase),
        )
        for phase in row["course"]
    )
    lost = row["lost_work_s"]
    work = f"{duration(lost)} since the last checkpoint" if lost else "none"
    table = Table("", ("phase", *numbers), cells, numbers)
    return Section(
        "course",
        "Course",
        "",
        (table, Facts("", (("lost work", work),), tight=True)),
        f"moves on {row['optics']}",
    )


def _time(row: Mapping[str, Any]) -> str:
    return format_time(row["iteration_time_s"]) if row.get("iteration_time_s") is not None else "–"


def _during(row: Mapping[str, Any] | None) -> str:
    if row is None:
        return "left out"
    if not row["possible"]:
        return f"the job stops: {row['reason']}"
    return f"{_time(row)}, {row['relative_time']:.2f} × as long: {row['description']}"


def _repaired(row: Mapping[str, Any], thing: str) -> str:
    moves = counted(row["moved_fibers"], thing)
    again = "; starts again from its last checkpoint" if row["restart"] else ""
    return f"{_time(row)}, {row['relative_time']:.2f} × as long, {moves} moved: {row['description']}{again}"
