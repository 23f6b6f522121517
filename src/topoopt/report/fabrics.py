"""Fabrics beside each other: iteration time, price, and who is beaten in both."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf

from topoopt.plan import Plan
from topoopt.report.chart import BarChart, LineChart, Series
from topoopt.report.page import Notes, Table
from topoopt.report.words import usd
from topoopt.units import format_bandwidth, format_bytes, format_time


@dataclass(frozen=True, slots=True)
class FabricRow:
    """One job on one fabric; the first of several is the plan's own."""

    fabric: str
    description: str
    server_bandwidth_bps: float
    iteration_time_s: float
    compute_time_s: float
    exposed_communication_s: float
    link_bytes_max: float
    bandwidth_tax: float
    cost_usd: float | None
    simulator: str = ""
    configuration: str = ""

    @property
    def name(self) -> str:
        """The fabric with the bandwidth of a server, by which fabrics of one name differ."""
        return f"{self.fabric}, {format_bandwidth(self.server_bandwidth_bps)}"


def fabric_rows(plan: Plan) -> tuple[FabricRow, ...]:
    """Return a plan's own fabric, then its baselines."""
    own, cost = plan.outcome, plan.price.get("cost_usd")
    training = plan.job.training
    names = [""] if training is None else [layout.name for layout in training.layouts]
    rows = [
        (
            plan.fabric.name,
            "this plan",
            plan.job.cluster.server_bandwidth_bps,
            own,
            cost,
            names[plan.strategy.layout],
        ),
        *(
            (
                row.fabric,
                row.description,
                row.server_bandwidth_bps,
                row.outcome,
                row.cost_usd,
                names[row.strategy.layout],
            )
            for row in plan.baselines
        ),
    ]
    return tuple(
        FabricRow(
            fabric,
            description,
            bandwidth_bps,
            one.iteration_time_s,
            one.compute_time_s,
            one.exposed_communication_s,
            one.link_bytes_max,
            one.bandwidth_tax,
            cost_usd,
            one.simulator,
            configuration,
        )
        for fabric, description, bandwidth_bps, one, cost_usd, configuration in rows
    )


def time_by_fabric(rows: Sequence[FabricRow]) -> BarChart:
    """Return computation and exposed communication of each fabric, in milliseconds."""
    names = tuple(row.name for row in rows)
    return BarChart(
        "iteration_time_by_fabric",
        "Iteration time by fabric",
        "",
        "iteration time (ms)",
        (
            Series("computation", names, tuple(row.compute_time_s * 1e3 for row in rows)),
            Series("exposed communication", names, tuple(row.exposed_communication_s * 1e3 for row in rows)),
        ),
        stacked=True,
        horizontal=True,
    )


def pareto_front(rows: Sequence[FabricRow]) -> tuple[FabricRow, ...]:
    """Return the rows than which none is both cheaper and faster, by price; rows without a price are left out."""
    priced = [row for row in rows if row.cost_usd is not None]
    front: list[FabricRow] = []
    best_s = inf
    for row in sorted(priced, key=lambda row: (row.cost_usd, row.iteration_time_s)):
        if row.iteration_time_s < best_s:
            front.append(row)
            best_s = row.iteration_time_s
    return tuple(front)


def cost_against_time(rows: Sequence[FabricRow]) -> LineChart:
    """Return price and iteration time of each fabric, with the Pareto front drawn in steps."""
    front = pareto_front(rows)
    points = tuple(
        Series(
            row.name,
            ((row.cost_usd or 0.0) / 1e3,),
            (row.iteration_time_s * 1e3,),
            joined=False,
            labels=(f"{row.name}: {row.description}",),
        )
        for row in rows
        if row.cost_usd is not None
    )
    line = Series(
        "Pareto front",
        tuple((row.cost_usd or 0.0) / 1e3 for row in front),
        tuple(row.iteration_time_s * 1e3 for row in front),
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


def fabric_table(rows: Sequence[FabricRow]) -> Table:
    """Return time and price of the fabrics; of a transformer the last column is its configuration."""
    first_s, numbers = rows[0].iteration_time_s, ("a server", "iteration", "×", "exposed", "price")
    configured = any(row.configuration for row in rows)
    return Table(
        "Fabrics",
        ("fabric", *numbers, "configuration" if configured else "what it is"),
        tuple(
            (
                row.fabric,
                format_bandwidth(row.server_bandwidth_bps),
                format_time(row.iteration_time_s),
                f"{row.iteration_time_s / first_s:.2f}",
                format_time(row.exposed_communication_s),
                usd(row.cost_usd),
                row.configuration if configured else row.description,
            )
            for row in rows
        ),
        numbers,
    )


def fabric_notes(
    rows: Sequence[FabricRow], skipped: Iterable[tuple[str, str]], simulator: str
) -> tuple[Notes, ...]:
    """Return which fabrics are not in the table and why, and which were simulated otherwise.

    Circuits that change are beyond the analytic simulator.
    """
    lines = [f"without {fabric}: {reason.removeprefix(f'{fabric}: ')}" for fabric, reason in skipped]
    others = [row.fabric for row in rows if row.simulator not in ("", simulator)]
    if others:
        lines.append(f"by the flow simulator: {', '.join(others)}")
    return (Notes(tuple(lines)),) if lines else ()


def figure_table(rows: Sequence[FabricRow]) -> Table:
    """Return all figures of the fabrics; the Pareto front is marked."""
    front = set(pareto_front(rows))
    first_s = rows[0].iteration_time_s
    numbers = ("a server", "iteration", "×", "computation", "exposed", "busiest link", "tax", "price")
    return Table(
        "All figures",
        ("fabric", *numbers, "Pareto", "what it is"),
        tuple(
            (
                row.fabric,
                format_bandwidth(row.server_bandwidth_bps),
                format_time(row.iteration_time_s),
                f"{row.iteration_time_s / first_s:.2f}",
                format_time(row.compute_time_s),
                format_time(row.exposed_communication_s),
                format_bytes(row.link_bytes_max),
                f"{row.bandwidth_tax:.3f}",
                usd(row.cost_usd),
                "front" if row in front else "",
                row.description,
            )
            for row in rows
        ),
        numbers,
        folded=True,
    )
