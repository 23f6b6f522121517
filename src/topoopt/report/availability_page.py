"""A month of failures as a page: shares of the time, what fails, and where the rates come from."""

from collections.abc import Mapping
from typing import Any

from topoopt.failure import ESTIMATES, AvailabilityAnswer
from topoopt.report.page import Page, Section
from topoopt.report.rows import facts, number, table, text
from topoopt.report.words import counted

MEANING = {
    "full_speed": "of the time everything works",
    "degraded": "of the time it runs slower",
    "down": "of the time it stands",
    "goodput": "of the samples that it would do without failures",
    "slowdown": "an iteration takes, while it runs",
}

Row = Mapping[str, Any]


def availability_page(answer: AvailabilityAnswer) -> Page:
    """Return what drawn failures leave of a plan, and what that rests on."""
    row = answer.to_json()
    often = f"{row['runs']:,} times {row['days']:g} days, seed {row['seed']}"
    return Page(
        "availability",
        row["model"],
        f"{row['goodput']['mean']:.2%} of the samples that there would be without failures.",
        sections=(_estimates(row), _parts(row), _rates(row)),
        remark=f"on {row['servers']} servers, {often}",
    )


def _estimates(row: Row) -> Section:
    estimates = {name.replace("_", " "): _estimate(name, row[name]) for name in ESTIMATES}
    check = f"{row['goodput_first_order']:.3%} goodput in closed form, if no failures met"
    return Section("estimates", "Availability", "", (facts({**estimates, "check": check}),))


def _parts(row: Row) -> Section:
    parts = table(
        "",
        row["parts"],
        text("part", "kind"),
        number("count"),
        number("fail a month", lambda part: part["failures"]["mean"] * 30 / row["days"], ".3g"),
        number("each every", lambda part: f"{part['mtbf_s'] / 86400:,.0f} days"),
        number("repair", lambda part: f"{part['repair_s'] / 3600:g} h"),
        number("speed", lambda part: f"{_speed(part, 'speed_meanwhile'):.0%}, {_speed(part, 'speed'):.0%}"),
        text("repaired by", lambda part: ", ".join(dict.fromkeys(one["repair"] for one in part["effects"]))),
    )
    remark = "speed: of samples a second, until fibers are moved and after"
    return Section("parts", "What fails", "", (parts,), remark)


def _speed(part: Row, when: str) -> float:
    return sum(float(effect["weight"] * effect[when]) for effect in part["effects"])


def _rates(row: Row) -> Section:
    ahead, moved = "with" if row["look_ahead"] else "without", "are" if row["move_fibers"] else "are not"
    entries = {
        **{part["kind"]: part["origin"] for part in row["parts"]},
        "server fails": f"{row['restart_s'] / 60:g} min to restart, a checkpoint every "
        f"{row['checkpoint_s'] / 60:g} min, {counted(row['spare_servers'], 'spare server')}",
        "panels": f"{row['optics']}, {ahead} look-ahead panels; fibers {moved} moved before the repair",
    }
    return Section("rates", "Where the rates come from", "", (facts(entries),))


def _estimate(name: str, estimate: Mapping[str, float]) -> str:
    mean, error = estimate["mean"], estimate["standard_error"]
    if name == "slowdown":
        return f"{mean:.4f} ± {error:.4f} × as long {MEANING[name]}"
    return f"{mean:.3%} ± {error:.3%} {MEANING[name]}"
