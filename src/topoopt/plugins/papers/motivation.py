"""Why a topology for each job: what communication costs, what networks cost, and what two naive wirings miss."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from topoopt.jobs import job_traffic
from topoopt.pages import Series
from topoopt.plugins.papers.description import description
from topoopt.plugins.papers.figure import Comparison, Figure, Progress, Row, StudySettings
from topoopt.plugins.papers.motivation_traffic import (
    ACCELERATORS,
    HEAT_SERVERS,
    ModelTraffic,
    heat_charts,
    model_traffic,
    share_rows,
)
from topoopt.plugins.papers.motivation_wirings import (
    ONE_RING,
    SHORT_PATHS,
    TOPOOPT,
    duplex_ring_diameter,
    wiring_rows,
)
from topoopt.plugins.papers.published_jobs import FLUID, MODEL_TITLES, published_job
from topoopt.pricing import PAPER, bill_of_materials, find_prices
from topoopt.search import starting_strategy

TEXT = description("motivation")
COST_SERVERS = (128, 256, 512, 1024, 2048, 4096)
COST_DEGREE, COST_BANDWIDTH_BPS, PRICES = 4, 400e9, "2025"
SWITCH_PORTS = 64
"""Ports of 400 Gb/s of one switch of today."""
FEWEST_TIERS = "ideal switch, fewest tiers"
PRICED = {
    "ideal-switch": "ideal switch (full bisection)",
    "oversub-fat-tree": "fat-tree, 2:1",
    "topoopt-ocs": "TopoOpt, OCS",
    "topoopt": "TopoOpt, patch panels",
}


def motivation(settings: StudySettings, on_progress: Progress) -> Figure:
    """Return the pictures that the paper begins with, from our own results."""
    budget = 200 if settings.quick else 4000
    on_progress("motivation: share of communication", 0, 4)
    shares = list(share_rows(tuple(MODEL_TITLES)))
    on_progress("motivation: cost", 1, 4)
    costs = list(_costs())
    on_progress("motivation: traffic", 2, 4)
    traffic = [model_traffic(model, budget, settings.seed) for model in MODEL_TITLES]
    on_progress("motivation: wirings", 3, 4)
    wirings = {row["name"]: row for row in wiring_rows()}
    dlrm = published_job("dlrm", HEAT_SERVERS, 4, 100e9)
    placed = job_traffic(dlrm, starting_strategy(dlrm))
    most = max(shares, key=lambda row: row["communication_share"])
    usd = {row["name"]: row["cost_usd"] for row in reversed(costs)}
    cost_words = {"degree": COST_DEGREE, "prices": PRICES}
    return TEXT.figure(
        [*shares, *costs, *map(_traffic_row, traffic), *wirings.values()],
        _compared(wirings[ONE_RING], wirings[SHORT_PATHS], wirings[TOPOOPT]),
        [
            TEXT.chart("share", shares),
            TEXT.chart("cost", costs, **cost_words),
            TEXT.chart("wirings", (), *_relative(list(wirings.values()))),
            *heat_charts(traffic, placed),
        ],
        fluid=FLUID,
        most=most,
        most_model=MODEL_TITLES[most["name"]],
        **cost_words,
        ports=SWITCH_PORTS,
        ideal_over_own=usd[PRICED["ideal-switch"]] / usd[PRICED["topoopt"]],
        budget=budget,
        searched=", ".join(MODEL_TITLES[row.model] for row in traffic if row.traffic.mp_bytes),
    )


def _traffic_row(row: ModelTraffic) -> Row:
    return {
        "what": "traffic",
        "name": row.model,
        "servers": row.traffic.servers,
        "accelerators": row.traffic.servers * ACCELERATORS,
        "iteration_time_s": row.iteration_time_s,
        "allreduce_bytes": row.traffic.allreduce_bytes,
        "allreduce_groups": len(row.traffic.allreduce),
        "mp_bytes": row.traffic.mp_bytes,
    }


def _costs() -> Iterator[Row]:
    prices = find_prices(PRICES)
    size = COST_DEGREE, COST_BANDWIDTH_BPS, prices
    for servers in COST_SERVERS:
        bills = {name: bill_of_materials(fabric, servers, *size, PAPER) for fabric, name in PRICED.items()}
        fewest = replace(PAPER, tiers=fewest_tiers(servers * COST_DEGREE))
        bills[FEWEST_TIERS] = bill_of_materials("ideal-switch", servers, *size, fewest)
        for name, bill in bills.items():
            yield {"what": "cost", "name": name, "servers": servers, "cost_usd": bill.cost_usd}


def fewest_tiers(interfaces: int) -> int:
    """Return how many layers of switches a full-bisection fat-tree needs for so many interfaces.

    Examples
    --------
    >>> fewest_tiers(64), fewest_tiers(2048), fewest_tiers(2049)
    (1, 2, 3)
    """
    if interfaces <= SWITCH_PORTS:
        return 1
    return 2 if interfaces <= SWITCH_PORTS**2 // 2 else 3


def _relative(rows: Sequence[Row]) -> Iterator[Series]:
    """Yield each wiring's hops and times over the least of all."""
    figures = {
        "mean hops": [row["average_hops"] for row in rows],
        "AllReduce": [1 / row["allreduce_bandwidth_bps"] for row in rows],
        "exchange": [row["exchange_time_s"] for row in rows],
        "iteration": [row["iteration_time_s"] for row in rows],
    }
    for index, row in enumerate(rows):
        relative = tuple(values[index] / min(values) for values in figures.values())
        yield Series(row["name"], tuple(figures), relative)


def _compared(ring: Row, short: Row, own: Row) -> Iterator[Comparison]:
    bandwidth_bps = ring["allreduce_bandwidth_bps"]
    for name, ours in (
        ("hops", ring["average_hops"]),
        ("hops-both-ways", duplex_ring_diameter()),
        ("short-bandwidth", short["allreduce_bandwidth_bps"] / bandwidth_bps),
        ("own-bandwidth", own["allreduce_bandwidth_bps"] / bandwidth_bps),
        ("own-hops", own["average_hops"] / short["average_hops"]),
    ):
        yield TEXT.comparison(name, ours)
