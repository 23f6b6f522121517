"""One point of figure 11: a model on 128 servers of one degree and bandwidth, on every fabric."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace

from topoopt.cost import equivalent_fat_tree, find_prices, published_equivalent_bandwidth
from topoopt.finder import FabricRequest, build_fabric
from topoopt.hardware import ClusterSpec
from topoopt.job import Job, job_traffic
from topoopt.plan import Outcome, Plan
from topoopt.reproduction.figure import Row
from topoopt.reproduction.published_jobs import BULK, published_job, released_fabric, search_options
from topoopt.routing import Fabric
from topoopt.search import (
    Fidelity,
    SearchOptions,
    compare,
    make_plan,
    outcome,
    simulated,
    starting_strategy,
)
from topoopt.simulate import SimResult

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


@dataclass(frozen=True, slots=True)
class FabricTime:
    """One iteration of a point's job on one fabric."""

    model: str
    servers: int
    degree: int
    bandwidth_bps: float
    fabric: str
    strategy: str
    server_bandwidth_bps: float
    iteration_time_s: float
    compute_time_s: float
    bandwidth_tax: float

    @property
    def key(self) -> tuple[str, int, float, str, str]:
        """What no two rows share."""
        return self.model, self.degree, self.bandwidth_bps, self.fabric, self.strategy

    def row(self, topoopt_s: float) -> Row:
        """Return the row of the figure's file, with the slowdown against TopoOpt with an equal strategy."""
        return {**asdict(self), "times_topoopt": self.iteration_time_s / topoopt_s}


def data_parallel_times(point: Point, seed: int, *, circuits: bool) -> list[FabricTime]:
    """Return data parallelism with tables placed in turn, on every fabric; on changing circuits if asked for."""
    job = _job(point)
    strategy = starting_strategy(job)
    traffic = job_traffic(job, strategy)
    found = [_simulated(point, TOPOOPT, job, released_fabric(job, traffic, seed))]
    groups = [group.members for group in traffic.allreduce]
    for name, wiring, server_bandwidth_bps in _fabrics(job.cluster, circuits=circuits):
        fabric = build_fabric(
            wiring,
            FabricRequest(
                point.servers,
                point.degree,
                point.bandwidth_bps,
                groups,
                server_bandwidth_bps=server_bandwidth_bps,
                seed=seed,
            ),
        )
        found.append(_simulated(point, name, job, fabric, server_bandwidth_bps))
    return found


def _fabrics(cluster: ClusterSpec, *, circuits: bool) -> Iterator[tuple[str, str, float]]:
    """Yield name, wiring and bandwidth of a server of each fabric that TopoOpt is compared with."""
    whole_bps = cluster.server_bandwidth_bps
    size = cluster.degree, cluster.link_bandwidth_bps
    yield IDEAL, IDEAL, whole_bps
    yield TREE, TREE, published_equivalent_bandwidth(*size)
    tree = equivalent_fat_tree(cluster.servers, *size, find_prices("2022"))
    yield PRICED_TREE, TREE, tree.server_bandwidth_bps
    yield "oversub-fat-tree", "oversub-fat-tree", whole_bps
    yield "expander", "expander", whole_bps
    for name in CIRCUITS if circuits else ():
        yield name, name, whole_bps


def _simulated(
    point: Point, name: str, job: Job, fabric: Fabric, server_bandwidth_bps: float | None = None
) -> FabricTime:
    result = simulated(job, starting_strategy(job), fabric, "flow", BULK)
    whole_bps = server_bandwidth_bps or job.cluster.server_bandwidth_bps
    return _time(point, name, DATA_PARALLEL, whole_bps, outcome(result))


def searched_times(
    point: Point, preset: str, budget: int, baseline_budget: int, seed: int
) -> list[FabricTime]:
    """Return what a search finds for TopoOpt and for each packet-switched fabric."""
    return _compared(point, preset, search_options(preset, budget, baseline_budget, seed))


def _compared(point: Point, strategy: str, options: SearchOptions) -> list[FabricTime]:
    job = _job(point)
    plan, own = _fastest_plan(job, options)
    found = [_time(point, TOPOOPT, strategy, job.cluster.server_bandwidth_bps, outcome(own))]
    starts = tuple(dict.fromkeys((starting_strategy(job), plan.strategy)))
    rows = compare(
        job, options, PACKET_SWITCHED, find_prices("2022"), starts, fidelity=Fidelity("flow", BULK)
    )
    for row in rows:
        name = PRICED_TREE if row.rule == "fat-tree-priced" else row.fabric
        found.append(_time(point, name, strategy, row.server_bandwidth_bps, row.outcome))
    return found


def _fastest_plan(job: Job, options: SearchOptions) -> tuple[Plan, SimResult]:
    """Return the searched plan or the unsearched one, whichever is faster in the simulation that counts."""
    plans = [make_plan(job, row, fabrics=()) for row in dict.fromkeys((replace(options, budget=0), options))]
    rows = [(plan, simulated(job, plan.strategy, plan.fabric, "flow", BULK)) for plan in plans]
    return min(rows, key=lambda row: row[1].iteration_time_s)


def _job(point: Point) -> Job:
    return published_job(point.model, point.servers, point.degree, point.bandwidth_bps)


def _time(
    point: Point, fabric: str, strategy: str, server_bandwidth_bps: float, found: Outcome
) -> FabricTime:
    return FabricTime(
        point.model,
        point.servers,
        point.degree,
        point.bandwidth_bps,
        fabric,
        strategy,
        server_bandwidth_bps,
        found.iteration_time_s,
        found.compute_time_s,
        found.bandwidth_tax,
    )
