"""Policies by which jobs share links, in the fluid model: one function per policy, in one table."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.base.errors import InvalidInput
from topoopt.base.limits import whole
from topoopt.clusters.interleave.interleaving import interleave
from topoopt.clusters.interleave.periodic.periodic_job import (
    LinkSharing,
    PeriodicJob,
    PeriodicRun,
    fair_sharing,
    mltcp_sharing,
    static_sharing,
)
from topoopt.clusters.interleave.periodic.periodic_jobs import run_periodic_jobs
from topoopt.clusters.interleave.profiles.profile import CommunicationProfile, Phase
from topoopt.simulation import Aggressiveness

MOST_NOISE = 0.5
MOST_OFFSET = 1000.0
"""Most communications of a job by which each later one starts behind the one before."""


@dataclass(frozen=True, slots=True)
class SharingQuestion:
    """Jobs that share one link.

    Attributes
    ----------
    profiles : tuple of CommunicationProfile
    iterations : int
        Iterations of the longest job.
    offset : float
        Each job begins so much of the first job's communication after the one before it. At 0 jobs that are alike stay
        together forever, also under MLTCP: nothing distinguishes them.
    aggressiveness : Aggressiveness
        MLTCP's F.
    learning_iterations : int
        Iterations in which MLTCP learns its totals; 0 where they are given.
    static_part : float
        Share of the link that a job gets relative to the next one under static unfairness.
    noise : float
        Standard deviation of computing times, as a part of them.
    seed : int
        Random seed of the noise.

    Raises
    ------
    InvalidInput
        For no job, and numbers that cannot be.
    """

    profiles: tuple[CommunicationProfile, ...]
    capacity_bps: float
    iterations: int = 20
    offset: float = 0.05
    aggressiveness: Aggressiveness = field(default_factory=Aggressiveness)
    learning_iterations: int = 0
    static_part: float = 0.6
    noise: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        if not self.profiles:
            raise InvalidInput("jobs: expected at least one, got none; give job files, or communication=0.4")
        if not 0 < self.capacity_bps < math.inf:
            raise InvalidInput(
                f"capacity: expected a rate > 0 of the link that the jobs share, such as 50Gbps, got "
                f"{self.capacity_bps:g} b/s"
            )
        whole("iterations", self.iterations, 1)
        whole("learn", self.learning_iterations)
        whole("seed", self.seed)
        if not 0 <= self.offset <= MOST_OFFSET:
            raise InvalidInput(
                f"offset {self.offset:g}: expected a part of the communication from 0 to {MOST_OFFSET:g}"
            )
        if not 0 <= self.noise <= MOST_NOISE:
            raise InvalidInput(
                f"noise {self.noise:g}: expected a part of the computing time, 0..{MOST_NOISE:g}"
            )
        static_sharing(self.static_part)  # refuses what is no part

    @property
    def begins_s(self) -> tuple[float, ...]:
        """Start of each job."""
        first = self.profiles[0]
        step_s = self.offset * first.duty * first.iteration_time_s
        return tuple(number * step_s for number in range(len(self.profiles)))


SETTLED = 0.5
"""Last part of all iterations, in which jobs have settled."""


@dataclass(frozen=True, slots=True, eq=False)
class JobCourse:
    """The iterations of a job, arrays of shape (iterations,).

    Attributes
    ----------
    job : str
    time_s : array
    offset_s : array
        Delay between the first job's last start of sending and this job's.
    ecn_marks : float
        Packets with a mark, of all iterations; of fluids an estimate (:class:`topoopt.clusters.interleave.LinkUse`).
    """

    job: str
    time_s: Floats
    offset_s: Floats
    ecn_marks: float

    @property
    def settled_s(self) -> float:
        """The mean time of the last iterations."""
        return float(self.time_s[-max(1, int(len(self.time_s) * SETTLED)) :].mean())


@dataclass(frozen=True, slots=True, eq=False)
class SharingCourse:
    """Course of all jobs under one sharing policy."""

    way: str
    jobs: tuple[JobCourse, ...]

    @property
    def time_s(self) -> Floats:
        """The times of all iterations of all jobs, job by job."""
        return np.concatenate([job.time_s for job in self.jobs])

    @property
    def ecn_marks(self) -> float:
        """ECN marks of all jobs."""
        return sum(job.ecn_marks for job in self.jobs)

    def slowdown(self, alone_s: Sequence[float]) -> float:
        """Return the mean of the jobs' settled iteration times over those on links of their own."""
        return float(
            np.mean([job.settled_s / time_s for job, time_s in zip(self.jobs, alone_s, strict=True)])
        )


COMPATIBLE = 1.0 - 1e-9
"""CASSINI's score from which jobs are held to their shifts: where they do not fit, they would wait for ever."""


@dataclass(frozen=True, slots=True)
class Way:
    """A sharing policy: its description, and the function that simulates it."""

    text: str
    course: Callable[[str, SharingQuestion], SharingCourse]


def _mltcp(way: str, asked: SharingQuestion) -> SharingCourse:
    sharing = mltcp_sharing(asked.aggressiveness, learning_iterations=asked.learning_iterations)
    return _shared(way, asked, sharing, asked.begins_s)


def _fair(way: str, asked: SharingQuestion) -> SharingCourse:
    return _shared(way, asked, fair_sharing(), asked.begins_s)


def _static(way: str, asked: SharingQuestion) -> SharingCourse:
    return _shared(way, asked, static_sharing(asked.static_part), asked.begins_s)


def _cassini(way: str, asked: SharingQuestion) -> SharingCourse:
    """Start jobs at their time shifts; with noise they are kept at them, where they fit."""
    try:
        found = interleave(asked.profiles, asked.capacity_bps, seed=asked.seed)
    except InvalidInput as error:
        raise InvalidInput(f"way cassini: {error}; or leave it out, such as with ways mltcp,fair") from error
    held = asked.noise > 0 and found.score >= COMPATIBLE
    return _shared(way, asked, fair_sharing(), found.time_shifts_s, held=held)


def _ideal(way: str, asked: SharingQuestion) -> SharingCourse:
    """Simulate each job on a dedicated link."""
    return _run(way, asked, fair_sharing(), _jobs(asked, asked.begins_s, own_links=True))


def _shared(
    way: str, asked: SharingQuestion, sharing: LinkSharing, begins_s: Sequence[float], held: bool = False
) -> SharingCourse:
    return _run(way, asked, sharing, _jobs(asked, begins_s, held=held))


def _jobs(
    asked: SharingQuestion, begins_s: Sequence[float], *, held: bool = False, own_links: bool = False
) -> list[PeriodicJob]:
    return [
        PeriodicJob(
            profile,
            {number if own_links else 0: 1.0},
            begin_s,
            noise=asked.noise,
            slot_s=profile.iteration_time_s if held else 0.0,
        )
        for number, (profile, begin_s) in enumerate(zip(asked.profiles, begins_s, strict=True))
    ]


def _run(
    way: str, asked: SharingQuestion, sharing: LinkSharing, jobs: Sequence[PeriodicJob]
) -> SharingCourse:
    capacities_bps = [asked.capacity_bps] * len(jobs)
    run = run_periodic_jobs(
        jobs, capacities_bps, sharing=sharing, iterations=asked.iterations, seed=asked.seed
    )
    return course_of_run(way, run, asked.iterations)


SHARING_WAYS: Mapping[str, Way] = {
    "mltcp": Way("weights by MLTCP's F of the bytes that a job has sent", _mltcp),
    "fair": Way("equal weights, as plain congestion control shares", _fair),
    "static": Way("unequal weights that stay", _static),
    "cassini": Way("equal weights, and each job begins at CASSINI's time shift", _cassini),
    "ideal": Way("a link for each job", _ideal),
}
"""Sharing policies by name, in the order in which they are shown."""


def course_of_run(way: str, run: PeriodicRun, iterations: int) -> SharingCourse:
    """Return the course of a run with the given number of iterations per job."""
    first = run.jobs[0].send_s
    return SharingCourse(
        way,
        tuple(
            JobCourse(
                job.job,
                job.time_s[:iterations],
                offsets_s(first, job.send_s[:iterations]),
                float(job.marks[:iterations].sum()),
            )
            for job in run.jobs
        ),
    )


def offsets_s(first_s: Floats, send_s: Floats) -> Floats:
    """Return the delay of each start of a job since the first job's last start; negative where that has not begun.

    Examples
    --------
    >>> offsets_s(np.array([0.0, 1.0]), np.array([0.25, 1.5, 1.75])).tolist()
    [0.25, 0.5, 0.75]
    """
    if not len(first_s):
        return np.zeros(len(send_s))
    slack_s = 1e-12 * (1.0 + np.abs(send_s))
    before = np.searchsorted(first_s, send_s + slack_s, side="right") - 1
    offset_s: Floats = send_s - first_s[np.maximum(before, 0)]
    return np.where(np.abs(offset_s) <= slack_s, 0.0, offset_s)


def equal_jobs(communication: tuple[float, ...], period_s: float, capacity_bps: float) -> SharingQuestion:
    """Return the question of jobs of one period that each send for a part of it at the full rate of the link.

    Raises
    ------
    InvalidInput
        For a part that is not in 0 < part < 1.

    Examples
    --------
    >>> [profile.job for profile in equal_jobs((0.4, 0.4), 0.1, 50e9).profiles]
    ['job 0', 'job 1']
    """
    for part in communication:
        if not 0 < part < 1:
            raise InvalidInput(f"communication {part:g}: expected a part of the period, 0 < part < 1")
    profiles = tuple(
        CommunicationProfile(f"job {number}", period_s, (Phase(0.0, part * period_s, capacity_bps),))
        for number, part in enumerate(communication)
    )
    return SharingQuestion(profiles, capacity_bps)
