"""A trace under one or more schedulers, on a network of single workers."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace

import numpy as np

from topoopt.base.provenance import Provenance
from topoopt.clusters.interleave import InterleavingRules
from topoopt.clusters.job_plans import Progress, silent
from topoopt.clusters.result import ClusterResult, FabricRun, Schedule, ScheduledJob
from topoopt.clusters.scheduled.cassini import cassini
from topoopt.clusters.scheduled.course import ScheduledCourse, run_scheduled
from topoopt.clusters.scheduled.model_workers import Machine, model_workers
from topoopt.clusters.scheduled.network import WorkerNetwork
from topoopt.clusters.scheduled.running_job import RunningJob
from topoopt.clusters.scheduled.settings import ScheduleSettings
from topoopt.clusters.schedulers.table import SCHEDULERS
from topoopt.clusters.tally import fabric_run
from topoopt.clusters.trace import Trace
from topoopt.clusters.trace_model import check_models


@dataclass(frozen=True, eq=False)
class ScheduledCluster:
    """A network, what its servers are, and who gives out workers there, one after the other.

    Attributes
    ----------
    schedules : tuple of ScheduleSettings
        At least one; all have one seed and one weighting.
    """

    network: WorkerNetwork
    machine: Machine
    schedules: tuple[ScheduleSettings, ...]


@dataclass(frozen=True, slots=True)
class _Named:
    """What a result says of the network."""

    name: str
    description: str
    server_bandwidth_bps: float


def run_schedules(
    trace: Trace,
    cluster: ScheduledCluster,
    *,
    inputs: Mapping[str, str] | None = None,
    on_progress: Progress = silent,
) -> ClusterResult:
    """Run a trace under each of the schedulers.

    Parameters
    ----------
    inputs : digests by input, for the provenance

    Raises
    ------
    InvalidInput
        For a job larger than the cluster.
    """
    check_models(trace)
    first = cluster.schedules[0]
    runs = tuple(_run(trace, cluster, schedule, on_progress) for schedule in cluster.schedules)
    return ClusterResult(
        trace.name,
        first.seed,
        cluster.network.servers,
        1,
        cluster.network.server_bandwidth_bps,
        Provenance(first.seed, dict(inputs or {})),
        runs,
        _described(cluster),
    )


def _run(
    trace: Trace, cluster: ScheduledCluster, schedule: ScheduleSettings, on_progress: Progress
) -> FabricRun:
    network = replace(cluster.network, seed=schedule.seed)
    chooser = (cassini(network, InterleavingRules(merging=schedule.merging)),) if schedule.cassini else ()
    make = model_workers(cluster.machine)
    course = run_scheduled(trace, network, make, schedule, chooser, on_progress)
    rules = SCHEDULERS[schedule.scheduler]
    named = _Named(network.fabric.name, rules.description, network.server_bandwidth_bps)
    run = fabric_run(
        named, course.ended, course.changes, servers=network.servers, weighting=schedule.weighting
    )
    return replace(run, schedule=_schedule(course, schedule))


def _schedule(course: ScheduledCourse, schedule: ScheduleSettings) -> Schedule:
    jobs = tuple(map(_scheduled_job, course.ended))
    weights = [1.0 if schedule.weighting == "jobs" else job.iterations for job in course.ended]
    marks = float(np.average([job.ecn_marks_per_iteration for job in jobs], weights=weights))
    score = float(np.mean(course.scores)) if course.scores else None
    return Schedule(schedule.name, marks, len(course.changes), score, jobs)


def _scheduled_job(job: RunningJob) -> ScheduledJob:
    return ScheduledJob(job.alone_s / job.iterations, job.marks / job.iterations)


def _described(cluster: ScheduledCluster) -> Mapping[str, object]:
    """Return what a result says about how it was made."""
    return {
        "network": f"{cluster.network.fabric.name}: {cluster.network.description}",
        "weighting": cluster.schedules[0].weighting,
        "machine": asdict(cluster.machine),
        "schedules": [asdict(schedule) for schedule in cluster.schedules],
    }
