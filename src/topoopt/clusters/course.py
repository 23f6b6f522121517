"""The course of a cluster: jobs come, wait for servers and wiring, run beside each other, and go.

A discrete-event loop. Between two events every running job makes progress at its present iteration time; whenever
the set of running jobs changes, the fabric says anew how long iterations take.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from topoopt.clusters.course_fabrics import CourseFabric
from topoopt.clusters.job_plan import JobPlan
from topoopt.clusters.job_plans import Prepared, Progress, reference_time_s, silent
from topoopt.clusters.job_shape import JobShape, shape_of
from topoopt.clusters.next_event import go_on
from topoopt.clusters.planes import HeldWiring, Planes
from topoopt.clusters.result import FabricRun
from topoopt.clusters.settings import ClusterSettings
from topoopt.clusters.shards import Shards
from topoopt.clusters.state import ClusterState
from topoopt.clusters.switching import servers_of_panels
from topoopt.clusters.tally import fabric_run
from topoopt.clusters.trace import Trace, check_fits
from topoopt.finder.rewiring import wire


@dataclass(frozen=True, slots=True)
class Course:
    """What happened on one fabric.

    Attributes
    ----------
    wirings : tuple of HeldWiring
        The links of every job over time, where jobs have links of their own.
    """

    run: FabricRun
    wirings: tuple[HeldWiring, ...]


def run_course(
    trace: Trace, fabric: CourseFabric, settings: ClusterSettings, on_progress: Progress = silent
) -> Course:
    """Run a trace on a fabric until its last job has ended.

    Raises
    ------
    InvalidInput, Infeasible
        If a job cannot be planned, or its links cannot be divided among panels.
    """
    check_fits(trace, settings.logical.servers)
    plans = _plans(trace, fabric, settings, on_progress)
    prepared = _prepared(trace, plans, settings)
    servers = settings.logical.servers
    wired = _planes(fabric, plans.values(), settings)
    shards = Shards(servers, wired, fabric.switching, settings.placement, settings.seed)
    state = ClusterState(prepared, servers, shards)
    while go_on(state, fabric.pace, settings.queue == "backfill"):
        on_progress(f"running the trace on {fabric.name}", len(state.ended), len(trace.jobs))
    run = fabric_run(
        fabric,
        state.ended,
        state.changes,
        servers=settings.cluster.servers,
        weighting=settings.weighting,
        parts=settings.logical_servers,
    )
    priced = replace(run, variant=fabric.variant, cost_usd=fabric.cost_usd)
    return Course(priced, shards.wirings)


def _plans(
    trace: Trace, fabric: CourseFabric, settings: ClusterSettings, on_progress: Progress
) -> dict[JobShape, JobPlan]:
    """Plan every shape that a job may have."""
    most = settings.logical.servers
    shapes = dict.fromkeys(shape_of(job, size) for job in trace.jobs for size in job.sizes if size <= most)
    plans: dict[JobShape, JobPlan] = {}
    for shape in shapes:
        stage = f"planning {shape.model} on {shape.servers} servers for {fabric.name}"
        on_progress(stage, len(plans), len(shapes))
        plans[shape] = fabric.plan(shape)
    return plans


def _prepared(
    trace: Trace, plans: dict[JobShape, JobPlan], settings: ClusterSettings
) -> tuple[Prepared, ...]:
    """Return the jobs with their plans, and their work in iterations."""
    times_s: dict[JobShape, float] = {}
    jobs = []
    for job in trace.jobs:
        by_size = {size: plans[shape_of(job, size)] for size in job.sizes if shape_of(job, size) in plans}
        work = job.iterations
        if not work:
            shape = shape_of(job, job.servers)
            if shape not in times_s:
                times_s[shape] = reference_time_s(shape, settings.planning)
            work = job.duration_s / times_s[shape]
        jobs.append(Prepared(job, work, by_size))
    return tuple(jobs)


def _planes(fabric: CourseFabric, plans: Iterable[JobPlan], settings: ClusterSettings) -> Planes | None:
    """Return the planes of a dedicated fabric, with as few interfaces a panel as all its jobs' links allow.

    Raises
    ------
    Infeasible
        If a job has more servers than a set of panels can join.
    """
    if not fabric.switching:
        return None
    cluster = settings.logical
    plans = tuple(plans)
    width = max(wire(plan.topology, cluster.degree, cluster.links).interfaces_per_panel for plan in plans)
    (rules,) = fabric.switching
    largest = max(plan.topology.servers for plan in plans)
    together = servers_of_panels(rules.technology, cluster.servers, largest, width)
    return Planes(rules.planes, cluster.degree, cluster.links, width, together)
