"""A comparison of fabrics as a page."""

from topoopt.plan import ComparedFabric, Comparison
from topoopt.report.chart import BarChart, Series
from topoopt.report.fabrics import (
    cost_against_time,
    fabric_notes,
    fabric_table,
    figure_table,
    pareto_front,
    time_by_fabric,
)
from topoopt.report.page import Block, Facts, Page, Section, Table, Tile
from topoopt.report.words import usd
from topoopt.units import format_bandwidth, format_time

TASKS = 3
"""Tasks of each fabric that are shown; more are in JSON."""


def comparison_page(comparison: Comparison) -> Page:
    """Return everything that there is to say about one job on several fabrics."""
    rows = comparison.fabrics
    own = rows[0].outcome
    several = [_fidelities(comparison), _tasks(comparison)] if len(comparison.simulators) > 1 else []
    return Page(
        "comparison",
        comparison.model,
        headline(rows),
        _tiles(rows),
        (),
        (_times(comparison), *several, _network(rows), _trust(comparison)),
        {
            "iteration_time_s": own.iteration_time_s,
            "compute_time_s": own.compute_time_s,
            "exposed_communication_s": own.exposed_communication_s,
            "cost_usd": rows[0].cost_usd,
            "bandwidth_tax": own.bandwidth_tax,
            "link_bytes_max": own.link_bytes_max,
        },
        remark=f"on {comparison.servers} servers, simulator {comparison.simulators[0]}",
    )


def headline(rows: tuple[ComparedFabric, ...]) -> str:
    """Return the answer: where the plan stands in time and in price."""
    own, others = rows[0], rows[1:]
    said = [
        f"On {own.name} an iteration takes {format_time(own.outcome.iteration_time_s)}"
        + (f" and the network costs {usd(own.cost_usd)}." if own.cost_usd is not None else ".")
    ]
    if others:
        fastest = min(others, key=lambda row: row.outcome.iteration_time_s)
        slower = sum(row.outcome.iteration_time_s > own.outcome.iteration_time_s for row in others)
        ratio = fastest.outcome.iteration_time_s / own.outcome.iteration_time_s
        said.append(
            f"{slower} of the {len(others)} other fabrics are slower; the fastest of them, {fastest.name}, takes "
            f"{format_time(fastest.outcome.iteration_time_s)}, {ratio:.2f} × as long"
            + (f", for {usd(fastest.cost_usd)}." if fastest.cost_usd is not None else ".")
        )
    return " ".join(said)


def _tiles(rows: tuple[ComparedFabric, ...]) -> tuple[Tile, ...]:
    own = rows[0]
    found = [
        Tile("Iteration time", format_time(own.outcome.iteration_time_s), own.name),
        Tile(
            "Exposed communication",
            format_time(own.outcome.exposed_communication_s),
            f"{own.outcome.exposed_communication_s / own.outcome.iteration_time_s:.0%} of the iteration",
        ),
    ]
    if own.cost_usd is not None:
        found.append(Tile("Price of the network", usd(own.cost_usd), "of the first fabric"))
    for name in ("ideal-switch", "fat-tree"):
        alike = [row for row in rows[1:] if row.fabric == name]
        if alike:
            best = min(alike, key=lambda row: row.outcome.iteration_time_s)
            ratio = best.outcome.iteration_time_s / own.outcome.iteration_time_s
            found.append(
                Tile(
                    f"{name} takes",
                    f"{ratio:.2f} ×",
                    f"as long, with {format_bandwidth(best.server_bandwidth_bps)} a server",
                )
            )
    front = pareto_front(rows)
    if front:
        found.append(
            Tile("Pareto front", f"{len(front)} of {len(rows)}", "fabrics beaten by none in price and time")
        )
    return tuple(found)


def _times(comparison: Comparison) -> Section:
    rows = comparison.fabrics
    charts: list[Block] = [time_by_fabric(rows)]
    if pareto_front(rows):
        charts.append(cost_against_time(rows))
    notes = fabric_notes(rows, comparison.skipped, comparison.simulators[0])
    return Section(
        "fabrics",
        "Time and price",
        "The same job on each network, with a strategy searched for each; lower and further left is better.",
        (fabric_table(rows), *notes, *charts, figure_table(rows)),
    )


def _network(rows: tuple[ComparedFabric, ...]) -> Section:
    names = tuple(row.name for row in rows)
    return Section(
        "network",
        "What the links carry",
        "The tax is bytes that servers put on links over bytes demanded; switches forward for free.",
        (
            BarChart(
                "busiest_link",
                "Bytes on the busiest link",
                "",
                "bytes (MB)",
                (Series("busiest link", names, tuple(row.outcome.link_bytes_max / 1e6 for row in rows)),),
                horizontal=True,
                note="A link into a switch may be as fast as all ports of a server together, one between servers is a "
                "port: more bytes need not be more time.",
            ),
            BarChart(
                "bandwidth_tax",
                "Bandwidth tax",
                "",
                "bytes on links / bytes demanded",
                (Series("bandwidth tax", names, tuple(row.outcome.bandwidth_tax for row in rows)),),
                horizontal=True,
            ),
        ),
        detail=True,
    )


def _fidelities(comparison: Comparison) -> Section:
    rows, simulators = comparison.fabrics, comparison.simulators
    names = tuple(row.name for row in rows)
    columns = (*simulators, "difference")
    return Section(
        "fidelities",
        "The same at several fidelities",
        "Iteration times by simulator; where they agree, the cheaper one is enough.",
        (
            Table(
                "",
                ("fabric", *columns, "what it is"),
                tuple(
                    (
                        row.fabric,
                        *(format_time(row.iteration_times_s[simulator]) for simulator in simulators),
                        f"{row.difference:+.2%}",
                        row.description,
                    )
                    for row in rows
                ),
                columns,
            ),
            BarChart(
                "fidelities",
                "Iteration time by simulator",
                "",
                "iteration time (ms)",
                tuple(
                    Series(simulator, names, tuple(row.iteration_times_s[simulator] * 1e3 for row in rows))
                    for simulator in simulators
                ),
                horizontal=True,
            ),
        ),
        f"{simulators[-1]} against {simulators[0]}",
    )


def _tasks(comparison: Comparison) -> Section:
    columns = (*comparison.simulators, "difference")
    rows = tuple(
        (row.fabric, *map(format_time, task.times_s.values()), format_time(task.difference_s), task.name)
        for row in comparison.fabrics
        for task in row.tasks[:TASKS]
    )
    return Section(
        "tasks",
        "Tasks that differ most",
        "Each from when it may begin to its last byte.",
        (Table("", ("fabric", *columns, "task"), rows, columns),),
        "from when they may begin to their last byte",
    )


def _trust(comparison: Comparison) -> Section:
    made = comparison.provenance
    rows = [
        ("simulator", ", ".join(comparison.simulators)),
        ("collective", comparison.collective),
        ("prices", comparison.prices),
        ("seed", str(comparison.seed)),
    ]
    if made is not None:
        rows.append(("topoopt", made.version))
        rows += [(f"input {name}", value) for name, value in sorted(made.inputs.items())]
    return Section(
        "trust",
        "What this rests on",
        "Inputs, options and versions: with these the same comparison is made again.",
        (Facts("Made with", tuple(rows)),),
        detail=True,
    )
