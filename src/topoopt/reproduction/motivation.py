"""Why a topology for each job: what communication costs, what networks cost, and what two naive wirings miss."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from topoopt.cost import Accounting, bill_of_materials, find_prices
from topoopt.job import job_traffic
from topoopt.report import BarChart, LineChart, Series
from topoopt.reproduction.figure import Comparison, Figure, Progress, Row, StudySettings
from topoopt.reproduction.motivation_traffic import (
    ACCELERATORS,
    HEAT_SERVERS,
    ModelTraffic,
    ShareRow,
    heat_charts,
    model_traffic,
    share_chart,
    share_rows,
)
from topoopt.reproduction.motivation_wirings import (
    ONE_RING,
    SERVERS,
    SHORT_PATHS,
    TOPOOPT,
    WiringRow,
    duplex_ring_diameter,
    wiring_rows,
)
from topoopt.reproduction.published_jobs import FLUID, MODEL_TITLES, published_job
from topoopt.search import starting_strategy

TITLE = "Share of communication, network cost at 400 Gb/s, the models' traffic, two naive wirings"
TALK = "the authors' talk"
IN_WORDS = "the paper's argument, in words"

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

COLUMNS = (
    "what",
    "name",
    "servers",
    "accelerators",
    "iteration_time_s",
    "communication_share",
    "cost_usd",
    "allreduce_bytes",
    "allreduce_groups",
    "mp_bytes",
    "diameter",
    "average_hops",
    "allreduce_bandwidth_bps",
    "exchange_time_s",
)


def motivation(settings: StudySettings, on_progress: Progress) -> Figure:
    """Return the pictures that the paper begins with, from our own results."""
    budget = 200 if settings.quick else 4000
    on_progress("motivation: share of communication", 0, 4)
    shares = list(share_rows(tuple(MODEL_TITLES)))
    on_progress("motivation: cost", 1, 4)
    costs = list(_costs())
    on_progress("motivation: traffic", 2, 4)
    found = [model_traffic(model, budget, settings.seed) for model in MODEL_TITLES]
    on_progress("motivation: wirings", 3, 4)
    wirings = list(wiring_rows())
    dlrm = published_job("dlrm", HEAT_SERVERS, 4, 100e9)
    placed = job_traffic(dlrm, starting_strategy(dlrm))
    return Figure(
        "motivation",
        TITLE,
        (*map(_share_row, shares), *costs, *map(_traffic_row, found), *map(_wiring_row, wirings)),
        tuple(_compared(wirings)),
        (share_chart(shares), _cost_chart(costs), _wiring_chart(wirings), *heat_charts(found, placed)),
        _notes(shares, costs, found, budget),
    )


def _row(what: str, name: str, servers: int, **known: object) -> Row:
    return {**dict.fromkeys(COLUMNS), "what": what, "name": name, "servers": servers, **known}


def _share_row(row: ShareRow) -> Row:
    return _row(
        "communication share",
        row.model,
        row.servers,
        accelerators=row.servers * ACCELERATORS,
        iteration_time_s=row.iteration_time_s,
        communication_share=row.communication_share,
    )


def _traffic_row(row: ModelTraffic) -> Row:
    return _row(
        "traffic",
        row.model,
        row.traffic.servers,
        accelerators=row.traffic.servers * ACCELERATORS,
        iteration_time_s=row.iteration_time_s,
        allreduce_bytes=row.traffic.allreduce_bytes,
        allreduce_groups=len(row.traffic.allreduce),
        mp_bytes=row.traffic.mp_bytes,
    )


def _wiring_row(row: WiringRow) -> Row:
    return _row(
        "wiring",
        row.wiring,
        SERVERS,
        iteration_time_s=row.iteration_time_s,
        diameter=row.diameter,
        average_hops=row.average_hops,
        allreduce_bandwidth_bps=row.allreduce_bandwidth_bps,
        exchange_time_s=row.exchange_time_s,
    )


def _costs() -> Iterator[Row]:
    prices = find_prices(PRICES)
    size = COST_DEGREE, COST_BANDWIDTH_BPS, prices
    for servers in COST_SERVERS:
        for fabric, name in PRICED.items():
            yield _row("cost", name, servers, cost_usd=bill_of_materials(fabric, servers, *size).cost_usd)
        fewest = replace(Accounting(), tiers=fewest_tiers(servers * COST_DEGREE))
        bill = bill_of_materials("ideal-switch", servers, *size, fewest)
        yield _row("cost", FEWEST_TIERS, servers, cost_usd=bill.cost_usd)


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


def _cost_chart(costs: Sequence[Row]) -> LineChart:
    series = []
    for name in dict.fromkeys(row["name"] for row in costs):
        mine = [row for row in costs if row["name"] == name]
        servers = tuple(float(row["servers"]) for row in mine)
        series.append(Series(name, servers, tuple(row["cost_usd"] / 1e6 for row in mine)))
    return LineChart(
        "motivation-cost",
        f"Network cost, {COST_DEGREE} interfaces of 400 Gb/s a server, list of {PRICES}",
        "servers",
        "million US$",
        tuple(series),
        x_log=True,
        y_log=True,
    )


def _wiring_chart(rows: Sequence[WiringRow]) -> BarChart:
    best = {
        "mean hops": min(row.average_hops for row in rows),
        "AllReduce": 1 / max(row.allreduce_bandwidth_bps for row in rows),
        "exchange": min(row.exchange_time_s for row in rows),
        "iteration": min(row.iteration_time_s for row in rows),
    }
    series = []
    for row in rows:
        ours = row.average_hops, 1 / row.allreduce_bandwidth_bps, row.exchange_time_s, row.iteration_time_s
        relative = tuple(value / least for value, least in zip(ours, best.values(), strict=True))
        series.append(Series(row.wiring, tuple(best), relative))
    return BarChart(
        "motivation-wirings",
        "DLRM on 16 servers of three interfaces: three wirings",
        "",
        "hops or time, × the least of the three",
        tuple(series),
    )


def _compared(wirings: Sequence[WiringRow]) -> Iterator[Comparison]:
    rows = {row.wiring: row for row in wirings}
    ring, short, own = rows[ONE_RING], rows[SHORT_PATHS], rows[TOPOOPT]
    reading = (
        "Read as the mean of one-way links, or as the farthest server when cables go both ways: 8 either way."
    )
    yield Comparison(
        "wiring for large flows, 16 servers, d=3: mean hops, links one way",
        "",
        ring.average_hops,
        8,
        8,
        0.0,
        TALK,
        reading,
    )
    both_ways = duplex_ring_diameter()
    yield Comparison(
        "the same: hops to the farthest server, cables both ways", "", both_ways, 8, 8, 0.0, TALK, reading
    )
    yield Comparison(
        "wiring for short flows: AllReduce bandwidth over the wiring for large flows",
        "",
        short.allreduce_bandwidth_bps / ring.allreduce_bandwidth_bps,
        0.0,
        0.5,
        0.0,
        f"{TALK}: little bandwidth; a half or less is our reading",
    )
    yield Comparison(
        "TopoOpt: AllReduce bandwidth over the wiring for large flows",
        "",
        own.allreduce_bandwidth_bps / ring.allreduce_bandwidth_bps,
        1,
        1,
        0.01,
        f"{IN_WORDS}: rings of any stride carry it at full bandwidth",
    )
    yield Comparison(
        "TopoOpt: mean hops over the wiring for short flows",
        "",
        own.average_hops / short.average_hops,
        1,
        1,
        0.1,
        f"{IN_WORDS}: together the rings have few hops",
    )


def _notes(
    shares: Sequence[ShareRow], costs: Sequence[Row], found: Sequence[ModelTraffic], budget: int
) -> tuple[str, ...]:
    most = max(shares, key=lambda row: row.communication_share)
    ideal, own = (
        next(row for row in costs if row["name"] == PRICED[fabric]) for fabric in ("ideal-switch", "topoopt")
    )
    searched = ", ".join(MODEL_TITLES[row.model] for row in found if row.traffic.mp_bytes)
    return (
        f"{FLUID} Share of communication: data parallel, the jobs of 128 servers on fewer, each accelerator with the "
        f"same batch; a fat-tree of 125 Gb/s a server, d·B/3.2 for d=4 and 100 Gb/s. It is largest for "
        f"{MODEL_TITLES[most.model]} on {most.servers * ACCELERATORS} accelerators, {most.communication_share:.0%}; "
        "ResNet50 hides all of it.",
        f"Cost: list {PRICES}, everything counted, {COST_DEGREE} interfaces of 400 Gb/s. At three tiers the ideal "
        f"switch costs {ideal['cost_usd'] / own['cost_usd']:.1f} times TopoOpt on patch panels at every size: all is "
        f"bought by the interface; with as few tiers as switches of {SWITCH_PORTS} ports need, small ones are cheaper.",
        f"Traffic: 16 servers, 4 interfaces of 25 Gb/s, strategies of our own search within {budget} proposals; "
        f"{searched} move more than gradients. AllReduce is drawn on one ring in order of server numbers.",
        "Wirings: one-way links of 100 Gb/s, DLRM of 16 servers, data parallel. The wiring for short paths is the "
        "generalized Kautz graph (Imase and Itoh, 1983), on which an AllReduce goes round in order of servers, as "
        "a library that knows nothing of the wiring would have it. TopoOpt's strides are 1, 3 and 7.",
    )
