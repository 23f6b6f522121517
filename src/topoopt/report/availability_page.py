"""A month of failures as a page: shares of the time, what fails, and where the rates come from."""

from collections.abc import Mapping
from typing import Any

from topoopt.failure import ESTIMATES, AvailabilityAnswer
from topoopt.report.page import Facts, Page, Section, Table
from topoopt.report.words import counted

MEANING = {
    "full_speed": "of the time everything works",
    "degraded": "of the time it runs slower",
    "down": "of the time it stands",
    "goodput": "of the samples that it would do without failures",
    "slowdown": "an iteration takes, while it runs",
}


def availability_page(answer: AvailabilityAnswer) -> Page:
    """Return what drawn failures leave of a plan, and what that rests on."""
    row = answer.to_json()
    often = f"{row['runs']:,} times {row['days']:g} days, seed {row['seed']}"
    goodput = f"{row['goodput']['mean']:.2%} of the samples that there would be without failures."
    return Page(
        "availability",
        row["model"],
        goodput,
        (),
        (),
        (_estimates(row), _parts(row), _rates(row)),
        {},
        f"on {row['servers']} servers, {often}",
    )


def _estimates(row: Mapping[str, Any]) -> Section:
    facts = [(name.replace("_", " "), _estimate(name, row[name])) for name in ESTIMATES]
    check = f"{row['goodput_first_order']:.3%} goodput in closed form, if no failures met"
    return Section("estimates", "Availability", "", (Facts("", (*facts, ("check", check))),))


def _parts(row: Mapping[str, Any]) -> Section:
    numbers = ("count", "fail a month", "each every", "repair", "speed")
    cells = tuple(_part(part, row["days"]) for part in row["parts"])
    return Section(
        "parts",
        "What fails",
        "",
        (Table("", ("part", *numbers, "repaired by"), cells, numbers),),
        "speed: of samples a second, until fibers are moved and after",
    )


def _rates(row: Mapping[str, Any]) -> Section:
    facts = (
        *((part["kind"], part["origin"]) for part in row["parts"]),
        (
            "server fails",
            f"{row['restart_s'] / 60:g} min to restart, a checkpoint every "
            f"{row['checkpoint_s'] / 60:g} min, {counted(row['spare_servers'], 'spare server')}",
        ),
        (
            "panels",
            f"{row['optics']}, {'with' if row['look_ahead'] else 'without'} look-ahead panels; fibers "
            f"{'are moved' if row['move_fibers'] else 'are not moved'} before the repair",
        ),
    )
    return Section("rates", "Where the rates come from", "", (Facts("", facts),))


def _estimate(name: str, estimate: Mapping[str, float]) -> str:
    mean, error = estimate["mean"], estimate["standard_error"]
    if name == "slowdown":
        return f"{mean:.4f} ± {error:.4f} × as long {MEANING[name]}"
    return f"{mean:.3%} ± {error:.3%} {MEANING[name]}"


def _part(row: Mapping[str, Any], days: float) -> tuple[str, ...]:
    effects = row["effects"]
    meanwhile = sum(effect["weight"] * effect["speed_meanwhile"] for effect in effects)
    speed = sum(effect["weight"] * effect["speed"] for effect in effects)
    return (
        row["kind"],
        str(row["count"]),
        f"{row['failures']['mean'] * 30 / days:.3g}",
        f"{row['mtbf_s'] / 86400:,.0f} days",
        f"{row['repair_s'] / 3600:g} h",
        f"{meanwhile:.0%}, {speed:.0%}",
        ", ".join(dict.fromkeys(effect["repair"] for effect in effects)),
    )
