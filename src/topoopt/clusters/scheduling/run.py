"""A trace under one or more schedulers, on a network of single workers.

The course of a cluster whose workers a scheduler gives out.

Between two events (a job comes, a job is done, leases are over) all iterations are simulated one by one, as fluids on
the links of the network. An iteration in progress at an event ends as it would have without it; then the next one
starts as it was decided.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache

import numpy as np

from topoopt.base.answers import Progress, Provenance, silent
from topoopt.base.arrays import Floats
from topoopt.catalog import NetworkRow
from topoopt.clusters.interleave import (
    SHARINGS,
    Candidate,
    CommunicationProfile,
    InterleavingRules,
    SharedLink,
    choose_placement,
)
from topoopt.clusters.result import ClusterResult, FabricRun, Schedule, ScheduledJob
from topoopt.clusters.schedulers.table import SCHEDULERS
from topoopt.clusters.scheduling.decision import Deciding
from topoopt.clusters.scheduling.iterations import StretchRules, job_slots_s, timetables
from topoopt.clusters.scheduling.model_workers import (
    ChosenPlacement,
    Interleaver,
    Machine,
    MakeWorkerJob,
    PlacedWorkers,
    Placement,
    WorkerJob,
    model_workers,
)
from topoopt.clusters.scheduling.network import ScheduleSettings, WorkerNetwork
from topoopt.clusters.scheduling.running_job import RunningJob
from topoopt.clusters.statistics import fabric_run
from topoopt.clusters.trace import Trace, TraceJob, check_fits, check_models

SHAPES_KEPT = 4096


@dataclass(frozen=True, slots=True)
class ScheduledCourse:
    """Course of a trace under a scheduler.

    Attributes
    ----------
    ended : tuple of RunningJob
        Ended jobs in order of arrival.
    changes : tuple of (float, int, int)
        Decisions: time, number of running jobs, and their servers.
    scores : tuple of float
        Mean compatibility score of the links at each decision, with CASSINI.
    """

    ended: tuple[RunningJob, ...]
    changes: tuple[tuple[float, int, int], ...]
    scores: tuple[float, ...]


class _Course:
    """Time, jobs to come, jobs that are there, and jobs that are done."""

    def __init__(self, jobs: Sequence[RunningJob], deciding: Deciding) -> None:
        self.deciding, self.settings = deciding, deciding.settings
        self.sharing = SHARINGS[self.settings.sharing]()
        self.pending = list(reversed(jobs))
        self.here: list[RunningJob] = []
        self.ended: list[RunningJob] = []
        self.changes: list[tuple[float, int, int]] = []
        self.scores: list[float] = []
        self.now_s, self.stretches = 0.0, 0

    def run(self, on_progress: Progress) -> ScheduledCourse:
        """Process event after event."""
        total = len(self.pending)
        leases = SCHEDULERS[self.settings.scheduler].leases
        while self.pending or self.here:
            arrival_s = self.pending[-1].job.arrival_s if self.pending else float("inf")
            epoch_s = self._next_epoch_s() if leases and self.here else float("inf")
            self._go_on(min(arrival_s, epoch_s))
            while self.pending and self.pending[-1].job.arrival_s <= self.now_s:
                self.here.append(self.pending.pop())
            if self.here:
                chosen = self.deciding.decide(self.here, self.now_s, self.now_s >= epoch_s)
                self.scores += [choice.score for choice in chosen]
                running = [job for job in self.here if job.placed]
                self.changes.append((self.now_s, len(running), sum(len(job.servers) for job in running)))
            elif self.ended:
                self.changes.append((self.now_s, 0, 0))
            on_progress(f"running the trace with {self.settings.name}", len(self.ended), total)
        ended = sorted(self.ended, key=lambda job: job.index)
        return ScheduledCourse(tuple(ended), tuple(self.changes), tuple(self.scores))

    def _next_epoch_s(self) -> float:
        return (self.now_s // self.settings.epoch_s + 1) * self.settings.epoch_s

    def _go_on(self, until_s: float) -> None:
        """Advance all jobs until that time, or until the first of them is done."""
        running = [job for job in self.here if job.placed]
        going = [job for job in running if job.left]
        rules = StretchRules(self.sharing, self.settings.jitter, self.settings.seed + self.stretches)
        capacities_bps = self.deciding.network.capacities_bps
        tables = timetables([job.iterating for job in going], capacities_bps, self.now_s, until_s, rules)
        self.stretches += 1
        training = [(job, table) for job, table in zip(going, tables, strict=True) if not job.job.serving]
        ends_s = [table.bound_s(job.left) for job, table in training]
        ends_s += [job.end_s for job in running if not job.left or job.job.serving]
        stop_s = min([until_s, *ends_s])
        for job, table in zip(going, tables, strict=True):
            job.advance(table, stop_s)
        self.now_s = max(self.now_s, stop_s)
        for job in [job for job in self.here if job.end_s <= self.now_s]:
            self.here.remove(job)
            self.ended.append(job)


DEFAULT_RULES = InterleavingRules()
"""Links are merged, and the best of several quanta is used."""


@dataclass(frozen=True, eq=False)
class Cassini:
    """An :class:`~topoopt.clusters.scheduling.model_workers.Interleaver`; make it with :func:`cassini`.

    Attributes
    ----------
    cables : tuple of str
        Cable of each directed link: both directions of a cable have the same name.
    rules : InterleavingRules
    """

    cables: tuple[str, ...]
    rules: InterleavingRules

    def __call__(self, candidates: Sequence[Placement], capacities_bps: Floats) -> ChosenPlacement:
        """Return the placement with the best mean score of its links, and the shifts of its jobs."""
        links = [
            Candidate(str(number), self._shared(placement, capacities_bps))
            for number, placement in enumerate(candidates)
        ]
        choice = choose_placement(links, self.rules)
        jobs = [placed.job for placed in candidates[choice.chosen]]
        best = choice.best
        shifts_s, slots_s = best.time_shifts_s, job_slots_s(best)
        place = {job: number for number, job in enumerate(jobs)}
        groups = [] if best.loop else [group for group in best.graph.components() if len(group) > 1]
        return ChosenPlacement(
            choice.chosen,
            best.score,
            tuple(shifts_s.get(job, 0.0) for job in jobs),
            tuple(slots_s.get(job, 0.0) for job in jobs),
            tuple(tuple(place[job] for job in group) for group in groups),
        )

    def _shared(self, placement: Placement, capacities_bps: Floats) -> tuple[SharedLink, ...]:
        """Return the links that several jobs use, with the capacity that continuously sending jobs leave.

        Nothing is gained by shifting those, which are served models: the others are shifted around them.
        """
        users: dict[int, list[CommunicationProfile]] = {}
        sending = [
            placed for placed in placement if placed.profile.phases and not sends_always(placed.profile)
        ]
        left_bps = _left(placement, capacities_bps)
        counts = np.bincount(np.concatenate([placed.links for placed in sending] or [np.zeros(0, np.int64)]))
        for placed in sending:
            by_share: dict[float, CommunicationProfile] = {}
            for link, share in zip(placed.links.tolist(), placed.shares.tolist(), strict=True):
                if counts[link] > 1:
                    profile = by_share.setdefault(share, _scaled(placed, share))
                    users.setdefault(link, []).append(profile)
        return tuple(
            SharedLink(f"link {link}", float(left_bps[link]), tuple(users[link]), self.cables[link])
            for link in sorted(users)
        )


@dataclass(frozen=True, eq=False)
class ScheduledCluster:
    """A network, its servers, and the schedulers to run on it one after the other.

    Attributes
    ----------
    schedules : tuple of ScheduleSettings
        One or more schedules with the same seed and weighting.
    """

    network: WorkerNetwork
    machine: Machine
    schedules: tuple[ScheduleSettings, ...]


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
    described = {
        "network": f"{cluster.network.fabric.name}: {cluster.network.description}",
        "weighting": cluster.schedules[0].weighting,
        "machine": asdict(cluster.machine),
        "schedules": [asdict(schedule) for schedule in cluster.schedules],
    }
    return ClusterResult(
        trace.name,
        first.seed,
        cluster.network.servers,
        1,
        cluster.network.server_bandwidth_bps,
        Provenance(first.seed, dict(inputs or {})),
        runs,
        described,
    )


def _run(
    trace: Trace, cluster: ScheduledCluster, schedule: ScheduleSettings, on_progress: Progress
) -> FabricRun:
    network = replace(cluster.network, seed=schedule.seed)
    chooser = (cassini(network, InterleavingRules(merging=schedule.merging)),) if schedule.cassini else ()
    make = model_workers(cluster.machine)
    course = run_scheduled(trace, network, make, schedule, chooser, on_progress)
    rules = SCHEDULERS[schedule.scheduler]
    named = NetworkRow(network.fabric.name, rules.description, network.server_bandwidth_bps)
    run = fabric_run(
        named, course.ended, course.changes, servers=network.servers, weighting=schedule.weighting
    )
    jobs = tuple(
        ScheduledJob(job.alone_s / job.iterations, job.marks / job.iterations) for job in course.ended
    )
    weights = [1.0 if schedule.weighting == "jobs" else job.iterations for job in course.ended]
    marks = float(np.average([job.ecn_marks_per_iteration for job in jobs], weights=weights))
    score = float(np.mean(course.scores)) if course.scores else None
    return replace(run, schedule=Schedule(schedule.name, marks, len(course.changes), score, jobs))


def cassini(network: WorkerNetwork, rules: InterleavingRules = DEFAULT_RULES) -> Cassini:
    """Return the interleaver that chooses among placements on a network."""
    topology = network.fabric.topology
    seen: dict[tuple[int, int], int] = {}
    cables = []
    for ends in zip(topology.src.tolist(), topology.dst.tolist(), strict=True):
        number = seen[ends] = seen.get(ends, -1) + 1
        cables.append(f"cable {min(ends)}-{max(ends)} {number}")
    return Cassini(tuple(cables), rules)


def sends_always(profile: CommunicationProfile) -> bool:
    """Return whether a job sends at one rate from one iteration to the next, as a served model does on average."""
    return len(profile.phases) == 1 and profile.phases[0].duration_s >= profile.iteration_time_s


def _left(placement: Placement, capacities_bps: Floats) -> Floats:
    """Return the capacity that continuously sending jobs leave on each link, at least a fair share."""
    left_bps, jobs = capacities_bps.astype(float), np.ones(len(capacities_bps))
    for placed in placement:
        jobs[placed.links] += 1
        if placed.profile.phases and sends_always(placed.profile):
            left_bps[placed.links] -= placed.shares * placed.profile.peak_bps
    return np.asarray(np.maximum(left_bps, capacities_bps / jobs))


def _scaled(placed: PlacedWorkers, share: float) -> CommunicationProfile:
    """Return a job's profile on a link with this share of its rate."""
    phases = tuple(
        replace(phase, bandwidth_bps=phase.bandwidth_bps * share) for phase in placed.profile.phases
    )
    return CommunicationProfile(placed.job, placed.profile.iteration_time_s, phases)


def run_scheduled(
    trace: Trace,
    network: WorkerNetwork,
    make: MakeWorkerJob,
    settings: ScheduleSettings,
    interleavers: tuple[Interleaver, ...] = (),
    on_progress: Progress = silent,
) -> ScheduledCourse:
    """Run a trace until its last job is done.

    Parameters
    ----------
    make : function of TraceJob and workers to WorkerJob
    interleavers : tuple of Interleaver
        One with CASSINI, by the settings.

    Raises
    ------
    InvalidInput
        If a job is larger than the cluster.
    """
    check_fits(trace, network.servers)
    shape_on = lru_cache(SHAPES_KEPT)(make)
    jobs = [_arriving(number, job, shape_on, settings) for number, job in enumerate(trace.jobs)]
    if SCHEDULERS[settings.scheduler].dedicated:
        # let every job run by itself on the workers that it asks for, as soon as it comes
        for job in jobs:
            job.run_alone()
        moments = [(job.job.arrival_s, 1, len(job.servers)) for job in jobs]
        moments += [(job.end_s, -1, -len(job.servers)) for job in jobs]
        times_s, count, servers = zip(*sorted(moments), strict=True)
        changes = zip(times_s, np.cumsum(count).tolist(), np.cumsum(servers).tolist(), strict=True)
        return ScheduledCourse(tuple(jobs), tuple(changes), ())
    rng = np.random.default_rng(settings.seed)
    return _Course(jobs, Deciding(network, settings, interleavers, rng)).run(on_progress)


def _arriving(number: int, job: TraceJob, shape_on: MakeWorkerJob, settings: ScheduleSettings) -> RunningJob:
    def on(workers: int) -> WorkerJob:
        return shape_on(job, workers)

    return RunningJob(number, job, on, settings)
