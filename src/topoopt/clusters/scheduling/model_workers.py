"""Simulated iteration of a model on a number of workers, and the messages between them.

In a simulated iteration gradients leave layer by layer, with short silences in which the next ones are computed.
Computing does not wait for sends, so such silences are no computing between two phases: a late burst is followed
at once by the next. Sampled as coarsely as a port's counters, the bursts are one phase at their mean rate, and the
sends at the end, after all computing, are another.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Protocol

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.catalog import ClusterSpec
from topoopt.clusters.interleave import (
    ByteCurve,
    CommunicationProfile,
    Phase,
    busiest_uplink,
    few_phases,
    profiles_of_links,
)
from topoopt.clusters.job_shape import JobShape, operators_job, shape_of, transformer_job
from topoopt.clusters.scheduling.network import WorkerNetwork
from topoopt.clusters.served_model import pair_rates, served_model
from topoopt.clusters.trace import TraceJob
from topoopt.collectives import ring_edge_bytes
from topoopt.finder import FabricRequest, build_fabric
from topoopt.jobs import Job, JobRequest, JobSettings
from topoopt.routing import Fabric
from topoopt.search import is_transformer, options_of, starting_strategy, task_graph_of
from topoopt.simulation import COLLECTIVE, COLLECTIVES, SimResult, TaskGraph, pair_demands, simulate


@dataclass(frozen=True, eq=False)
class PlacedWorkers:
    """A job on its workers.

    Attributes
    ----------
    job : str
    servers : tuple of int
        One for each worker, in the job's own order.
    profile : CommunicationProfile
        Profile of the busiest worker over one iteration, without contention.
    links : int64 array, shape (links used,)
        Directed links of the network, ascending; none for a single worker.
    shares : float64 array, shape (links used,)
        The job's rate on each, over that of the profile.
    """

    job: str
    servers: tuple[int, ...]
    profile: CommunicationProfile
    links: Ints
    shares: Floats


Placement = tuple[PlacedWorkers, ...]
"""All jobs that run at a time."""


@dataclass(frozen=True, slots=True)
class ChosenPlacement:
    """The best of several placements, and its time shifts.

    Attributes
    ----------
    candidate : int
    score : float
        Mean compatibility score of the links that several jobs use; 1 where none is.
    time_shifts_s : tuple of float
        For each job of the placement, in order: iterations begin at this time, modulo the iteration time, after a
        common moment.
    periods_s : tuple of float
        The iteration times to which jobs are held, as they were rounded to find the shifts: a job that is off by more
        than 5 % of its iteration has its shift applied anew. 0 for a job that is not shifted.
    groups : tuple of tuples of int
        Sets of jobs of which each has its shift among the others; the moment is one for each set. A job that is in
        none starts when it can.
    """

    candidate: int
    score: float
    time_shifts_s: tuple[float, ...]
    periods_s: tuple[float, ...]
    groups: tuple[tuple[int, ...], ...]


class Interleaver(Protocol):
    """Chooses among placements by how well jobs share links in them, as CASSINI does."""

    def __call__(self, candidates: Sequence[Placement], capacities_bps: Floats) -> ChosenPlacement:
        """Return the best placement with its time shifts.

        Parameters
        ----------
        candidates : sequence of Placement
            One to ten, the scheduler's own first; all have the same jobs in the same order.
        """
        ...


@dataclass(frozen=True, eq=False)
class WorkerJob:
    """One iteration on workers 0, 1, ...

    Attributes
    ----------
    profile : CommunicationProfile
        Profile of the busiest worker; no phases if there is only one worker.
    src, dst : int64 arrays, shape (pairs,)
        Workers that send each other something.
    share : float64 array, shape (pairs,)
        The rate of a pair over that of the profile, the same in all phases.
    spread : bool
        Whether a pair has connections on all paths, as a served model has, and not one.
    """

    profile: CommunicationProfile
    src: Ints
    dst: Ints
    share: Floats
    spread: bool = False


MakeWorkerJob = Callable[[TraceJob, int], WorkerJob]
"""Returns a job of a trace on a number of workers."""
READINGS = 40
"""Samples per iteration; silences much shorter than the time between two samples are not seen."""
TOLERANCE = 0.1
"""Share of the bytes that may be sent at another moment, for fewer phases."""
QUIET = 0.08
"""Share of the highest rate that counts as silence, if all such bytes are within the tolerance."""
KEPT = 4096
"""Shapes that are kept in memory."""
SERVED_S = 1.0
"""Stands in for the iteration of a served model, whose load has none."""


@dataclass(frozen=True, slots=True)
class Machine:
    """Hardware of a worker, and the simulator of its work.

    Attributes
    ----------
    bandwidth_bps, latency_s : float
        Bandwidth and latency of a server's link.
    accelerator : str
        Accelerator; each worker has one.
    simulator : str
        Name in :data:`topoopt.simulation.SIMULATORS`.
    """

    bandwidth_bps: float
    latency_s: float
    accelerator: str
    costs: JobSettings
    simulator: str


def model_workers(machine: Machine) -> MakeWorkerJob:
    """Return a function that makes the worker jobs of a trace, caching each shape.

    A job is split as a plan begins: data parallel, embedding tables on workers in turn; a transformer in its fastest
    configuration by the closed form. Its profile is that of the busiest worker's link into an ideal switch, see
    ``coarse_profile``.
    """

    def make(job: TraceJob, workers: int) -> WorkerJob:
        return _worker_job(shape_of(job, workers), machine)

    return make


def worker_profile(job: TraceJob, workers: int, machine: Machine) -> CommunicationProfile:
    """Return the profile of a job's busiest worker with dedicated links."""
    profile = _iteration(shape_of(job, workers), machine).profile
    return CommunicationProfile(job.job, profile.iteration_time_s, profile.phases)


@dataclass(frozen=True, eq=False)
class _Iteration:
    profile: CommunicationProfile
    busiest: int
    src: Ints
    dst: Ints
    size_bytes: Floats


@lru_cache(KEPT)
def _worker_job(shape: JobShape, machine: Machine) -> WorkerJob:
    if shape.serving:
        # a served model as what it sends on average, all the time,
        # for there is no moment that could be shifted
        cluster = _cluster(shape, machine)
        moved = pair_rates(served_model(shape.model, shape.serving, cluster, 0).traffic)
        most = max(float(moved.sum(axis=1).max()), float(moved.sum(axis=0).max()))
        src, dst = np.nonzero(moved)
        phases = (Phase(0.0, SERVED_S, 8 * most),) if most else ()
        profile = CommunicationProfile(shape.model, SERVED_S, phases)
        return WorkerJob(profile, src, dst, moved[src, dst] / most if most else np.zeros(0), spread=True)
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
    """Return the bytes between workers in a whole task graph, with rings in the order of their members.

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


def coarse_profile(profile: CommunicationProfile) -> CommunicationProfile:
    """Return the profile as counters that are read now and then show it, with not a byte more or less.

    Examples
    --------
    >>> bursts = tuple(Phase(0.1 + 0.004 * number, 0.002, 50e9) for number in range(20))
    >>> (phase,) = coarse_profile(CommunicationProfile("a", 0.2, bursts)).phases
    >>> round(phase.start_s, 3), round(phase.duration_s, 2), round(phase.bandwidth_bps / 1e9)
    (0.1, 0.08, 26)
    """
    if len(profile.phases) < 2:
        return profile
    period_s = profile.iteration_time_s
    first, active_s = _active(profile)
    readings = max(round(active_s / period_s * READINGS), 1)
    times_s = np.append(
        np.linspace(0.0, active_s, readings + 1), [period_s] * (active_s < period_s * (1 - 1e-9))
    )
    sent = np.zeros(len(times_s))
    for phase in profile.phases:
        begin_s = (phase.start_s - first.start_s) % period_s
        within_s = np.clip(times_s - begin_s, 0.0, phase.duration_s)
        wrapped_s = np.clip(times_s + period_s - begin_s, 0.0, phase.duration_s)
        sent += (within_s + wrapped_s - wrapped_s[0]) * phase.bandwidth_bps / 8
    phases = few_phases(ByteCurve(times_s, sent), TOLERANCE, QUIET)
    turned = (
        Phase((phase.start_s + first.start_s) % period_s, phase.duration_s, phase.bandwidth_bps)
        for phase in phases
    )
    return CommunicationProfile(profile.job, period_s, tuple(turned))


def _active(profile: CommunicationProfile) -> tuple[Phase, float]:
    """Return the phase after the longest silence, and how long it is from its start to the end of the last phase."""
    phases, period_s = profile.phases, profile.iteration_time_s
    silent_s = [
        (phase.start_s - phases[number - 1].end_s) + (period_s if number == 0 else 0.0)
        for number, phase in enumerate(phases)
    ]
    longest = int(np.argmax(silent_s))
    return phases[longest], period_s - max(silent_s[longest], 0.0)


def placed_workers(
    network: WorkerNetwork, job: str, shape: WorkerJob, servers: tuple[int, ...]
) -> PlacedWorkers:
    """Return a job on servers of a network, with its load on each link.

    Where several of its own connections meet on one link it takes longer than with links for each.
    """
    at = np.array(servers, np.int64)
    src, dst = at[shape.src], at[shape.dst]
    if shape.spread:
        links, shares = network.spread_shares(src, dst, shape.share)
    else:
        links, shares = network.link_shares(job, src, dst, shape.share)
    worst_per_bps = float((shares / network.capacities_bps[links]).max(initial=0.0))
    return PlacedWorkers(job, servers, slowed(replace(shape.profile, job=job), worst_per_bps), links, shares)


def slowed(profile: CommunicationProfile, per_bps: float) -> CommunicationProfile:
    """Return a profile whose phases last longer where a link would be more than full.

    Parameters
    ----------
    per_bps : float
        The part of its fullest link that each bit a second of the profile takes.

    Examples
    --------
    >>> from topoopt.clusters.interleave import Phase
    >>> alone = CommunicationProfile("a", 0.2, (Phase(0.1, 0.02, 30e9), Phase(0.15, 0.05, 50e9)))
    >>> there = slowed(alone, 2 / 50e9)
    >>> round(there.iteration_time_s, 3), [round(phase.start_s, 3) for phase in there.phases], round(there.peak_bps)
    (0.254, [0.1, 0.154], 25000000000)
    """
    phases: list[Phase] = []
    later_s = 0.0
    for phase in profile.phases:
        longer = max(phase.bandwidth_bps * per_bps, 1.0)
        phases.append(Phase(phase.start_s + later_s, phase.duration_s * longer, phase.bandwidth_bps / longer))
        later_s += phase.duration_s * (longer - 1.0)
    return CommunicationProfile(profile.job, profile.iteration_time_s + later_s, tuple(phases))
