"""One point of figure 11: a model on 128 servers of one degree and bandwidth, on every fabric."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace

from topoopt.catalog import ClusterSpec
from topoopt.finder import FabricRequest, build_fabric
from topoopt.jobs import Job, job_traffic
from topoopt.plans import Outcome, Plan
from topoopt.plugins.papers.figure import Row
from topoopt.plugins.papers.published_jobs import BULK, published_job, released_fabric, search_options, times
from topoopt.pricing import PAPER, Pricing, equivalent_fat_tree, find_prices, published_equivalent_bandwidth
from topoopt.search import Fidelity, SearchOptions, compare, make_plan, outcome, simulated, starting_strategy
from topoopt.simulation import SimResult

PRICES = "2022"
TOPOOPT, IDEAL, TREE, PRICED_TREE = "topoopt", "ideal-switch", "fat-tree", "fat-tree at list prices"
PACKET_SWITCHED = ("ideal-switch", "fat-tree", "oversub-fat-tree")
CIRCUITS = ("sip-ml", "ocs-reconfig")

DATA_PARALLEL, RELEASED, WIDE = "data-parallel", "released", "default"
"""Strategies: none searched; found by the authors' search; found by our own, which also splits layers."""


@dataclass(frozen=True, slots=True)
class Point:
    """Where the figure is evaluated."""

    model: str
    servers: int
    degree: int
    bandwidth_bps: float


def data_parallel_rows(point: Point, seed: int, *, circuits: bool) -> Iterator[Row]:
    """Yield data parallelism with tables placed in turn, on every fabric; on changing circuits if asked for."""
    job = _job(point)
    strategy = starting_strategy(job)
    traffic = job_traffic(job, strategy)
    groups = [group.members for group in traffic.allreduce]
    size = point.servers, point.degree, point.bandwidth_bps
    fabrics = [(TOPOOPT, released_fabric(job, traffic, seed), job.cluster.server_bandwidth_bps)]
    for name, wiring, server_bandwidth_bps in _fabrics(job.cluster, circuits=circuits):
        request = FabricRequest(*size, groups, server_bandwidth_bps=server_bandwidth_bps, seed=seed)
        fabrics.append((name, build_fabric(wiring, request), server_bandwidth_bps))
    for name, fabric, server_bandwidth_bps in fabrics:
        result = outcome(simulated(job, strategy, fabric, "flow", BULK))
        yield _row(point, name, DATA_PARALLEL, server_bandwidth_bps, result)


def _fabrics(cluster: ClusterSpec, *, circuits: bool) -> Iterator[tuple[str, str, float]]:
    """Yield name, wiring and bandwidth of a server of each fabric that TopoOpt is compared with."""
    whole_bps = cluster.server_bandwidth_bps
    size = cluster.degree, cluster.link_bandwidth_bps
    yield IDEAL, IDEAL, whole_bps
    yield TREE, TREE, published_equivalent_bandwidth(*size)
    tree = equivalent_fat_tree(cluster.servers, *size, find_prices(PRICES), PAPER)
    yield PRICED_TREE, TREE, tree.server_bandwidth_bps
    yield "oversub-fat-tree", "oversub-fat-tree", whole_bps
    yield "expander", "expander", whole_bps
    for name in CIRCUITS if circuits else ():
        yield name, name, whole_bps


def searched_rows(point: Point, preset: str, budget: int, baseline_budget: int, seed: int) -> Iterator[Row]:
    """Yield what a search finds for TopoOpt and for each packet-switched fabric."""
    options, job = search_options(preset, budget, baseline_budget, seed), _job(point)
    plan, own = _fastest_plan(job, options)
    yield _row(point, TOPOOPT, preset, job.cluster.server_bandwidth_bps, outcome(own))
    starts = tuple(dict.fromkeys((starting_strategy(job), plan.strategy)))
    for row in compare(
        job,
        options,
        PACKET_SWITCHED,
        Pricing(find_prices(PRICES), PAPER),
        starts,
        fidelity=Fidelity("flow", BULK),
    ):
        name = PRICED_TREE if row.rule == "fat-tree-priced" else row.fabric
        yield _row(point, name, preset, row.server_bandwidth_bps, row.outcome)


def _fastest_plan(job: Job, options: SearchOptions) -> tuple[Plan, SimResult]:
    """Return the searched plan or the unsearched one, whichever is faster in the simulation that counts."""
    plans = [make_plan(job, row, fabrics=()) for row in dict.fromkeys((replace(options, budget=0), options))]
    rows = [(plan, simulated(job, plan.strategy, plan.fabric, "flow", BULK)) for plan in plans]
    return min(rows, key=lambda row: row[1].iteration_time_s)


def _job(point: Point) -> Job:
    return published_job(point.model, point.servers, point.degree, point.bandwidth_bps)


def _row(point: Point, fabric: str, strategy: str, server_bandwidth_bps: float, result: Outcome) -> Row:
    """Return one iteration of a point's job on one fabric."""
    return {
        **asdict(point),
        "fabric": fabric,
        "strategy": strategy,
        "server_bandwidth_bps": server_bandwidth_bps,
        **times(result),
    }
