"""A failure as JSON and as a person reads it: before, during, every repair, the moves of the chosen one."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

    from topoopt.failure import Phase, Prediction, RepairRow

SHOWN = 12
"""Moves that are printed; all of them are in the JSON."""


def failure_document(
    prediction: "Prediction",
    path: str,
    simulator: str,
    times_s: dict[str, float],
    optics: str,
    course: "tuple[tuple[Phase, ...], float] | None",
) -> dict[str, Any]:
    """Return everything that is known about one failure."""
    from dataclasses import asdict

    from topoopt.cli.rewire import patch_row

    found, chosen = prediction.situation, prediction.chosen
    rows = [_row(row, prediction, times_s[row.way.name]) for row in prediction.rows]
    by_name = {row["name"]: row for row in rows}
    repair = chosen.repair
    assert repair is not None, "a chosen repair is possible"
    document: dict[str, Any] = {
        "plan": path,
        "model": found.plan.job.name,
        "servers": found.plan.job.cluster.servers,
        "links": found.wiring.links,
        "panels": found.wiring.panels,
        "failure": str(prediction.failure),
        "broken": [patch_row(found.wiring, patch) for patch in found.broken],
        "simulator": simulator,
        "optics": optics,
        "before": {
            "iteration_time_s": prediction.before.iteration_time_s,
            "compute_time_s": prediction.before.compute_time_s,
            "link_bytes_max": prediction.before.link_bytes_max,
        },
        "during": by_name.get(prediction.during.way.name),
        "repairs": rows,
        "repaired": by_name[chosen.way.name],
        "moves": {
            "unplug": [patch_row(repair.wiring, patch) for patch in repair.removed],
            "plug": [patch_row(repair.wiring, patch) for patch in repair.made],
        },
    }
    if course is not None:
        document["course"] = [asdict(phase) for phase in course[0]]
        document["lost_work_s"] = course[1]
    return document


def print_failure(console: "Console", document: dict[str, Any], out: str | None) -> None:
    """Print the document."""
    from topoopt.cli.render import counted, print_facts, print_table, print_title

    thing = "cable" if document["links"] == "duplex" else "fiber"
    print_title(
        console,
        f"{document['failure']} fails",
        f"{document['model']} on {document['servers']} servers, {counted(document['panels'], 'panel')}, "
        f"{document['simulator']}",
    )
    before, during, repaired = document["before"], document["during"], document["repaired"]
    print_facts(
        console,
        [
            ("dead", counted(len(document["broken"]), thing)),
            ("before", f"{_time(before)} an iteration"),
            ("during", _during(during)),
            ("repaired", _repaired(repaired, thing)),
        ],
    )
    print_title(console, "Repairs", "chosen: the fastest; of those within 1 % the one with the fewest moves")
    numbers = ("iteration", "×", "speed", "moves", "moving")
    print_table(
        console,
        ("repair", *numbers, "what it is"),
        [
            (
                f"{row['name']} ←" if row["name"] == repaired["name"] else row["name"],
                _time(row),
                f"{row['relative_time']:.2f}",
                f"{row['speed']:.1%}",
                str(row["moved_fibers"]),
                _seconds(row["move_time_s"]),
                row["description"],
            )
            for row in document["repairs"]
            if row["possible"]
        ],
        numbers=numbers,
    )
    print_facts(
        console,
        [
            (f"no {row['name']}", row["reason"])
            for row in document["repairs"]
            if not row["possible"] and row["meant_for_this"]
        ],
    )
    _print_moves(console, document)
    if "course" in document:
        _print_course(console, document)
    if out is not None:
        console.print(f"\n  The repaired plan is in {out}.", markup=False)


def _row(row: "RepairRow", prediction: "Prediction", time_s: float) -> dict[str, Any]:
    repair, result = row.repair, row.result
    common = {"name": row.way.name, "description": row.way.description, "possible": repair is not None}
    if repair is None or result is None:
        return {**common, "reason": row.reason, "meant_for_this": row.meant}
    return {
        **common,
        "iteration_time_s": result.iteration_time_s,
        "relative_time": result.iteration_time_s / prediction.before.iteration_time_s,
        "speed": row.speed,
        "servers": repair.job.cluster.servers,
        "rings": sum(len(rings) for rings in repair.fabric.rings.values()),
        "link_bytes_max": result.link_bytes_max,
        "moved_fibers": repair.moved_fibers,
        "move_time_s": time_s,
        "restart": repair.restart,
    }


def _print_moves(console: "Console", document: dict[str, Any]) -> None:
    from topoopt.cli.render import print_table, print_title

    rows = [(action, row) for action in ("unplug", "plug") for row in document["moves"][action]]
    if not rows:
        return
    print_title(console, "Moves", f"of {document['repaired']['name']}")
    print_table(
        console,
        ("action", "panel", "from", "to"),
        [
            (
                action,
                str(row["panel"]),
                _port(row["from_server"], row["from_interface"], document["servers"]),
                _port(row["to_server"], row["to_interface"], document["servers"]),
            )
            for action, row in rows[:SHOWN]
        ],
        numbers=("panel",),
    )
    if len(rows) > SHOWN:
        console.print(f"  and {len(rows) - SHOWN} more; all of them: --json", markup=False)


def _port(server: int, interface: int, servers: int) -> str:
    name = f"server {server}" if server < servers else "the spare server"
    return f"{name}, port {interface}"


def _print_course(console: "Console", document: dict[str, Any]) -> None:
    from topoopt.cli.render import print_facts, print_table, print_title

    print_title(console, "Course", f"moves on {document['optics']}")
    numbers = ("from", "to", "iteration")
    print_table(
        console,
        ("phase", *numbers),
        [
            (
                phase["name"],
                _seconds(phase["start_s"]),
                "–" if phase["end_s"] is None else _seconds(phase["end_s"]),
                "stands" if phase["iteration_time_s"] is None else _time(phase),
            )
            for phase in document["course"]
        ],
        numbers=numbers,
    )
    lost = document["lost_work_s"]
    print_facts(console, [("lost work", f"{_seconds(lost)} since the last checkpoint" if lost else "none")])


def _time(row: dict[str, Any]) -> str:
    from topoopt.units import format_time

    return format_time(row["iteration_time_s"]) if row.get("iteration_time_s") is not None else "–"


def _seconds(seconds: float) -> str:
    """Return ``2.5 h`` or ``5 min``, below that as times of iterations are written."""
    from topoopt.units import format_time

    for unit, scale in (("h", 3600.0), ("min", 60.0)):
        if seconds >= 2 * scale:
            return f"{seconds / scale:.3g} {unit}"
    return format_time(seconds)


def _during(row: dict[str, Any] | None) -> str:
    if row is None:
        return "left out"
    if not row["possible"]:
        return f"the job stops: {row['reason']}"
    return f"{_time(row)}, {row['relative_time']:.2f} × as long: {row['description']}"


def _repaired(row: dict[str, Any], thing: str) -> str:
    from topoopt.cli.render import counted

    moves = counted(row["moved_fibers"], thing)
    again = "; starts again from its last checkpoint" if row["restart"] else ""
    return f"{_time(row)}, {row['relative_time']:.2f} × as long, {moves} moved: {row['description']}{again}"
