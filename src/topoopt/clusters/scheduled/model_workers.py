"""From a model to its iteration on so many workers, by simulation where it has links of its own."""

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.catalog import ClusterSpec
from topoopt.clusters.interleave import CommunicationProfile, Phase, busiest_uplink, profiles_of_links
from topoopt.clusters.job_shape import JobShape, shape_of
from topoopt.clusters.scheduled.coarse_profile import coarse_profile
from topoopt.clusters.scheduled.worker_job import MakeWorkerJob, WorkerJob
from topoopt.clusters.served.cycle import pair_rates
from topoopt.clusters.served.model import served_model
from topoopt.clusters.shape_job import operators_job, transformer_job
from topoopt.clusters.trace import TraceJob
from topoopt.collectives import ring_edge_bytes
from topoopt.finder import FabricRequest, build_fabric
from topoopt.jobs import Job, JobRequest, JobSettings
from topoopt.routing import Fabric
from topoopt.search import is_transformer, options_of, starting_strategy, task_graph_of
from topoopt.simulation import COLLECTIVE, COLLECTIVES, SimResult, TaskGraph, pair_demands, simulate

KEPT = 4096
"""Shapes that are kept in memory."""

SERVED_S = 1.0
"""Of a served model, whose load has no iteration, so much stands for one."""


@dataclass(frozen=True, slots=True)
class Machine:
    """What a worker is, and how its work is counted.

    Attributes
    ----------
    bandwidth_bps, latency_s : float
        Of a server's link.
    accelerator : str
        Of which a worker has one.
    simulator : str
        Name in :data:`topoopt.simulation.SIMULATORS`.
    """

    bandwidth_bps: float
    latency_s: float
    accelerator: str
    costs: JobSettings
    simulator: str


def model_workers(machine: Machine) -> MakeWorkerJob:
    """Return what makes jobs of a trace on so many workers, each shape once.

    A job is split as a plan begins: data parallel, embedding tables on workers in turn; a transformer in its fastest
    configuration by the closed form. Its profile is that of the busiest worker's link into an ideal switch, as
    ``coarse_profile`` has it.
    """

    def make(job: TraceJob, workers: int) -> WorkerJob:
        return _worker_job(shape_of(job, workers), machine)

    return make


def worker_profile(job: TraceJob, workers: int, machine: Machine) -> CommunicationProfile:
    """Return what the busiest of the workers of a job sends, with links of its own."""
    profile = _iteration(shape_of(job, workers), machine).profile
    return CommunicationProfile(job.job, profile.iteration_time_s, profile.phases)


@dataclass(frozen=True, eq=False)
class _Iteration:
    """What the busiest worker sends, and over all of it who sends how much to whom."""

    profile: CommunicationProfile
    busiest: int
    src: Ints
    dst: Ints
    size_bytes: Floats


@lru_cache(KEPT)
def _worker_job(shape: JobShape, machine: Machine) -> WorkerJob:
    if shape.serving:
        return _served_workers(shape, _cluster(shape, machine))
    if shape.servers == 1:  # it computes as each of two replicas does, and sends nothing
        time_s = _simulated(replace(shape, servers=2), machine, alone=True)[1].compute_time_s
        none = np.zeros(0, np.int64)
        return WorkerJob(CommunicationProfile(shape.model, time_s, ()), none, none, np.zeros(0))
    found = _iteration(shape, machine)
    most_bytes = max(found.size_bytes[found.src == found.busiest].sum(), 1.0)
    return WorkerJob(coarse_profile(found.profile), found.src, found.dst, found.size_bytes / most_bytes)


@lru_cache(KEPT)
def _iteration(shape: JobShape, machine: Machine) -> _Iteration:
    tasks, result, fabric = _simulated(shape, machine)
    busiest = busiest_uplink(result, fabric)
    profile = profiles_of_links(shape.model, result, fabric, [busiest])[busiest]
    return _Iteration(profile, busiest[0], *pair_bytes(tasks))


def _served_workers(shape: JobShape, cluster: ClusterSpec) -> WorkerJob:
    """Return a served model as what it sends on average, all the time, for there is no moment that could be shifted."""
    moved = pair_rates(served_model(shape.model, shape.serving, cluster, 0).traffic)
    most = max(float(moved.sum(axis=1).max()), float(moved.sum(axis=0).max()))
    src, dst = np.nonzero(moved)
    phases = (Phase(0.0, SERVED_S, 8 * most),) if most else ()
    profile = CommunicationProfile(shape.model, SERVED_S, phases)
    return WorkerJob(profile, src, dst, moved[src, dst] / most if most else np.zeros(0), spread=True)


def _cluster(shape: JobShape, machine: Machine) -> ClusterSpec:
    return ClusterSpec(
        shape.servers,
        1,
        machine.bandwidth_bps,
        accelerators_per_server=1,
        accelerator=machine.accelerator,
        link_latency_s=machine.latency_s,
    )


def _job(shape: JobShape, machine: Machine, alone: bool) -> Job:
    cluster = _cluster(shape, machine)
    if not is_transformer(JobRequest(model=shape.model)):
        return operators_job(shape, cluster, machine.costs)
    whole = {"tp": 1, "pp": 1, "cp": 1} if alone else {}
    return transformer_job(shape, cluster, 0.0, **{"candidates": 1, **whole})


def _simulated(shape: JobShape, machine: Machine, alone: bool = False) -> tuple[TaskGraph, SimResult, Fabric]:
    """Return an iteration on an ideal switch; ``alone``: of replicas that each are on one worker."""
    workers, job = shape.servers, _job(shape, machine, alone)
    tasks = task_graph_of(job, starting_strategy(job))
    request = FabricRequest(
        workers, 1, machine.bandwidth_bps, groups=tasks.groups, latency_s=machine.latency_s
    )
    fabric = build_fabric("ideal-switch", request)
    return tasks, simulate(machine.simulator, tasks, fabric, options_of(job)), fabric


def pair_bytes(graph: TaskGraph) -> tuple[Ints, Ints, Floats]:
    """Return what every worker sends to every other one in all of a task graph, rings in the order of their members.

    Returns
    -------
    int64 array, int64 array, float64 array, shape (pairs,)
        From, to, bytes; by from and to.
    """
    _, src, dst, size = pair_demands(graph)
    total = np.zeros((graph.servers, graph.servers))
    np.add.at(total, (src, dst), size)
    for task in np.flatnonzero(
        (graph.kind == COLLECTIVE) & (graph.collective != COLLECTIVES.index("all-to-all"))
    ).tolist():
        members = np.array(graph.members(task), np.int64)
        if len(members) > 1:
            kind = COLLECTIVES[graph.collective[task]]
            edge = ring_edge_bytes(kind, len(members), int(graph.size_bytes[task]), 1)
            np.add.at(total, (members, np.roll(members, -1)), edge)
    sources, targets = np.nonzero(total)
    return sources, targets, total[sources, targets]
