"""A job that has come: its workers, how far it is, and how long its iterations took."""

import zlib
from collections import Counter
from collections.abc import Callable
from functools import cached_property

import numpy as np

from topoopt.clusters.result import ServedRecord
from topoopt.clusters.schedulers.scheduler import Claim
from topoopt.clusters.scheduling.iterations import Iterating, Timetable, undisturbed
from topoopt.clusters.scheduling.model_workers import PlacedWorkers, WorkerJob
from topoopt.clusters.scheduling.network import ScheduleSettings
from topoopt.clusters.served_job import sends_time
from topoopt.clusters.statistics import CountedJob
from topoopt.clusters.trace import TraceJob

TIME_DIGITS = 6
"""Decimal digits of iteration times in s, so that equal ones are counted together."""
WHOLE = 1e-6
"""Fraction of an iteration below which the rest needs no further one."""


class RunningJob(CountedJob):
    """A job from arrival to end.

    Attributes
    ----------
    placed : PlacedWorkers or None
        Placement; None while it waits.
    next_start_s : float
        Start of the iteration after the simulated ones.
    end_s : float
        End of its last iteration; infinite until that is simulated. A served model ends when it has stayed for
        as long as the trace gives, however long its sends take.
    marks : float
        Packets with an ECN mark, estimated.
    """

    def __init__(
        self, index: int, job: TraceJob, shape_on: Callable[[int], WorkerJob], settings: ScheduleSettings
    ) -> None:
        super().__init__(index, job)
        self.shape_on = shape_on
        self._noise_scale = settings.noise_scale
        self._late = _drawn(settings.seed, job.job) if settings.staggered and not job.serving else 0.0
        self.placed: PlacedWorkers | None = None
        self.next_start_s = job.arrival_s
        self.pace, self.slot_s, self.marks = 1.0, 0.0, 0.0
        self.group: int | None = None
        self.work = job.iterations or max(
            job.duration_s / shape_on(job.servers).profile.iteration_time_s, 1.0
        )
        self._waiting_s = 0.0

    @property
    def servers(self) -> tuple[int, ...]:
        """Present servers; none while it waits."""
        return self.placed.servers if self.placed else ()

    @property
    def least(self) -> int:
        """The smallest number of workers that it can run on."""
        return self.job.min_servers or self.job.servers

    @cached_property
    def most(self) -> int:
        """The largest number of workers that it can use."""
        return self.job.max_servers or self.job.servers

    @cached_property
    def _rates_per_s(self) -> tuple[float, ...]:
        """Return the work in a second on 1, 2 ... workers; 0 for fewer than it runs on."""
        counts = range(self.least, self.most + 1)
        times_s = [self.shape_on(count).profile.iteration_time_s for count in counts]
        some = (count / self.job.servers / time_s for count, time_s in zip(counts, times_s, strict=True))
        return (*[0.0] * (self.least - 1), *some)

    @cached_property
    def _efficiencies(self) -> tuple[float, ...]:
        """Return the statistical efficiency (φ + M0) / (φ + M) of a batch M larger than M0 (Pollux, equation 7)."""
        ratios = [max(count / self.job.servers, 1.0) for count in range(1, self.most + 1)]
        return tuple((self._noise_scale + 1.0) / (self._noise_scale + ratio) for ratio in ratios)

    @property
    def worth(self) -> float:
        """Work done in one of its current iterations."""
        workers = len(self.servers)
        return workers / self.job.servers * self._efficiencies[workers - 1]

    def claim(self, held: int) -> Claim:
        """Return the job's claim for a scheduler."""
        left = max(self.work - self.done, 1e-9 * self.work)
        return Claim(
            self.job.job,
            self.job.arrival_s,
            self.job.servers,
            self.least,
            self.most,
            held,
            self.work,
            left,
            self._rates_per_s,
            self._efficiencies,
        )

    @property
    def left(self) -> int:
        """Iterations to do on the current workers; for a served model those that fit its stay."""
        if self.job.serving and self.placed:
            stays = (self.end_s - self.next_start_s) / self.placed.profile.iteration_time_s
            return max(int(np.ceil(stays - WHOLE)), 0)
        return max(int(np.ceil((self.work - self.done) / self.worth - WHOLE)), 0)

    @property
    def iterating(self) -> Iterating:
        """State for the next stretch of simulation."""
        assert self.placed is not None
        return Iterating(self.placed, self.next_start_s, self.left, self.pace, self.slot_s, self.group)

    def place(self, placed: PlacedWorkers | None, now_s: float, restart_s: float) -> None:
        """Move to other workers after the current iteration, or wait without any."""
        before, self.placed = self.servers, placed
        if placed is None:
            self._resizes.append((now_s, 0))
            return
        self.next_start_s = max(self.next_start_s, now_s)
        if not self._first_servers:
            if self.job.serving:
                self.end_s = self.next_start_s + self.job.duration_s
            self.next_start_s += self._late * placed.profile.iteration_time_s
            self._first_servers, self._assigned_s, self._start_s = placed.servers, now_s, self.next_start_s
            return
        self.next_start_s += restart_s
        self._stopped_s += restart_s
        self.moves += len(set(placed.servers).difference(before))
        if len(placed.servers) != len(before):
            self._resizes.append((now_s, len(placed.servers)))

    def wait(self, start_s: float) -> None:
        """Start the next iteration later, which then counts as longer by the wait."""
        self._waiting_s += start_s - self.next_start_s
        self.next_start_s = start_s

    def advance(self, table: Timetable, until_s: float) -> None:
        """Count the iterations that start before a time; the current one ends before the next start."""
        count = table.started_before(until_s, self.left)
        if not count:
            return
        times_s, often = table.times_s(count)
        if self._waiting_s:
            times_s, often = np.append(times_s, times_s[0] + self._waiting_s), np.append(often, 1.0)
            often[0] -= 1.0
            self._waiting_s = 0.0
        for time_s, times in zip(np.round(times_s, TIME_DIGITS).tolist(), often.tolist(), strict=True):
            if times:
                self.weights[time_s] += times
        assert self.placed is not None
        span_s = float(times_s @ often)
        self.pace = span_s / count / self.placed.profile.iteration_time_s
        self.iterations += count
        self.run_s += span_s
        self.marks += table.ecn_marks(count)
        self.alone_s += count * self.shape_on(len(self.servers)).profile.iteration_time_s
        self.done += count * self.worth
        self.next_start_s = table.bound_s(count)
        if not self.left and not self.job.serving:
            self.end_s = self.next_start_s

    def run_alone(self) -> None:
        """Run all iterations on a dedicated cluster, on the requested workers."""
        shape, workers = self.shape_on(self.job.servers), tuple(range(self.job.servers))
        nothing = np.zeros(0)
        self.place(
            PlacedWorkers(self.job.job, workers, shape.profile, nothing.astype(np.int64), nothing),
            self.job.arrival_s,
            0.0,
        )
        self.advance(undisturbed(self.next_start_s, shape.profile.iteration_time_s), float("inf"))

    def _served(self) -> ServedRecord:
        """Return the slowdown of a served model's sends."""
        while_s = self.shape_on(self.job.servers).profile.iteration_time_s
        beside = sends_time(self.weights)
        return ServedRecord(beside, sends_time(Counter([while_s])), max(beside.mean / while_s, 1.0))


def _drawn(seed: int, job: str) -> float:
    return float(np.random.default_rng([seed, zlib.crc32(job.encode())]).random())
