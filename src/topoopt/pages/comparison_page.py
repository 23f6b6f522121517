"""Fabrics beside each other: time and price in tables and charts, and the page of a comparison."""

from topoopt.base.answers import fields_of
from topoopt.base.units import format_bandwidth, format_time, time_within
from topoopt.pages.chart import BarChart
from topoopt.pages.cost_tables import owned_rows, ownership_sections, ownership_tiles
from topoopt.pages.fabric_tables import (
    advice,
    cost_against_time,
    fabric_notes,
    fabric_table,
    figure_table,
    outcome_figures,
    time_by_fabric,
    time_tiles,
)
from topoopt.pages.page import Notes, Page, Section, Tile
from topoopt.pages.tables import bars, facts, inputs, number, table, text, trust_section, usd
from topoopt.plans import ComparedFabric, Comparison, front_of_fabrics, recommended

TASKS = 3
"""Tasks of each fabric that are shown; more are in JSON."""


def comparison_page(comparison: Comparison) -> Page:
    """Return the page of one job on several fabrics."""
    rows = comparison.fabrics
    own = rows[0].outcome
    several = [_fidelities(comparison), _tasks(comparison)] if len(comparison.simulators) > 1 else []
    busiest = bars(rows, "name", {"busiest link": "outcome.link_bytes_max"}, 1e6)
    tax = bars(rows, "name", {"bandwidth tax": "outcome.bandwidth_tax"})
    network = Section(
        "network",
        "What the links carry",
        "The tax is bytes that servers put on links over bytes demanded; switches forward for free.",
        (
            BarChart(
                "busiest_link",
                "Bytes on the busiest link",
                "",
                "bytes (MB)",
                busiest,
                horizontal=True,
                note="A link into a switch may be as fast as all ports of a server together, one between servers is a "
                "port: more bytes need not be more time.",
            ),
            BarChart(
                "bandwidth_tax", "Bandwidth tax", "", "bytes on links / bytes demanded", tax, horizontal=True
            ),
        ),
        detail=True,
    )
    made = comparison.provenance
    entries = {
        "simulator": ", ".join(comparison.simulators),
        **fields_of(comparison, "collective", "prices"),
        "seed": str(comparison.seed),
    }
    if made is not None:
        entries |= {"topoopt": made.version, **inputs(made)}
    return Page(
        "comparison",
        comparison.model,
        headline(rows, comparison.interval_share),
        _tiles(rows),
        sections=(
            *_advised(rows, comparison.interval_share),
            _times(comparison),
            *ownership_sections(owned_rows(rows), comparison.terms, comparison.servers),
            *several,
            network,
            trust_section("comparison", facts(entries, "Made with")),
        ),
        key_numbers={**outcome_figures(own), "cost_usd": rows[0].cost_usd},
        remark=f"on {comparison.servers} servers, simulator {comparison.simulators[0]}",
        answer_first=True,
    )


def headline(rows: tuple[ComparedFabric, ...], share: float | None = None) -> str:
    """Return the advice; of one network its time and price.

    Parameters
    ----------
    share
        Error of an iteration time that 80 % of measured runs stay within.
    """
    said = advice(rows, share)
    return f"{_own(rows[0], share).capitalize()}." if said is None else said.sentence


def _advised(rows: tuple[ComparedFabric, ...], share: float | None) -> tuple[Section, ...]:
    """Return the reasons of the advice, and the time and price of the first network."""
    said = advice(rows, share)
    if said is None:
        return ()
    own = {} if recommended(rows) is rows[0] else {rows[0].name: _own(rows[0], share)}
    return (Section("advice", "Recommendation", "", (facts({**said.reasons, **own}),)),)


def _own(row: ComparedFabric, share: float | None) -> str:
    price = f" for {usd(row.cost_usd)}" if row.cost_usd is not None else ""
    return f"{time_within(row.outcome.iteration_time_s, share)} per iteration{price}"


def _tiles(rows: tuple[ComparedFabric, ...]) -> tuple[Tile, ...]:
    own = rows[0]
    tiles = [*time_tiles(own.outcome, own.name)]
    if own.cost_usd is not None:
        tiles.append(Tile("Price of the network", usd(own.cost_usd), "of the first fabric"))
    tiles += ownership_tiles(rows)
    for name in ("ideal-switch", "fat-tree"):
        alike = [row for row in rows[1:] if row.fabric == name]
        if alike:
            best = min(alike, key=lambda row: row.outcome.iteration_time_s)
            ratio = best.outcome.iteration_time_s / own.outcome.iteration_time_s
            remark = f"as long, with {format_bandwidth(best.server_bandwidth_bps)} a server"
            tiles.append(Tile(f"{name} takes", f"{ratio:.2f} ×", remark))
    front = front_of_fabrics(rows)
    if front:
        remark = "fabrics beaten by none in price and time"
        tiles.append(Tile("Pareto front", f"{len(front)} of {len(rows)}", remark))
    return tuple(tiles)


def _times(comparison: Comparison) -> Section:
    rows = comparison.fabrics
    priced = (cost_against_time(rows, rows[0].label),) if front_of_fabrics(rows) else ()
    notes = fabric_notes(rows, comparison.skipped, comparison.simulators[0])
    assumed = (f"assumed: {comparison.assumed}",) if comparison.assumed else ()
    notes += (Notes((*assumed, f"prices: list {comparison.prices}")),)
    return Section(
        "fabrics",
        "Time and price",
        "The same job on each network, with a strategy searched for each; lower and further left is better.",
        (fabric_table(rows), *notes, time_by_fabric(rows), *priced, figure_table(rows)),
    )


def _fidelities(comparison: Comparison) -> Section:
    rows, simulators = comparison.fabrics, comparison.simulators
    times = {simulator: f"iteration_times_s.{simulator}" for simulator in simulators}
    beside = table(
        "",
        rows,
        text("fabric"),
        *(number(simulator, source, format_time) for simulator, source in times.items()),
        number("difference", "difference", "+z.2%"),
        text("what it is", "description"),
    )
    title, label = "Iteration time by simulator", "iteration time (ms)"
    chart = BarChart("fidelities", title, "", label, bars(rows, "name", times, 1e-3), horizontal=True)
    return Section(
        "fidelities",
        "The same at several fidelities",
        "Iteration times by simulator; where they agree, the cheaper one is enough.",
        (beside, chart),
        f"{simulators[-1]} against {simulators[0]}",
    )


def _tasks(comparison: Comparison) -> Section:
    tasks = table(
        "",
        [{"fabric": row.fabric, "task": task} for row in comparison.fabrics for task in row.tasks[:TASKS]],
        text("fabric"),
        *(number(simulator, f"task.times_s.{simulator}", format_time) for simulator in comparison.simulators),
        number("difference", "task.difference_s"),
        text("task", "task.name"),
    )
    return Section(
        "tasks",
        "Tasks that differ most",
        "Each from when it may begin to its last byte.",
        (tasks,),
        "from when they may begin to their last byte",
    )
