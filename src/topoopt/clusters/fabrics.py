"""The fabrics of a trace: dedicated shards, or links that all jobs share; and jobs that all run at once on them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from topoopt.base.errors import Infeasible, InvalidInput
from topoopt.catalog import (
    NETWORKS,
    NetworkRow,
    Sizing,
    Table,
    check_networks,
    compare,
    compared_by,
)
from topoopt.clusters.cluster_state import MakePlan, dedicated_plan, sharing_plan
from topoopt.clusters.job_shape import JobShape, shape_of
from topoopt.clusters.pace import IterationTimes, JobPlan, Pace, PlacedJob
from topoopt.clusters.result import Distribution
from topoopt.clusters.settings import ClusterSettings, choose_servers
from topoopt.clusters.shards import Switching, ocs_switching, panel_switching
from topoopt.clusters.shared_fabric import shared_fabric, shared_pace
from topoopt.clusters.statistics import distribution
from topoopt.clusters.trace import TraceJob
from topoopt.finder import FabricRequest
from topoopt.pricing import NetworkPrice, Pricing, known_price, pricing_of
from topoopt.simulation import TaskGraph

DEDICATED: Mapping[str, tuple[str, Callable[[ClusterSettings], Switching]]] = {
    "topoopt": ("shards of their own behind patch panels", panel_switching),
    "topoopt-ocs": ("shards of their own behind optical circuit switches", ocs_switching),
}
"""Fabrics on which every job has dedicated links, and their switching."""


@dataclass(frozen=True, eq=False)
class CourseFabric(NetworkRow):
    """Planning and pace of a fabric, as the simulation of a cluster uses it.

    Attributes
    ----------
    pace : Pace
        Returns iteration times of jobs that run side by side.
    switching : tuple of Switching
        One where jobs have their own links, none where they share existing ones.
    rule : str
        Name in ``NETWORKS.sizings()``, empty where jobs have links of their own.
    """

    plan: MakePlan
    pace: Pace
    switching: tuple[Switching, ...]
    rule: str = ""


@dataclass(frozen=True, slots=True)
class FabricSnapshot(NetworkRow):
    """Jobs that run at once on one fabric.

    Attributes
    ----------
    jobs : tuple of TraceJob
    times : tuple of IterationTimes
        Iteration times per job.
    iteration_time_s : Distribution
        Each job counts the same, and so does each simulated iteration of one job.
    rule : str
        Rule by which the fabric is dimensioned, a key of :class:`topoopt.catalog.Sizing`; empty for dedicated links.
    """

    jobs: tuple[TraceJob, ...]
    times: tuple[IterationTimes, ...]
    iteration_time_s: Distribution
    rule: str = ""


def snapshot(
    jobs: Sequence[TraceJob], settings: ClusterSettings, fabrics: tuple[str, ...] | None = None
) -> tuple[FabricSnapshot, ...]:
    """Return iteration times of jobs that all run at once, on each fabric.

    Arrival times and work do not matter. Jobs are placed in the order given; ``generate_trace(GeneratorSettings(
    jobs=27, mix=MIXES["released"]), 432).jobs`` makes them, and a part of these is a lower load. This is one point of
    the paper's figure of the shared cluster.

    Raises
    ------
    Infeasible
        If the cluster has too few servers for all.
    InvalidInput
        For unknown names, or a fabric that cannot be built.

    Examples
    --------
    >>> from topoopt.clusters import ClusterSettings, TraceJob, snapshot
    >>> from topoopt.catalog import ClusterSpec
    >>> settings = ClusterSettings(ClusterSpec(16, 4, 100e9))
    >>> job = TraceJob("a", "vgg16", 16, 0.0, iterations=1)
    >>> round(snapshot([job], settings, ("topoopt",))[0].times[0].mean_s, 3)
    0.101
    """
    snapshots = []
    for name in compared_by("cluster") if fabrics is None else fabrics:
        for fabric in course_fabrics(name, settings):
            placed: list[PlacedJob] = []
            for job, servers in zip(jobs, _servers(jobs, settings), strict=True):
                plan = fabric.plan(shape_of(job, job.servers))
                placed.append(PlacedJob(job.job, plan.graph, servers, spread=bool(job.serving)))
            times = fabric.pace(placed)
            values = [sample_s for row in times for sample_s in row.samples_s]
            weights = [1.0 / len(row.samples_s) for row in times for _ in row.samples_s]
            tail = distribution(values, weights)
            mean_s = sum(row.mean_s for row in times) / len(times)
            snapshots.append(
                FabricSnapshot(
                    fabric.fabric,
                    fabric.description,
                    fabric.server_bandwidth_bps * settings.logical_servers,
                    tuple(jobs),
                    times,
                    Distribution(mean_s, tail.p50, tail.p99, tail.max),
                    fabric.rule,
                )
            )
    return tuple(snapshots)


def _servers(jobs: Sequence[TraceJob], settings: ClusterSettings) -> list[tuple[int, ...]]:
    free, rng = set(range(settings.logical.servers)), np.random.default_rng(settings.seed)
    needed = sum(job.servers for job in jobs)
    if needed > len(free):
        raise Infeasible(
            f"snapshot: {len(jobs)} jobs need {needed} servers, the cluster has {len(free)}; "
            "take fewer jobs or a larger cluster"
        )
    rows = []
    for job in jobs:
        rows.append(choose_servers(sorted(free), job.servers, settings.placement, rng))
        free.difference_update(rows[-1])
    return rows


def buildable_fabrics(names: Sequence[str], settings: ClusterSettings) -> Table[CourseFabric]:
    """Return the fabrics of several names; shared ones that cannot be built are omitted.

    Raises
    ------
    InvalidInput
        If none can be built.
    Infeasible
        If no optical switch is large enough for links of their own.
    """
    if not names:
        raise InvalidInput("fabrics: none leaves nothing to run on; name one or more")
    makers = [maker for name in names for maker in _makers(name, settings)]
    table = compare(
        makers, lambda maker: maker[1](), lambda maker: maker[0], required=lambda maker: maker[0] in DEDICATED
    )
    if not table.rows:
        reason = table.skipped[0][1]
        raise InvalidInput(reason if len(names) == 1 else f"fabrics: none can be built: {reason}")
    return table


def course_fabrics(name: str, settings: ClusterSettings) -> tuple[CourseFabric, ...]:
    """Return the fabrics of a name: one, or one for each rule by which it is dimensioned.

    Raises
    ------
    InvalidInput
        If there is no such fabric, or its wiring or price list does not allow these numbers.
    Infeasible
        If no optical switch is large enough.
    """
    return tuple(make() for _, make in _makers(name, settings))


def _makers(name: str, settings: ClusterSettings) -> list[tuple[str, Callable[[], CourseFabric]]]:
    """Return builders of all fabrics with this name, each with its label."""
    if name in DEDICATED:
        return [(name, partial(_dedicated, name, settings))]
    check_networks("fabric", (name,), "cluster")
    return [(rule.label, partial(_sharing, rule, settings)) for rule in NETWORKS[name].sizings]


def _dedicated(name: str, settings: ClusterSettings) -> CourseFabric:
    description, switching = DEDICATED[name]
    planning = settings.planning
    alone: dict[TaskGraph, IterationTimes] = {}

    def plan(shape: JobShape) -> JobPlan:
        made = dedicated_plan(shape, planning)
        alone[made.graph] = made.alone
        return made

    def pace(running: Sequence[PlacedJob]) -> tuple[IterationTimes, ...]:
        return tuple(alone[placed.graph] for placed in running)

    rules, cluster = switching(settings), settings.cluster
    price = network_price_of(name, settings, cluster.degree, cluster.link_bandwidth_bps)
    return CourseFabric(
        name, description, settings.logical.server_bandwidth_bps, plan, pace, (rules,), **price.columns
    )


def _sharing(rule: Sizing, settings: ClusterSettings) -> CourseFabric:
    cluster, planning = settings.logical, settings.planning
    # What the whole cluster's price gives, also where a strategy is searched on a fabric of the job's size.
    interfaces, whole_bps = rule.interfaces(settings.cluster, prices_of(settings))
    bandwidth_bps = whole_bps / settings.logical_servers
    request = FabricRequest(
        cluster.servers,
        cluster.degree,
        cluster.link_bandwidth_bps,
        server_bandwidth_bps=interfaces * bandwidth_bps,
        latency_s=cluster.link_latency_s,
        seed=settings.seed,
    )
    fabric = shared_fabric(rule.fabric, request)
    pace = shared_pace(fabric, replace(settings.sharing, seed=settings.seed))

    def plan(shape: JobShape) -> JobPlan:
        return sharing_plan(shape, rule.fabric, interfaces, bandwidth_bps, planning)

    price = network_price_of(rule.fabric, settings, interfaces, whole_bps)
    return CourseFabric(
        rule.fabric,
        rule.description,
        interfaces * bandwidth_bps,
        plan,
        pace,
        (),
        rule.key,
        variant=rule.variant,
        **price.columns,
    )


def network_price_of(
    fabric: str, settings: ClusterSettings, interfaces: int, bandwidth_bps: float
) -> NetworkPrice:
    """Return the price and the watts of a fabric that joins all servers of a cluster.

    Parameters
    ----------
    interfaces, bandwidth_bps : int, float
        Interfaces per server, and bandwidth per interface.
    """
    return known_price(fabric, settings.cluster.servers, interfaces, bandwidth_bps, prices_of(settings))


def prices_of(settings: ClusterSettings) -> Pricing:
    """Return the pricing of a cluster's networks: panels are counted twice where the next job is wired ahead."""
    ahead, prices = settings.panels.look_ahead, pricing_of(settings.prices, settings.accounting)
    rule = replace(prices.accounting, look_ahead=ahead, look_ahead_fiber=ahead)
    return replace(prices, accounting=rule)
