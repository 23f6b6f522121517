"""A month of failures as JSON and as a person reads it."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.console import Console

    from topoopt.failure import Availability, Effect, FailureRates
    from topoopt.plan import Plan

ESTIMATES = ("full_speed", "degraded", "down", "goodput", "slowdown")
MEANING = {
    "full_speed": "of the time everything works",
    "degraded": "of the time it runs slower",
    "down": "of the time it stands",
    "goodput": "of the samples that it would do without failures",
    "slowdown": "an iteration takes, while it runs",
}


def availability_document(
    plan: "Plan",
    path: str,
    found: "Availability",
    kinds: "Mapping[str, tuple[Effect, ...]]",
    rates: "FailureRates",
    simulator: str,
) -> dict[str, Any]:
    """Return the estimates with what they rest on."""
    from dataclasses import asdict

    from topoopt.failure import parts_of

    counts = parts_of(plan)
    return {
        "plan": path,
        "model": plan.job.name,
        "servers": plan.job.cluster.servers,
        "days": found.days,
        "runs": found.runs,
        "seed": found.seed,
        "simulator": simulator,
        **{name: asdict(getattr(found, name)) for name in ESTIMATES},
        "goodput_first_order": found.goodput_first_order,
        "parts": [
            {
                "kind": kind,
                "count": counts[kind],
                "mtbf_s": rate.mtbf_s,
                "repair_s": rate.repair_s,
                "origin": rate.origin,
                "failures": asdict(found.failures[kind]),
                "effects": [
                    {
                        "failure": str(effect.failure),
                        "weight": effect.weight,
                        "speed_meanwhile": effect.speed_meanwhile,
                        "speed": effect.speed,
                        "move_time_s": effect.move_time_s,
                        "repair": effect.repair,
                    }
                    for effect in kinds[kind]
                ],
            }
            for kind, rate in rates.parts.items()
        ],
        "restart_s": rates.restart_s,
        "checkpoint_s": rates.checkpoint_s,
        "spare_servers": rates.spare_servers,
        "move_fibers": rates.move_fibers,
        "look_ahead": rates.look_ahead,
        "optics": rates.optics,
    }


def print_availability(console: "Console", document: dict[str, Any]) -> None:
    """Print the document."""
    from topoopt.cli.render import counted, print_facts, print_table, print_title

    often = f"{document['runs']:,} times {document['days']:g} days, seed {document['seed']}"
    print_title(console, document["model"], f"on {document['servers']} servers, {often}")
    print_facts(
        console,
        [(name.replace("_", " "), _estimate(name, document[name])) for name in ESTIMATES]
        + [("check", f"{document['goodput_first_order']:.3%} goodput in closed form, if no failures met")],
    )
    print_title(console, "What fails", "speed: of samples a second, until fibers are moved and after")
    numbers = ("count", "fail a month", "each every", "repair", "speed")
    print_table(
        console,
        ("part", *numbers, "repaired by"),
        [_part(row, document["days"]) for row in document["parts"]],
        numbers=numbers,
    )
    print_title(console, "Where the rates come from")
    print_facts(
        console,
        [
            *((row["kind"], row["origin"]) for row in document["parts"]),
            (
                "server fails",
                f"{document['restart_s'] / 60:g} min to restart, a checkpoint every "
                f"{document['checkpoint_s'] / 60:g} min, {counted(document['spare_servers'], 'spare server')}",
            ),
            (
                "panels",
                f"{document['optics']}, {'with' if document['look_ahead'] else 'without'} look-ahead panels; fibers "
                f"{'are moved' if document['move_fibers'] else 'are not moved'} before the repair",
            ),
        ],
    )


def _estimate(name: str, estimate: dict[str, float]) -> str:
    mean, error = estimate["mean"], estimate["standard_error"]
    if name == "slowdown":
        return f"{mean:.4f} ± {error:.4f} × as long {MEANING[name]}"
    return f"{mean:.3%} ± {error:.3%} {MEANING[name]}"


def _part(row: dict[str, Any], days: float) -> tuple[str, ...]:
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
