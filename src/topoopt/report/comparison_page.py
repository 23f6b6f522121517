"""A comparison of fabrics as a page."""

from topoopt.report.chart import BarChart, Series
from topoopt.report.comparison import Comparison
from topoopt.report.fabrics import (
    FabricRow,
    cost_against_time,
    fabric_table,
    figure_table,
    pareto_front,
    time_by_fabric,
)
from topoopt.report.page import Block, Facts, Page, Section, Tile
from topoopt.report.words import usd
from topoopt.units import format_bandwidth, format_time


def comparison_page(comparison: Comparison) -> Page:
    """Return everything that there is to say about one job on several fabrics."""
    rows = comparison.fabrics
    cluster = f"{comparison.degree} × {format_bandwidth(comparison.bandwidth_bps)}"
    return Page(
        "comparison",
        f"{comparison.model} on {comparison.servers} servers with {cluster}",
        headline(rows),
        _tiles(rows),
        tuple(
            f"Without {fabric}: {reason.removeprefix(f'{fabric}: ')}" for fabric, reason in comparison.skipped
        ),
        (
            _times(rows),
            _network(rows),
            *([_fidelities(comparison)] if any(comparison.iteration_times_s) else []),
            Section(
                "trust",
                "What this rests on",
                "Inputs, options and versions: with these the same comparison is made again.",
                (Facts("Made with", tuple(comparison.settings.items())),),
            ),
        ),
        {
            "iteration_time_s": rows[0].iteration_time_s,
            "compute_time_s": rows[0].compute_time_s,
            "exposed_communication_s": rows[0].exposed_communication_s,
            "cost_usd": rows[0].cost_usd,
            "bandwidth_tax": rows[0].bandwidth_tax,
            "link_bytes_max": rows[0].link_bytes_max,
        },
    )


def headline(rows: tuple[FabricRow, ...]) -> str:
    """Return the answer: where the plan stands in time and in price."""
    own, others = rows[0], rows[1:]
    said = [
        f"On {own.name} an iteration takes {format_time(own.iteration_time_s)}"
        + (f" and the network costs {usd(own.cost_usd)}." if own.cost_usd is not None else ".")
    ]
    if others:
        fastest = min(others, key=lambda row: row.iteration_time_s)
        slower = sum(row.iteration_time_s > own.iteration_time_s for row in others)
        ratio = fastest.iteration_time_s / own.iteration_time_s
        said.append(
            f"{slower} of the {len(others)} other fabrics are slower; the fastest of them, {fastest.name}, takes "
            f"{format_time(fastest.iteration_time_s)}, {ratio:.2f} × as long"
            + (f", for {usd(fastest.cost_usd)}." if fastest.cost_usd is not None else ".")
        )
    return " ".join(said)


def _tiles(rows: tuple[FabricRow, ...]) -> tuple[Tile, ...]:
    own = rows[0]
    found = [
        Tile("Iteration time", format_time(own.iteration_time_s), own.name),
        Tile(
            "Exposed communication",
            format_time(own.exposed_communication_s),
            f"{own.exposed_communication_s / own.iteration_time_s:.0%} of the iteration",
        ),
    ]
    if own.cost_usd is not None:
        found.append(Tile("Price of the network", usd(own.cost_usd), "of the first fabric"))
    for name in ("ideal-switch", "fat-tree"):
        alike = [row for row in rows[1:] if row.fabric == name]
        if alike:
            best = min(alike, key=lambda row: row.iteration_time_s)
            ratio = best.iteration_time_s / own.iteration_time_s
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


def _times(rows: tuple[FabricRow, ...]) -> Section:
    blocks: list[Block] = [time_by_fabric(rows)]
    if pareto_front(rows):
        blocks.append(cost_against_time(rows))
    return Section(
        "fabrics",
        "Time and price",
        "The same job on each network, with a strategy searched for each; lower and further left is better.",
        (*blocks, fabric_table(rows), figure_table(rows)),
    )


def _network(rows: tuple[FabricRow, ...]) -> Section:
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
                (Series("busiest link", names, tuple(row.link_bytes_max / 1e6 for row in rows)),),
                horizontal=True,
                note="A link into a switch may be as fast as all ports of a server together, one between servers is a "
                "port: more bytes need not be more time.",
            ),
            BarChart(
                "bandwidth_tax",
                "Bandwidth tax",
                "",
                "bytes on links / bytes demanded",
                (Series("bandwidth tax", names, tuple(row.bandwidth_tax for row in rows)),),
                horizontal=True,
            ),
        ),
    )


def _fidelities(comparison: Comparison) -> Section:
    names = tuple(row.name for row in comparison.fabrics)
    simulators = tuple(dict.fromkeys(name for times in comparison.iteration_times_s for name in times))
    nan = float("nan")
    return Section(
        "fidelities",
        "The same at several fidelities",
        "Iteration times by simulator; where they agree, the cheaper one is enough.",
        (
            BarChart(
                "fidelities",
                "Iteration time by simulator",
                "",
                "iteration time (ms)",
                tuple(
                    Series(
                        simulator,
                        names,
                        tuple(times.get(simulator, nan) * 1e3 for times in comparison.iteration_times_s),
                    )
                    for simulator in simulators
                ),
                horizontal=True,
            ),
        ),
    )
