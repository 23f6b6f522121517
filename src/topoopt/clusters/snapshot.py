"""Jobs that all run at once, without arrivals and ends: how long iterations take at one load."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from topoopt.base.errors import Infeasible
from topoopt.catalog import NetworkRow, compared_by
from topoopt.clusters.fabrics import course_fabrics
from topoopt.clusters.job_shape import shape_of
from topoopt.clusters.pace import IterationTimes, PlacedJob
from topoopt.clusters.result import Distribution
from topoopt.clusters.settings import ClusterSettings, choose_servers
from topoopt.clusters.statistics import distribution
from topoopt.clusters.trace import TraceJob


@dataclass(frozen=True, slots=True)
class FabricSnapshot(NetworkRow):
    """Jobs that run at once on one fabric.

    Attributes
    ----------
    jobs : tuple of TraceJob
    times : tuple of IterationTimes
        Of each job.
    iteration_time_s : Distribution
        Each job counts the same, and so does each simulated iteration of one job.
    rule : str
        By which the fabric is dimensioned, a key of :class:`topoopt.catalog.Sizing`; empty for links of one's own.
    """

    jobs: tuple[TraceJob, ...]
    times: tuple[IterationTimes, ...]
    iteration_time_s: Distribution
    rule: str = ""


def snapshot(
    jobs: Sequence[TraceJob],
    settings: ClusterSettings,
    fabrics: tuple[str, ...] | None = None,
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
            snapshots.append(
                FabricSnapshot(
                    fabric.fabric,
                    fabric.description,
                    fabric.server_bandwidth_bps * settings.logical_servers,
                    tuple(jobs),
                    times,
                    _together(times),
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


def _together(times: Sequence[IterationTimes]) -> Distribution:
    values = [sample_s for row in times for sample_s in row.samples_s]
    weights = [1.0 / len(row.samples_s) for row in times for _ in row.samples_s]
    tail = distribution(values, weights)
    mean_s = sum(row.mean_s for row in times) / len(times)
    return Distribution(mean_s, tail.p50, tail.p99, tail.max)
