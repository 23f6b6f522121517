"""The table of fabrics beside each other: bandwidth, iteration time, price."""

from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

    from topoopt.plan import Baseline, Outcome, Plan


def fabric_rows(plan: "Plan", outcome: "Outcome", others: "Iterable[Baseline]") -> list[dict[str, Any]]:
    """Return the plan's own fabric and the others, in the form of a plan file's ``baselines``."""
    from topoopt.plan import baseline_to_mapping

    own = {
        "fabric": plan.fabric.name,
        "description": "this plan",
        "server_bandwidth_bps": plan.job.cluster.server_bandwidth_bps,
        "relative_time": 1.0,
        **asdict(outcome),
        "cost_usd": plan.price.get("cost_usd"),
        "proposals": plan.search.proposals,
    }
    listed = list(others)
    rows = [own, *(baseline_to_mapping(other, outcome.iteration_time_s) for other in listed)]
    kept = [{key: value for key, value in row.items() if key not in _SPLITS} for row in rows]
    return [{**row, **more} for row, more in zip(kept, _configurations(plan, listed), strict=True)]


_SPLITS = ("strategy", "layout", "layout_times_s")
"""How the model is split, in numbers that only a plan file explains."""


def _configurations(plan: "Plan", others: "list[Baseline]") -> list[dict[str, Any]]:
    """Return the configuration of a transformer on each fabric, and the times of all; nothing for other jobs."""
    if plan.job.training is None:
        return [{} for _ in (plan, *others)]
    names = [layout.name for layout in plan.job.training.layouts]
    tried = [(plan.strategy.layout, plan.search.seed_times_s)]
    tried += [(other.strategy.layout, other.layout_times_s) for other in others]
    return [
        {"configuration": names[layout], "configuration_times_s": dict(zip(names, times_s, strict=False))}
        for layout, times_s in tried
    ]


def print_fabrics(console: "Console", rows: list[dict[str, Any]]) -> None:
    """Print the rows of :func:`fabric_rows`; of a transformer the last column is its configuration."""
    from topoopt.cli.render import print_table
    from topoopt.units import format_bandwidth, format_time

    numbers = ("a server", "iteration", "×", "exposed", "price")
    configured = any("configuration" in row for row in rows)
    print_table(
        console,
        ("fabric", *numbers, "configuration" if configured else "what it is"),
        [
            (
                row["fabric"],
                format_bandwidth(row["server_bandwidth_bps"]),
                format_time(row["iteration_time_s"]),
                f"{row['relative_time']:.2f}",
                format_time(row["exposed_communication_s"]),
                usd(row["cost_usd"]),
                row["configuration"] if configured else row["description"],
            )
            for row in rows
        ],
        numbers=numbers,
    )


def print_skipped(console: "Console", skipped: "Iterable[tuple[str, str]]") -> None:
    """Say which fabrics are not in the table, and why."""
    for fabric, reason in skipped:
        console.print(
            f"  without {fabric}: {reason.removeprefix(f'{fabric}: ')}", highlight=False, markup=False
        )


def print_other_simulators(console: "Console", rows: list[dict[str, Any]], simulator: str) -> None:
    """Say which rows were simulated otherwise: circuits that change are beyond the analytic simulator."""
    others = [row["fabric"] for row in rows if row["simulator"] != simulator]
    if others:
        console.print(f"  by the flow simulator: {', '.join(others)}", highlight=False, markup=False)


def usd(price: float | None) -> str:
    """Return ``$1.23 M``, ``$83 k`` or a dash where there is no price."""
    if price is None:
        return "–"
    for unit, scale in (("M", 1e6), ("k", 1e3)):
        if price >= scale:
            return f"${price / scale:.3g} {unit}"
    return f"${price:.0f}"
