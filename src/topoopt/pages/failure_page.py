"""A failure as a page: before, during, every repair, the moves of the chosen one."""

from collections.abc import Mapping
from math import inf
from typing import Any

from topoopt.base.units import format_time
from topoopt.pages.fabric_tables import name_apart, skipped_notes
from topoopt.pages.number_format import counted, dollars, duration
from topoopt.pages.page import Notes, Page, Section
from topoopt.pages.rewiring_page import move_table
from topoopt.pages.tables import facts, number, table, text
from topoopt.studies.failure import (
    ESTIMATES,
    AvailabilityAnswer,
    FabricAvailability,
    FailureAnswer,
    repairers,
)

MEANING = {
    "full_speed": "of the time everything works",
    "degraded": "of the time it runs slower",
    "down": "of the time it stands",
    "goodput": "of the samples that it would do without failures",
    "slowdown": "an iteration takes, while it runs",
}
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


def availability_page(answer: AvailabilityAnswer) -> Page:
    """Return what drawn failures leave of a plan, and what that rests on."""
    row = answer.to_json()
    often = f"{row['runs']:,} times {row['days']:g} days, seed {row['seed']}"
    return Page(
        "availability",
        row["model"],
        headline(answer),
        sections=(*_fabrics(answer), _estimates(row), _parts(row), *_elsewhere(answer), _rates(row)),
        remark=f"on {row['servers']} servers, {often}",
    )


def headline(answer: AvailabilityAnswer) -> str:
    """Return the answer: what is left on the plan's fabric, and where an iteration that counts comes quickest."""
    own, name = answer.own, name_apart([row.row for row in answer.fabrics])
    first = f"{own.availability.goodput.mean:.2%} of the samples that there would be without failures"
    if len(answer.fabrics) == 1:
        return f"{first}."
    best = min(answer.fabrics, key=lambda row: row.effective_iteration_time_s)
    if best is own:
        return f"{first}; with failures counted no other fabric is faster."
    ratio = own.effective_iteration_time_s / best.effective_iteration_time_s
    goodput = best.availability.goodput.mean
    return f"{first}; with failures counted {name(best.row)} is {ratio:.2f} × as fast, at {goodput:.2%}."


def _fabrics(answer: AvailabilityAnswer) -> tuple[Section, ...]:
    rows, name = answer.fabrics, name_apart([row.row for row in answer.fabrics])
    if len(rows) == 1 and not answer.skipped:
        return ()
    dollars_known = any(row.lost_usd_per_hour is not None for row in rows)
    first_s = rows[0].effective_iteration_time_s
    beside = table(
        "",
        rows,
        text("fabric", lambda row: name(row.row)),
        number("iteration", "row.outcome.iteration_time_s"),
        number("full speed", "availability.full_speed.mean", ".2%"),
        number("degraded", "availability.degraded.mean", ".2%"),
        number("down", "availability.down.mean", ".2%"),
        number("goodput", "availability.goodput.mean", ".2%"),
        number("that counts", _counts),
        number("×", lambda row: row.effective_iteration_time_s / first_s, ".2f"),
        *([number("lost an hour", "lost_usd_per_hour", dollars)] if dollars_known else []),
    )
    notes = (
        Notes(("that counts: seconds of the month for an iteration that is not lost; lost: dollars",)),
        *skipped_notes(answer.skipped),
    )
    return (Section("fabrics", "Beside other fabrics", "", (beside, *notes)),)


def _counts(row: FabricAvailability) -> str:
    seconds = row.effective_iteration_time_s
    return "never" if seconds == inf else format_time(seconds)


def _elsewhere(answer: AvailabilityAnswer) -> tuple[Section, ...]:
    """Return what fails on the other fabrics, and what that does."""
    name = name_apart([row.row for row in answer.fabrics])
    parts = [
        {"fabric": name(row.row), **part} for row in answer.fabrics[1:] for part in row.to_json()["parts"]
    ]
    if not parts:
        return ()
    what = table(
        "",
        parts,
        text("fabric"),
        text("part", "kind"),
        number("count"),
        number("a month", lambda part: part["failures"]["mean"] * 30 / answer.own.availability.days, ".3g"),
        number("speed", lambda part: f"{_speed(part, 'speed'):.1%}"),
        text("repaired by", _availability_page_repairs),
    )
    return (Section("elsewhere", "What fails elsewhere", "", (what,)),)


def _estimates(row: Mapping[str, Any]) -> Section:
    estimates = {name.replace("_", " "): _estimate(name, row[name]) for name in ESTIMATES}
    check = f"{row['goodput_first_order']:.3%} goodput in closed form, if no failures met"
    return Section("estimates", "Availability", "", (facts({**estimates, "check": check}),))


def _parts(row: Mapping[str, Any]) -> Section:
    parts = table(
        "",
        row["parts"],
        text("part", "kind"),
        number("count"),
        number("a month", lambda part: part["failures"]["mean"] * 30 / row["days"], ".3g"),
        number("each every", lambda part: f"{part['mtbf_s'] / 86400:,.0f} days"),
        number("repair", lambda part: f"{part['repair_s'] / 3600:g} h"),
        number("speed", lambda part: f"{_speed(part, 'speed_meanwhile'):.0%}, {_speed(part, 'speed'):.0%}"),
        text("repaired by", _availability_page_repairs),
    )
    remark = "speed: of samples a second, until fibers are moved and after"
    return Section("parts", "What fails", "", (parts,), remark)


def _availability_page_repairs(part: Mapping[str, Any]) -> str:
    return ", ".join(dict.fromkeys(one["repair"] for one in part["effects"]))


def _speed(part: Mapping[str, Any], when: str) -> float:
    return sum(float(effect["weight"] * effect[when]) for effect in part["effects"])


def _rates(row: Mapping[str, Any]) -> Section:
    ahead, moved = "with" if row["look_ahead"] else "without", "are" if row["move_fibers"] else "are not"
    entries = {
        **{part["kind"]: part["origin"] for part in row["parts"]},
        "server fails": f"{row['restart_s'] / 60:g} min to restart, a checkpoint every "
        f"{row['checkpoint_s'] / 60:g} min, {counted(row['spare_servers'], 'spare server')}",
        "repaired by": _repairer(row["repaired_by"]),
        "panels": f"{row['optics']}, {ahead} look-ahead panels; fibers {moved} moved before the repair",
    }
    return Section("rates", "Where the rates come from", "", (facts(entries),))


def _repairer(name: str) -> str:
    if not name:
        return ""
    who = repairers()[name]
    times = ", ".join(f"{kind} {who.repair_s(kind) / 3600:g} h" for kind in ("nic", "switch", "server"))
    begin = (
        f"fibers begin to move after {who.moves_begin_s / 60:g} min"
        if who.moves_begin_s
        else "fibers move at once"
    )
    return f"{name}: {begin}; {times} ({who.confidence}: {who.source})"


def _estimate(name: str, estimate: Mapping[str, float]) -> str:
    mean, error = estimate["mean"], estimate["standard_error"]
    if name == "slowdown":
        return f"{mean:.4f} ± {error:.4f} × as long {MEANING[name]}"
    return f"{mean:.3%} ± {error:.3%} {MEANING[name]}"
