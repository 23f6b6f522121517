"""Motivation for a topology per job: cost of communication, cost of networks, and losses of two naive wirings."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from topoopt.base.answers import Progress, fields_of
from topoopt.catalog import DEFAULT_LATENCY_S, ClusterSpec
from topoopt.finder import FabricRequest, FinderRules, build_fabric, find_topology
from topoopt.jobs import job_traffic, make_job, traffic_job
from topoopt.pages import HeatmapChart, Series
from topoopt.plugins.papers.figure import Comparison, Figure, Row, StudySettings, description
from topoopt.plugins.papers.published_jobs import (
    BULK,
    COUNTED,
    FLUID,
    MODEL_TITLES,
    published_job,
    search_options,
)
from topoopt.pricing import PAPER, bill_of_materials, find_prices
from topoopt.routing import Fabric, make_routes
from topoopt.search import make_plan, simulated, starting_strategy, task_graph_of
from topoopt.simulation import COLLECTIVE, TaskRows, simulate, task_graph_from_edges
from topoopt.topologies import Ring, Topology, hop_metrics, topology_from_arrays
from topoopt.workloads import AllReduceGroup, ParallelStrategy, Traffic, bus_bandwidth_factor, load_model

TRAFFIC_DEGREE, TRAFFIC_BANDWIDTH_BPS = 4, 100e9
TRAFFIC_SERVERS = (2, 4, 8, 16, 32, 64, 128)
ACCELERATORS = 4
HEAT_SERVERS, HEAT_BANDWIDTH_BPS = 16, 25e9
"""Size of the heat maps; at 25 Gb/s per interface the search splits more than tables."""
STRIDES = (1, 3, 7)
"""Strides of the paper's example with 16 servers and three rings."""
MB = 1e6


@dataclass(frozen=True, eq=False)
class ModelTraffic:
    """Traffic of a model under the strategy that a search found."""

    model: str
    traffic: Traffic
    iteration_time_s: float


SERVERS, DEGREE, BANDWIDTH_BPS = 16, 3, 100e9
EVERYONE = tuple(range(SERVERS))
ONE_RING, SHORT_PATHS, TOPOOPT = "one ring of parallel links", "short paths", "TopoOpt, three rings"
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
    """Return the tiers of switches that a full-bisection fat-tree needs for this many interfaces.

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


def wiring_rows() -> Iterator[Row]:
    """Yield the three wirings, every one with one-way links, as in the paper's figures.

    The bandwidth of the AllReduce is the bytes that a server has to send, 2(n-1)/n·M, over the time of the whole;
    in the time of the exchange all of the tables' transfers go at once, and nothing else.
    """
    cluster = ClusterSpec(SERVERS, DEGREE, BANDWIDTH_BPS, links="directed")
    job = make_job(load_model("dlrm", servers=SERVERS), cluster, COUNTED)
    traffic = job_traffic(job, starting_strategy(job))
    server = np.repeat(np.arange(SERVERS), DEGREE)
    topology = _topology("ring", server, (server + 1) % SERVERS)
    rings = {EVERYONE: (Ring(1, EVERYONE, EVERYONE),)}
    one_ring = Fabric("ring", topology, make_routes("single-shortest", topology), rings)
    three_rings = find_topology(
        traffic,
        degree=DEGREE,
        bandwidth_bps=BANDWIDTH_BPS,
        links="directed",
        rules=FinderRules("all-to-allreduce", "nearest"),
    )
    for name, fabric in ((ONE_RING, one_ring), (SHORT_PATHS, _short_paths()), (TOPOOPT, three_rings)):
        hops = hop_metrics(fabric.topology)
        exchange = traffic_job(name, Traffic(SERVERS, transfers=traffic.transfers), job.cluster)
        nothing = ParallelStrategy(SERVERS, ())
        graph = task_graph_of(job, starting_strategy(job))
        yield {
            "what": "wiring",
            "name": name,
            "servers": SERVERS,
            "iteration_time_s": simulate("flow", graph, fabric, BULK).iteration_time_s,
            **fields_of(hops, "diameter", "average_hops"),
            "allreduce_bandwidth_bps": _allreduce_bandwidth_bps(fabric, traffic.allreduce_bytes),
            "exchange_time_s": simulated(exchange, nothing, fabric, "flow", BULK).iteration_time_s,
        }


def duplex_ring_diameter() -> int:
    """Return the diameter of a ring whose cables can be used in both directions, however many are parallel."""
    server = np.arange(SERVERS)
    after = (server + 1) % SERVERS
    return hop_metrics(
        _topology("ring", np.concatenate([server, after]), np.concatenate([after, server]))
    ).diameter


def _short_paths() -> Fabric:
    """Return the generalized Kautz graph: i to -(3i + 1), -(3i + 2) and -(3i + 3), in few hops to everybody.

    It keeps no ring; an AllReduce is a ring in order of server numbers, each step along shortest paths.

    References
    ----------
    .. [1] M. Imase and M. Itoh, "A design for directed graphs with minimum diameter", IEEE ToC 1983.
    """
    server = np.repeat(np.arange(SERVERS), DEGREE)
    step = np.tile(np.arange(1, DEGREE + 1), SERVERS)
    other = -(DEGREE * server + step) % SERVERS
    apart = server != other
    topology = _topology("kautz", server[apart], other[apart])
    return Fabric("kautz", topology, make_routes("ecmp", topology), {})


def _topology(family: str, src: np.ndarray, dst: np.ndarray) -> Topology:
    bandwidth_bps, latency_s = np.full(len(src), BANDWIDTH_BPS), np.full(len(src), DEFAULT_LATENCY_S)
    return topology_from_arrays(family, SERVERS, src, dst, bandwidth_bps, latency_s)


def _allreduce_bandwidth_bps(fabric: Fabric, size_bytes: int) -> float:
    rows = TaskRows(COLLECTIVE, 1, size_bytes=np.array([size_bytes]), collective=0, members=(EVERYONE,))
    nothing = np.zeros(0, np.int64)
    graph = task_graph_from_edges(SERVERS, [rows], nothing, nothing)
    time_s = simulate("flow", graph, fabric, BULK).iteration_time_s
    return bus_bandwidth_factor("allreduce", SERVERS) * size_bytes * 8 / time_s


def share_rows(models: Sequence[str], servers: Sequence[int] = TRAFFIC_SERVERS) -> Iterator[Row]:
    """Yield the share of an iteration that computation does not hide, on a fat-tree of d·B/3.2 a server.

    The models are those of the jobs of 128 servers, and every accelerator's batch stays the same.
    """
    for model in models:
        for count in servers:
            cluster = ClusterSpec(
                count, TRAFFIC_DEGREE, TRAFFIC_BANDWIDTH_BPS, accelerators_per_server=ACCELERATORS
            )
            job = make_job(load_model(f"{model}-128"), cluster, COUNTED)
            strategy = starting_strategy(job)
            groups = [group.members for group in job_traffic(job, strategy).allreduce]
            fabric = build_fabric(
                "fat-tree", FabricRequest(count, TRAFFIC_DEGREE, TRAFFIC_BANDWIDTH_BPS, groups)
            )
            result = simulated(job, strategy, fabric, "flow", BULK)
            yield {
                "what": "communication share",
                "name": model,
                "servers": count,
                "accelerators": count * ACCELERATORS,
                "iteration_time_s": result.iteration_time_s,
                "communication_share": result.exposed_communication_s / result.iteration_time_s,
            }


@cache
def model_traffic(model: str, budget: int, seed: int) -> ModelTraffic:
    """Return the traffic of a model between 16 servers, by our own search."""
    job = published_job(model, HEAT_SERVERS, TRAFFIC_DEGREE, HEAT_BANDWIDTH_BPS)
    plan = make_plan(job, search_options("default", budget, 0, seed), fabrics=())
    return ModelTraffic(model, plan.traffic(), plan.iteration_time_s)


def ring_matrix(
    servers: int, groups: Sequence[AllReduceGroup], strides: Sequence[int] = (1,)
) -> NDArray[np.float64]:
    """Return the bytes of each ordered pair when every group has rings of these strides.

    Each stride takes an equal part of the bytes; strides that do not visit every member are left out.

    Examples
    --------
    >>> ring_matrix(4, [AllReduceGroup((0, 1, 3), 300)])[0].tolist()
    [0.0, 400.0, 0.0, 0.0]
    """
    matrix = np.zeros((servers, servers))
    for group in groups:
        size = len(group.members)
        usable = [stride for stride in strides if np.gcd(stride, size) == 1]
        members = np.asarray(group.members)
        for stride in usable:
            matrix[members, np.roll(members, -stride)] += group.wire_bytes / size / len(usable)
    return matrix


def heat_charts(traffic: Sequence[ModelTraffic], placed: Traffic) -> Iterator[HeatmapChart]:
    """Yield DLRM's two kinds of traffic, its AllReduce on other rings, and every model's traffic as searched.

    Parameters
    ----------
    placed : Traffic
        Traffic of DLRM, data parallel with a table on each server.
    """
    n = placed.servers
    yield _heat("dlrm-allreduce", "DLRM, AllReduce on one ring", ring_matrix(n, placed.allreduce))
    words = ", ".join(f"+{stride}" for stride in STRIDES)
    permuted = ring_matrix(n, placed.allreduce, STRIDES)
    yield _heat("dlrm-rings", f"DLRM, the same AllReduce on rings {words}", permuted)
    yield _heat("dlrm-mp", "DLRM, model-parallel traffic", placed.mp_matrix())
    for row in traffic:
        matrix = ring_matrix(n, row.traffic.allreduce) + row.traffic.mp_matrix()
        yield _heat(f"{row.model}-found", f"{MODEL_TITLES[row.model]}, strategy as searched", matrix)


def _heat(name: str, title: str, matrix: NDArray[np.float64]) -> HeatmapChart:
    values = tuple(tuple((row / MB).tolist()) for row in matrix)
    return HeatmapChart(
        f"motivation-{name}",
        f"{title}, {len(matrix)} servers",
        "to server",
        "from server",
        "MB an iteration",
        values,
        value_log=True,
    )
