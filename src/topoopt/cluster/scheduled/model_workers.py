"""From a model to its iteration on so many workers, by simulation where it has links of its own."""

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from topoopt.arrays import Floats, Ints
from topoopt.cluster.scheduled.coarse_profile import coarse_profile
from topoopt.cluster.scheduled.worker_job import MakeWorkerJob, WorkerJob
from topoopt.cluster.trace import TraceJob
from topoopt.collectives import ring_edge_bytes
from topoopt.finder import FabricRequest, build_fabric
from topoopt.hardware import ClusterSpec
from topoopt.interleave import CommunicationProfile, busiest_uplink, profiles_of_links
from topoopt.job import JobSettings, make_job
from topoopt.routing import Fabric
from topoopt.search import options_of, starting_strategy, task_graph_of
from topoopt.simulate import COLLECTIVE, COLLECTIVES, SimResult, TaskGraph, pair_demands, simulate
from topoopt.workload import load_model

KEPT = 4096
"""Shapes that are kept in memory."""


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
        Name in :data:`topoopt.simulate.SIMULATORS`.
    """

    bandwidth_bps: float
    latency_s: float
    accelerator: str
    costs: JobSettings
    simulator: str


def model_workers(machine: Machine) -> MakeWorkerJob:
    """Return what makes jobs of a trace on so many workers, each shape once.

    A job is split as a plan begins: data parallel, embedding tables on workers in turn. Its profile is that of the
    busiest worker's link into an ideal switch, as ``coarse_profile`` has
    it.
    """

    def make(job: TraceJob, workers: int) -> WorkerJob:
        return _shape(job.model, job.batch_per_accelerator, workers, machine)

    return make


@lru_cache(KEPT)
def _shape(model: str, batch: int, workers: int, machine: Machine) -> WorkerJob:
    if workers == 1:  # it computes as each of two does, and sends nothing
        _, result, _ = _simulated(model, batch, 2, machine)
        none = np.zeros(0, np.int64)
        return WorkerJob(CommunicationProfile(model, result.compute_time_s, ()), none, none, np.zeros(0))
    tasks, result, fabric = _simulated(model, batch, workers, machine)
    busiest = busiest_uplink(result, fabric)
    profile = profiles_of_links(model, result, fabric, [busiest])[busiest]
    src, dst, size = pair_bytes(tasks)
    return WorkerJob(coarse_profile(profile), src, dst, size / max(size[src == busiest[0]].sum(), 1.0))


def _simulated(model: str, batch: int, workers: int, machine: Machine) -> tuple[TaskGraph, SimResult, Fabric]:
    graph = load_model(model, servers=workers)
    if batch:
        graph = replace(graph, batch_per_accelerator=batch)
    cluster = ClusterSpec(
        workers,
        1,
        machine.bandwidth_bps,
        accelerators_per_server=1,
        accelerator=machine.accelerator,
        link_latency_s=machine.latency_s,
    )
    job = make_job(graph, cluster, machine.costs)
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
