"""The course of a cluster whose workers a scheduler gives out.

Between two events (a job comes, a job is done, leases are over) all iterations are simulated one by one, as fluids on
the links of the network. An iteration that is under way at an event ends as it would have without it; then the next one
starts as it was decided.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from topoopt.clusters.interleave import SHARINGS
from topoopt.clusters.job_plans import Progress, silent
from topoopt.clusters.scheduled.decision import Deciding
from topoopt.clusters.scheduled.network import WorkerNetwork
from topoopt.clusters.scheduled.placement import Interleaver
from topoopt.clusters.scheduled.running_job import RunningJob
from topoopt.clusters.scheduled.settings import ScheduleSettings
from topoopt.clusters.scheduled.stretch import StretchRules, timetables
from topoopt.clusters.scheduled.worker_job import MakeWorkerJob, WorkerJob
from topoopt.clusters.schedulers.table import SCHEDULERS
from topoopt.clusters.trace import Trace, TraceJob, check_fits

SHAPES_KEPT = 4096


@dataclass(frozen=True, slots=True)
class ScheduledCourse:
    """What happened.

    Attributes
    ----------
    ended : tuple of RunningJob
        In order of arrival.
    changes : tuple of (float, int, int)
        At each decision: the time, how many jobs run, on how many servers.
    scores : tuple of float
        With CASSINI, the mean compatibility score of the links at each decision.
    """

    ended: tuple[RunningJob, ...]
    changes: tuple[tuple[float, int, int], ...]
    scores: tuple[float, ...]


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
        One where the settings want CASSINI.

    Raises
    ------
    InvalidInput
        If a job is larger than the cluster.
    """
    check_fits(trace, network.servers)
    shape_on = lru_cache(SHAPES_KEPT)(make)
    jobs = [_arriving(number, job, shape_on, settings) for number, job in enumerate(trace.jobs)]
    if SCHEDULERS[settings.scheduler].dedicated:
        return _dedicated(jobs)
    rng = np.random.default_rng(settings.seed)
    return _Course(jobs, Deciding(network, settings, interleavers, rng)).run(on_progress)


def _arriving(number: int, job: TraceJob, shape_on: MakeWorkerJob, settings: ScheduleSettings) -> RunningJob:
    def on(workers: int) -> WorkerJob:
        return shape_on(job, workers)

    return RunningJob(number, job, on, settings)


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
        """Go from event to event."""
        total = len(self.pending)
        leases = SCHEDULERS[self.settings.scheduler].leases
        while self.pending or self.here:
            arrival_s = self.pending[-1].job.arrival_s if self.pending else float("inf")
            epoch_s = self._next_epoch_s() if leases and self.here else float("inf")
            self._go_on(min(arrival_s, epoch_s))
            while self.pending and self.pending[-1].job.arrival_s <= self.now_s:
                self.here.append(self.pending.pop())
            if self.here:
                self._decide(renewed=self.now_s >= epoch_s)
            elif self.ended:
                self.changes.append((self.now_s, 0, 0))
            on_progress(f"running the trace with {self.settings.name}", len(self.ended), total)
        ended = sorted(self.ended, key=lambda job: job.index)
        return ScheduledCourse(tuple(ended), tuple(self.changes), tuple(self.scores))

    def _next_epoch_s(self) -> float:
        """Return when all leases are over next."""
        return (self.now_s // self.settings.epoch_s + 1) * self.settings.epoch_s

    def _go_on(self, until_s: float) -> None:
        """Let all run until then, or until the first of them is done."""
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

    def _decide(self, renewed: bool) -> None:
        chosen = self.deciding.decide(self.here, self.now_s, renewed)
        self.scores += [choice.score for choice in chosen]
        running = [job for job in self.here if job.placed]
        self.changes.append((self.now_s, len(running), sum(len(job.servers) for job in running)))


def _dedicated(jobs: Sequence[RunningJob]) -> ScheduledCourse:
    """Let every job run by itself on the workers that it asks for, as soon as it comes."""
    for job in jobs:
        job.run_alone()
    moments = [(job.job.arrival_s, 1, len(job.servers)) for job in jobs]
    moments += [(job.end_s, -1, -len(job.servers)) for job in jobs]
    times_s, count, servers = zip(*sorted(moments), strict=True)
    changes = zip(times_s, np.cumsum(count).tolist(), np.cumsum(servers).tolist(), strict=True)
    return ScheduledCourse(tuple(jobs), tuple(changes), ())
