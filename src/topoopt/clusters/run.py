"""A trace on a cluster, on several fabrics: jobs come, wait for servers and wiring, run beside each other, and go.

A discrete-event loop. Between two events every running job makes progress at its present iteration time; whenever
the set of running jobs changes, the fabric gives new iteration times. At an event jobs end, arrive, get servers, begin,
and grow into idle servers.

The queue is backfilled (EASY): a job may start before those ahead of it if it delays none of them. Served models
precede all training in the queue, and take the servers that are wired ahead for training if they find no others.

References
----------
.. [1] D. Lifka, "The ANL/IBM SP scheduling system", JSSPP 1995.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace

from topoopt.base.answers import Progress, Provenance, silent
from topoopt.catalog import check_networks, compared_by
from topoopt.clusters.cluster_state import ActiveJob, ClusterState, Prepared, WaitingJob, reference_time_s
from topoopt.clusters.fabrics import CourseFabric, buildable_fabrics
from topoopt.clusters.job_shape import JobShape, shape_of
from topoopt.clusters.pace import JobPlan, Pace
from topoopt.clusters.result import ClusterResult, FabricRun
from topoopt.clusters.settings import ClusterSettings
from topoopt.clusters.shards import HeldWiring, Planes, Shards, servers_of_panels
from topoopt.clusters.statistics import fabric_run
from topoopt.clusters.trace import Trace, check_fits, check_models, check_several
from topoopt.finder.rewiring import wire
from topoopt.plans import standings

Promised = dict[int, float]
"""Servers of jobs further ahead in the queue, and from when (seconds) they need them."""


@dataclass(frozen=True, slots=True)
class Course:
    """Course of a trace on one fabric.

    Attributes
    ----------
    wirings : tuple of HeldWiring
        The links of every job over time, where jobs have links of their own.
    """

    run: FabricRun
    wirings: tuple[HeldWiring, ...]


def run_cluster(
    trace: Trace,
    settings: ClusterSettings,
    fabrics: tuple[str, ...] | None = None,
    *,
    inputs: Mapping[str, str] | None = None,
    on_progress: Progress = silent,
) -> ClusterResult:
    """Run a trace on each of the fabrics.

    Parameters
    ----------
    fabrics : names of ``topoopt.catalog.networks_of("cluster")``, optional
        Fabrics; None for those compared by default. A fabric that cannot be built is skipped, and the result gives
        the reason; if no fabric can be built, an error is raised.
    inputs : digests by input, for the provenance

    Raises
    ------
    InvalidInput
        For unknown names, a job larger than the cluster, or where no fabric can be built.
    Infeasible
        If no optical switch is large enough.
    """
    fabrics = compared_by("cluster") if fabrics is None else fabrics
    check_networks("fabric", fabrics, "cluster")
    check_several(trace)
    check_models(trace)
    check_fits(trace, settings.logical.servers)
    built, skipped = buildable_fabrics(fabrics, settings)
    runs = [run_course(trace, fabric, settings, on_progress).run for fabric in built]
    cluster = settings.cluster
    found = standings(runs, lambda run: run.iteration_time_s.mean)
    return ClusterResult(
        trace.name,
        settings.seed,
        cluster.servers,
        cluster.degree,
        cluster.link_bandwidth_bps,
        Provenance(settings.seed, dict(inputs or {})),
        tuple(replace(run, **asdict(its)) for run, its in zip(runs, found, strict=True)),
        settings.described(),
        skipped,
    )


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
    most = settings.logical.servers
    shapes = dict.fromkeys(shape_of(job, size) for job in trace.jobs for size in job.sizes if size <= most)
    plans: dict[JobShape, JobPlan] = {}
    for shape in shapes:
        stage = f"planning {shape.model} on {shape.servers} servers for {fabric.fabric}"
        on_progress(stage, len(plans), len(shapes))
        plans[shape] = fabric.plan(shape)
    prepared = _prepared(trace, plans, settings)
    servers = settings.logical.servers
    wired = _planes(fabric, plans.values(), settings)
    shards = Shards(servers, wired, fabric.switching, settings.placement, settings.seed)
    state = ClusterState(prepared, servers, shards)
    while go_on(state, fabric.pace, settings.queue == "backfill"):
        on_progress(f"running the trace on {fabric.fabric}", len(state.ended), len(trace.jobs))
    run = fabric_run(
        fabric,
        state.ended,
        state.changes,
        servers=settings.cluster.servers,
        weighting=settings.weighting,
        parts=settings.logical_servers,
    )
    return Course(run, shards.wirings)


def _prepared(
    trace: Trace, plans: dict[JobShape, JobPlan], settings: ClusterSettings
) -> tuple[Prepared, ...]:
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


def go_on(state: ClusterState, pace: Pace, backfill: bool) -> bool:
    """Process the next event; False if there is none."""
    times_s = [job.end_s if job.running else job.ready_s for job in state.active]
    if state.pending:
        times_s.append(_arrival_s(state))
    if not times_s:
        assert not state.queue, "a job that fits is started on an idle cluster"
        return False
    state.now_s = max(min(times_s), state.now_s)
    before = _running(state)
    for job in [job for job in state.active if job.running and job.end_s <= state.now_s]:
        job.end(state.now_s)
        state.pause(job)
        state.active.remove(job)
        state.ended.append(job)
    while state.pending and _arrival_s(state) <= state.now_s:
        state.arrive(state.pending.pop())
    start_waiting(state, backfill)
    _begin(state)
    if not state.queue:
        grow(state)
        _begin(state)
    if _running(state) != before:
        # iteration times change with the jobs that run and their servers
        running = sorted((job for job in state.active if job.running), key=lambda job: job.index)
        for job, times in zip(running, pace([job.placed for job in running]), strict=True):
            job.retime(times, state.now_s)
        state.changes.append((state.now_s, len(running), sum(len(job.servers) for job in running)))
    return True


def _arrival_s(state: ClusterState) -> float:
    return state.pending[-1].prepared.job.arrival_s


def _running(state: ClusterState) -> list[tuple[int, tuple[int, ...]]]:
    return sorted((job.index, job.servers) for job in state.active if job.running)


def _begin(state: ClusterState) -> None:
    for job in state.active:
        if not job.running and job.ready_s <= state.now_s:
            state.shards.activate(job.job.job, state.now_s)
            job.begin(state.now_s)


def start_waiting(state: ClusterState, backfill: bool) -> None:
    """Traverse the queue once and start the jobs that fit.

    Parameters
    ----------
    backfill
        Whether jobs may go past the first one that has to wait, on servers that it does not need before they end.
    """
    promised: Promised = {}
    for waiting in list(state.queue):
        if waiting.prepared.job.serving and not waiting.shard:
            if _start_now(state, waiting, {**_wired_ahead(state), **promised}, backfill=False):
                continue
            state.give_up_wirings()
        if waiting.shard:
            shard = waiting.shard[0]
            if state.shards.idle.issuperset(shard.servers):
                state.place(waiting, shard)
            else:
                promised.update(dict.fromkeys(shard.servers, max(waiting.free_s, shard.wired_s)))
        elif _start_now(state, waiting, promised, backfill) or _wire_ahead(state, waiting, promised):
            continue
        elif not backfill or state.shards.look_ahead:
            break  # with look-ahead: more shards cannot be wired before one of these jobs has gone
        elif not promised:
            reservation = state.shards.earliest(state.free_s(), waiting.prepared.wish, ())
            promised = dict.fromkeys(reservation[0], reservation[2]) if reservation else {}


def _wired_ahead(state: ClusterState) -> Promised:
    """Return the servers that are wired for waiting jobs."""
    return {
        server: waiting.free_s
        for waiting in state.queue
        for shard in waiting.shard
        for server in shard.servers
    }


def _start_now(
    state: ClusterState, waiting: WaitingJob, promised: Mapping[int, float], backfill: bool
) -> bool:
    """Start a job on idle servers, an elastic one on fewer if need be, others shrinking for the first."""
    prepared = waiting.prepared
    sizes = sorted((size for size in prepared.plans if size <= prepared.wish), reverse=True)
    if any(_start_at(state, waiting, size, promised, backfill) for size in sizes):
        return True
    may_shrink = not promised and shrink_for(state, sizes[-1])
    return may_shrink and _start_at(state, waiting, sizes[-1], promised, backfill)


def _start_at(
    state: ClusterState, waiting: WaitingJob, size: int, promised: Mapping[int, float], backfill: bool
) -> bool:
    prepared, shards = waiting.prepared, state.shards
    plan = prepared.plans[size]
    usable = shards.idle.difference(promised)
    if backfill and promised:
        work_s = prepared.work * plan.alone.mean_s * prepared.job.servers / size
        end_s = state.now_s + shards.longest_wait_s(plan.topology, state.now_s) + work_s
        usable.update(server for server in shards.idle if promised.get(server, 0.0) >= end_s)
    choice = shards.choose(usable, size)
    if choice is None:
        return False
    state.place(waiting, shards.wire(prepared.job.job, *choice, plan.topology, state.now_s))
    return True


def _wire_ahead(state: ClusterState, waiting: WaitingJob, promised: Promised) -> bool:
    """Wire a job ahead on the other plane of the servers that are free first, if look-ahead is on."""
    if not state.shards.look_ahead:
        return False
    size = waiting.prepared.wish
    reservation = state.shards.earliest(state.free_s(), size, promised)
    if reservation is None:
        return False
    servers, plane, waiting.free_s = reservation
    topology = waiting.prepared.plans[size].topology
    shard = state.shards.wire(waiting.prepared.job.job, servers, plane, topology, state.now_s)
    waiting.shard = (shard,)
    promised.update(dict.fromkeys(servers, max(waiting.free_s, shard.wired_s)))
    return True


def shrink_for(state: ClusterState, servers: int) -> bool:
    """Halve elastic jobs, the largest first, until enough servers are idle; do nothing if that is not possible."""
    elastic = [job for job in state.active if job.running] if state.shards.elastic else []
    spare = sum(len(job.servers) - min(job.plans) for job in elastic)
    if len(state.shards.idle) + spare < servers:
        return False
    while len(state.shards.idle) < servers:
        largest = max(
            (job for job in elastic if len(job.servers) > min(job.plans)),
            key=lambda job: (len(job.servers), job.index),
        )
        smaller = max(size for size in largest.plans if size < len(largest.servers))
        resize(state, largest, largest.servers[:smaller])
    return True


def grow(state: ClusterState) -> None:
    """Enlarge elastic jobs, the earliest first, as far as servers are idle and the job is done sooner for it."""
    for job in sorted(state.active, key=lambda job: job.index) if state.shards.elastic else ():
        size = len(job.servers)
        for larger in sorted((other for other in job.plans if other > size), reverse=True):
            beside = state.shards.idle_beside(job.servers)
            choice = state.shards.choose(beside, larger - size) if job.running else None
            if choice is not None and _worth_it(state, job, larger):
                resize(state, job, (*job.servers, *choice[0]))
                break


def resize(state: ClusterState, job: ActiveJob, servers: tuple[int, ...]) -> None:
    """Continue a job on other servers; it pauses while its links are made."""
    state.pause(job)
    plan = job.plans[len(servers)]
    choice = state.shards.choose(servers, len(servers))
    assert choice is not None, "the ports of idle servers are free"
    shard = state.shards.wire(job.job.job, servers, choice[1], plan.topology, state.now_s)
    state.shards.idle.difference_update(servers)
    job.resize(shard, state.now_s, max(state.now_s, shard.wired_s) + state.shards.change_s)


def _worth_it(state: ClusterState, job: ActiveJob, size: int) -> bool:
    """Return whether the pause for a larger size is made up for before the job ends."""
    job.advance(state.now_s)
    then_s = state.shards.change_s + job.left_s(job.plans[size].alone.mean_s, size)
    return then_s < job.left_s(job.times.mean_s, len(job.servers))
