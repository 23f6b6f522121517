"""Pages of failures and rewirings: times before, during and after, repairs, and the moves of fibers."""

from collections.abc import Mapping, Sequence
from math import inf
from typing import Any

from topoopt.base.units import format_time
from topoopt.finder.rewiring import MoveOrder
from topoopt.pages.fabric_tables import name_apart, skipped_notes
from topoopt.pages.page import Block, Notes, Page, Section, Table
from topoopt.pages.tables import counted, dollars, duration, facts, number, table, text, yes_or_no
from topoopt.plans.inventory import Cable, Move, RewiringAnswer
from topoopt.studies.failure import (
    ESTIMATES,
    AvailabilityAnswer,
    FabricAvailability,
    FailureAnswer,
    repairers,
)

RANKS = 8
"""Ranks whose servers are named."""
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
    """Return the cost of one failure of a plan, and its repair."""
    row = answer.to_json()
    repaired = _repaired(row["repaired"], _thing(row["links"]))
    size = (
        f"{row['model']} on {row['servers']} servers, {counted(row['panels'], 'panel')}, {row['simulator']}"
    )
    entries = {
        "dead": _dead(row),
        "before": f"{_time(row['before'])} an iteration",
        "during": _during(row["during"]),
        "repaired": _repaired(row["repaired"], _thing(row["links"])),
    }
    return Page(
        "failure",
        f"{row['failure']} fails",
        repaired[:1].upper() + repaired[1:] + ".",
        sections=(
            Section("failure", "The failure", "", (facts(entries),)),
            _repairs(row),
            *_moves(answer, row),
            *(_course(row) if "course" in row else ()),
        ),
        remark=size,
    )


def _thing(links: str) -> str:
    return "cable" if links == "duplex" else "fiber"


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
        "chosen: the fastest; of those within 1% the one with the fewest moves",
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
    """Return the number of dead cables and, if few, their names."""
    number = counted(len(row["broken"]), _thing(row["links"]))
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
    """Return the availability of a plan under random failures, and its assumptions."""
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
    """Return the headline: the plan's availability, and the fabric with the fastest effective iteration."""
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
    """Return the failures of the other fabrics and their effects."""
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
        text("repaired by", _repaired_by),
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
        text("repaired by", _repaired_by),
    )
    remark = "speed: of samples a second, until fibers are moved and after"
    return Section("parts", "What fails", "", (parts,), remark)


def _repaired_by(part: Mapping[str, Any]) -> str:
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


def rewiring_page(answer: RewiringAnswer) -> Page:
    """Return the fibers to move, in order, and the time by technology."""
    rewiring = answer.rewiring
    return Page(
        "rewiring",
        f"{answer.old} to {answer.new}",
        f"{counted(rewiring.moved_fibers, _thing(rewiring.old.links))} move, at least {rewiring.lower_bound} must.",
        sections=(
            _rewiring_summary(answer),
            *((_rewiring_moves(answer), _times(answer)) if answer.moves() else ()),
        ),
        remark=f"{len(rewiring.servers)} servers, {counted(rewiring.old.panels, 'panel')}",
    )


def _rewiring_summary(answer: RewiringAnswer) -> Section:
    rewiring, wiring = answer.rewiring, answer.rewiring.old
    thing = _thing(wiring.links)
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


def _rewiring_moves(answer: RewiringAnswer) -> Section:
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
