"""Fabrics beside each other: iteration time, price, and who is beaten in both."""

from collections.abc import Iterable, Sequence
from math import inf

from topoopt.plan import ComparedFabric
from topoopt.report.chart import BarChart, LineChart, Series
from topoopt.report.page import Notes, Table
from topoopt.report.words import usd
from topoopt.units import format_bandwidth, format_bytes, format_time


def time_by_fabric(rows: Sequence[ComparedFabric]) -> BarChart:
    """Return computation and exposed communication of each fabric, in milliseconds."""
    names = tuple(row.name for row in rows)
    return BarChart(
        "iteration_time_by_fabric",
        "Iteration time by fabric",
        "",
        "iteration time (ms)",
        (
            Series("computation", names, tuple(row.outcome.compute_time_s * 1e3 for row in rows)),
            Series(
                "exposed communication",
                names,
                tuple(row.outcome.exposed_communication_s * 1e3 for row in rows),
            ),
        ),
        stacked=True,
        horizontal=True,
    )


def pareto_front(rows: Sequence[ComparedFabric]) -> tuple[ComparedFabric, ...]:
    """Return the rows than which none is both cheaper and faster, by price; rows without a price are left out."""
    priced = [row for row in rows if row.cost_usd is not None]
    front: list[ComparedFabric] = []
    best_s = inf
    for row in sorted(priced, key=lambda row: (row.cost_usd, row.outcome.iteration_time_s)):
        if row.outcome.iteration_time_s < best_s:
            front.append(row)
            best_s = row.outcome.iteration_time_s
    return tuple(front)


def cost_against_time(rows: Sequence[ComparedFabric]) -> LineChart:
    """Return price and iteration time of each fabric, with the Pareto front drawn in steps."""
    front = pareto_front(rows)
    points = tuple(
        Series(
            row.name,
            ((row.cost_usd or 0.0) / 1e3,),
            (row.outcome.iteration_time_s * 1e3,),
            joined=False,
            labels=(f"{row.name}: {row.description}",),
        )
        for row in rows
        if row.cost_usd is not None
    )
    line = Series(
        "Pareto front",
        tuple((row.cost_usd or 0.0) / 1e3 for row in front),
        tuple(row.outcome.iteration_time_s * 1e3 for row in front),
        stepped=True,
        marked=False,
    )
    return LineChart(
        "cost_against_time",
        "Price against iteration time",
        "price of the network ($1,000)",
        "iteration time (ms)",
        (line, *points) if front else points,
        x_from_zero=True,
        y_from_zero=True,
        note="For whatever lies above the front, something on it is no dearer and no slower.",
    )


def fabric_table(rows: Sequence[ComparedFabric]) -> Table:
    """Return time and price of the fabrics; of a transformer the last column is its configuration."""
    first_s, numbers = rows[0].outcome.iteration_time_s, ("a server", "iteration", "×", "exposed", "price")
    configured = any(row.configuration for row in rows)
    return Table(
        "Fabrics",
        ("fabric", *numbers, "configuration" if configured else "what it is"),
        tuple(
            (
                row.fabric,
                format_bandwidth(row.server_bandwidth_bps),
                format_time(row.outcome.iteration_time_s),
                f"{row.outcome.iteration_time_s / first_s:.2f}",
                format_time(row.outcome.exposed_communication_s),
                usd(row.cost_usd),
                row.configuration if configured else row.description,
            )
            for row in rows
        ),
        numbers,
    )


def fabric_notes(
    rows: Sequence[ComparedFabric], skipped: Iterable[tuple[str, str]], simulator: str
) -> tuple[Notes, ...]:
    """Return which fabrics are not in the table and why, and which were simulated otherwise.

    Circuits that change are beyond the analytic simulator.
    """
    notes = skipped_notes(skipped)
    others = [row.fabric for row in rows if row.outcome.simulator not in ("", simulator)]
    if others:
        notes += (Notes((f"by the flow simulator: {', '.join(others)}",)),)
    return notes


def skipped_notes(skipped: Iterable[tuple[str, str]]) -> tuple[Notes, ...]:
    """Return which fabrics are not in a table, and why; nothing where all are."""
    lines = [f"without {fabric}: {reason.removeprefix(f'{fabric}: ')}" for fabric, reason in skipped]
    return (Notes(tuple(lines)),) if lines else ()


def figure_table(rows: Sequence[ComparedFabric]) -> Table:
    """Return all figures of the fabrics; the Pareto front is marked."""
    front = set(pareto_front(rows))
    first_s = rows[0].outcome.iteration_time_s
    numbers = ("a server", "iteration", "×", "computation", "exposed", "busiest link", "tax", "price")
    return Table(
        "All figures",
        ("fabric", *numbers, "Pareto", "what it is"),
        tuple(
            (
                row.fabric,
                format_bandwidth(row.server_bandwidth_bps),
                format_time(row.outcome.iteration_time_s),
                f"{row.outcome.iteration_time_s / first_s:.2f}",
                format_time(row.outcome.compute_time_s),
                format_time(row.outcome.exposed_communication_s),
                format_bytes(row.outcome.link_bytes_max),
                f"{row.outcome.bandwidth_tax:.3f}",
                usd(row.cost_usd),
                "front" if row in front else "",
                row.description,
            )
            for row in rows
        ),
        numbers,
        folded=True,
    )
