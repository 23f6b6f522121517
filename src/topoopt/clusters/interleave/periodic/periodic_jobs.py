"""Jobs that repeat and share links, as fluids: the simulator of communication profiles."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.base.errors import InvalidInput
from topoopt.base.limits import whole
from topoopt.base.units import format_bandwidth
from topoopt.clusters.interleave.periodic.periodic_job import (
    JobIterations,
    LinkSharing,
    LinkUse,
    PeriodicJob,
    PeriodicRun,
    fair_sharing,
)
from topoopt.clusters.interleave.periodic.periodic_jobs_kernel import run_periodic
from topoopt.clusters.interleave.periodic.periodic_state import (
    COMMUNICATION,
    ENDED,
    LOGGED,
    MARKS,
    NOW,
    SENT_FIRST,
    STARTED,
    Course,
    Phases,
)
from topoopt.simulation import Links, Report, Sharing, make_links, make_sharing

REST = 0.9
"""MLTCP counts bytes anew after a gap of more than this part of the computing time, the longest gap."""
QUANTUM = 1 / 32
"""Bytes ratio between two changes of weights."""
ROOM = 4096
"""Iterations that the log has room for at first, besides one a job."""


class PeriodicArrays(NamedTuple):
    """All that the kernel is given."""

    phases: Phases
    course: Course
    sharing: Sharing
    net: Links


class Step(NamedTuple):
    """A phase with bytes: of a job, after a gap, on links. A job without any has one without bytes."""

    size_bytes: float
    bandwidth_bps: float
    gap_s: float
    links: tuple[tuple[int, float], ...]


CHANGES = 1_000_000
"""Changes of rates between two looks at the log, at the progress and for Ctrl-C: some tenths of a second."""


def run_periodic_jobs(
    jobs: Sequence[PeriodicJob],
    capacities_bps: Sequence[float] | Floats,
    *,
    sharing: LinkSharing | None = None,
    iterations: int | None = None,
    until_s: float = math.inf,
    seed: int = 0,
    packet_bytes: float = 4096.0,
    on_progress: Report | None = None,
) -> PeriodicRun:
    """Simulate jobs that repeat their profiles on links shared max-min fairly, by weight.

    Parameters
    ----------
    jobs
        The order matters for static sharing only.
    capacities_bps
        Capacities of links 0, 1 and so on.
    sharing
        Rule for the weights; by default all are 1.
    iterations
        Iterations of each job before the run ends; short jobs go on until then. A job that is gone earlier has its
        own number.
    until_s
        The run ends then, at the latest.
    seed
        Random seed of the computing noise. A job's noise does not depend on the other jobs.
    packet_bytes
        Bytes per packet, for the estimate of ECN marks (:class:`LinkUse`).
    on_progress
        Called with the part that is done.

    Returns
    -------
    PeriodicRun

    Raises
    ------
    InvalidInput
        For invalid links and numbers, and if the run has no end.

    Examples
    --------
    >>> from topoopt.clusters.interleave import CommunicationProfile, Phase
    >>> phases = (Phase(0.0, 0.04, 50e9),)
    >>> profiles = [CommunicationProfile(name, 0.1, phases) for name in ("a", "b")]
    >>> together = [PeriodicJob(profiles[0]), PeriodicJob(profiles[1], begin_s=0.01)]
    >>> run = run_periodic_jobs(together, [50e9], iterations=3)
    >>> (run.jobs[0].time_s * 1e3).round(6).tolist()
    [130.0, 130.0, 130.0]
    """
    arrays = make_arrays(jobs, capacities_bps, sharing or fair_sharing(), iterations, packet_bytes)
    if iterations is None and until_s == math.inf and any(job.iterations is None for job in jobs):
        raise InvalidInput("periodic jobs: nothing says when the run ends; give iterations or until_s")
    if until_s <= 0 or math.isnan(until_s):
        raise InvalidInput(f"until_s {until_s:g}: expected a time > 0")
    if not 0 < packet_bytes < math.inf:
        raise InvalidInput(f"packet_bytes {packet_bytes:g}: expected a finite size > 0")
    whole("seed", seed)
    arrays = _run(arrays, until_s, seed, on_progress)
    return _answer(jobs, arrays, until_s)


def _run(arrays: PeriodicArrays, until_s: float, seed: int, on_progress: Report | None) -> PeriodicArrays:
    """Run to the end, a slice at a time, with more room for the log where it is full."""
    while not run_periodic(*arrays, until_s, seed, CHANGES):
        course = arrays.course
        if on_progress is not None:
            wanted = np.maximum(arrays.phases.wanted, 1)
            by_iterations = (
                float((arrays.course.done / wanted).min()) if (arrays.phases.wanted > 0).any() else 0.0
            )
            done = min(1.0, max(by_iterations, float(arrays.course.scale[NOW]) / until_s))
            on_progress(done)
        if course.tally[LOGGED] + len(course.phase) > len(course.log_job):
            arrays = more_room(arrays)
    return arrays


def _answer(jobs: Sequence[PeriodicJob], arrays: PeriodicArrays, until_s: float) -> PeriodicRun:
    course = arrays.course
    logged = int(course.tally[LOGGED])
    log, of = course.log[:logged], course.log_job[:logged]
    of = np.where(log[:, ENDED] <= until_s, of, -1)
    iterations = tuple(
        JobIterations(
            job=job.profile.job,
            alone_s=job.profile.iteration_time_s,
            start_s=(rows := log[of == number])[:, STARTED],
            send_s=rows[:, SENT_FIRST],
            communication_s=rows[:, COMMUNICATION],
            end_s=rows[:, ENDED],
            marks=rows[:, MARKS],
            sent_bytes=float(course.carried[number]),
            realignments=int(course.realigned[number]),
        )
        for number, job in enumerate(jobs)
    )
    columns = (course.link_carried, course.link_over, course.link_marks)
    links = tuple(LinkUse(*row) for row in zip(*(column.tolist() for column in columns), strict=True))
    return PeriodicRun(iterations, links, float(course.scale[NOW]))


def make_arrays(
    jobs: Sequence[PeriodicJob],
    capacities_bps: Sequence[float] | Floats,
    sharing: LinkSharing,
    iterations: int | None,
    packet_bytes: float,
) -> PeriodicArrays:
    """Return the arrays in which every job is about to compute for the first time.

    Raises
    ------
    InvalidInput
        For no job, links that are not there, and capacities or coefficients that are not positive.
    """
    capacity = np.asarray(capacities_bps, np.float64) / 8.0
    _check(jobs, capacity)
    if iterations is not None:
        whole("iterations", iterations, 1)
    steps = [_steps(job) for job in jobs]
    flat = [step for row in steps for step in row]
    phases = _phases(jobs, steps, sharing, iterations)
    ceiling = np.array([step.bandwidth_bps / 8.0 for step in flat])
    class_first = np.cumsum([0, *(len(step.links) for step in flat)])
    class_link = np.array([link for step in flat for link, _ in step.links], np.int64)
    coefficient = np.array([part for step in flat for _, part in step.links], np.float64)
    most = coefficient * np.repeat(ceiling, np.diff(class_first)) / capacity[class_link]
    none = np.zeros(0)
    return PeriodicArrays(
        phases,
        _course(jobs, phases, len(capacity), packet_bytes),
        make_sharing(np.zeros(0, np.int64), none, none, len(flat), ceiling),
        make_links(class_first, class_link, coefficient, capacity, most=most),
    )


def more_room(arrays: PeriodicArrays) -> PeriodicArrays:
    """Return the arrays with twice the room in the log."""
    course = arrays.course
    log = np.concatenate([course.log, np.zeros_like(course.log)])
    log_job = np.concatenate([course.log_job, np.zeros_like(course.log_job)])
    return arrays._replace(course=course._replace(log=log, log_job=log_job))


def _check(jobs: Sequence[PeriodicJob], capacity: Floats) -> None:
    if not jobs:
        raise InvalidInput("periodic jobs: expected at least one, got none")
    for link, size in enumerate(capacity.tolist()):
        if not 0 < size < math.inf:
            raise InvalidInput(
                f"link {link}: capacity {format_bandwidth(8 * size)}: expected a finite bandwidth > 0"
            )
    for job in jobs:
        for place in range(len(job.profile.phases)):
            for link, part in job.phase_links(place).items():
                if not 0 <= link < len(capacity):
                    raise InvalidInput(
                        f"job {job.profile.job}: link {link}: there are links 0..{len(capacity) - 1}; give its capacity"
                    )
                if not 0 < part < math.inf:
                    raise InvalidInput(
                        f"job {job.profile.job}: link {link}: coefficient {part:g}: expected a finite number > 0"
                    )


def _steps(job: PeriodicJob) -> list[Step]:
    """Return the phases of a job that have bytes; the gap of the first is that around the end of an iteration."""
    phases = [
        (phase, tuple(sorted(job.phase_links(place).items())))
        for place, phase in enumerate(job.profile.phases)
        if phase.bandwidth_bps > 0
    ]
    if not phases:
        return [Step(0.0, 1.0, job.profile.iteration_time_s, ())]
    before_s = phases[-1][0].end_s - job.profile.iteration_time_s
    steps = []
    for phase, links in phases:
        steps.append(Step(phase.size_bytes, phase.bandwidth_bps, max(phase.start_s - before_s, 0.0), links))
        before_s = phase.end_s
    return steps


def _bursts(steps: Sequence[Step]) -> tuple[list[int], float]:
    """Return the steps at which MLTCP restarts its byte count, and the largest count."""
    rest_s = REST * max(step.gap_s for step in steps)
    fresh = [int(step.gap_s > rest_s) for step in steps]
    if not any(fresh):
        fresh[0] = 1
    begin = fresh.index(1)
    sizes: list[float] = []
    for place in range(begin, begin + len(steps)):
        step = place % len(steps)
        if fresh[step]:
            sizes.append(0.0)
        sizes[-1] += steps[step].size_bytes
    return fresh, max(sizes)


def _phases(
    jobs: Sequence[PeriodicJob], steps: Sequence[Sequence[Step]], sharing: LinkSharing, iterations: int | None
) -> Phases:
    counts = [len(row) for row in steps]
    bursts = [_bursts(row) for row in steps]
    force = sharing.aggressiveness.table()
    of_job = (sharing.ratio ** -np.arange(len(jobs), dtype=np.float64))[:, None]
    most = np.array([-1 if job.iterations is None else job.iterations for job in jobs])
    # the group of each job, numbered from 0; -1 where there is none
    number = {
        group: place
        for place, group in enumerate(sorted({job.group for job in jobs if job.group is not None}))
    }
    groups = np.array([-1 if job.group is None else number[job.group] for job in jobs])
    # the iterations that each job has to do before the run may end; 0: the run waits for a time only
    wanted = np.maximum(most, 0) if iterations is None else np.where(most < 0, iterations, most)
    return Phases(
        first=np.cumsum([0, *counts]),
        job=np.repeat(np.arange(len(jobs)), counts),
        size=np.array([step.size_bytes for row in steps for step in row]),
        gap=np.array([step.gap_s for row in steps for step in row]),
        fresh=np.array([flag for fresh, _ in bursts for flag in fresh]),
        lead=np.array(
            [
                next((phase.start_s for phase in job.profile.phases if phase.bandwidth_bps > 0), 0.0)
                for job in jobs
            ]
        ),
        burst=np.array([max(size, 1.0) for _, size in bursts]),
        force=np.ascontiguousarray(of_job * force),
        rising=np.full(len(jobs), int(sharing.aggressiveness.slope != 0)),
        learning=np.full(len(jobs), sharing.learning_iterations),
        noise=np.array([float(job.noise) for job in jobs]),
        begin=np.array([float(job.begin_s) for job in jobs]),
        slot=np.array([float(job.slot_s) for job in jobs]),
        tolerance=np.array([job.drift_tolerance * job.profile.iteration_time_s for job in jobs]),
        group=groups,
        most=most,
        wanted=wanted,
    )


def _course(jobs: Sequence[PeriodicJob], phases: Phases, links: int, packet_bytes: float) -> Course:
    """Return the state in which every job is about to compute for the first time."""
    count, room = len(jobs), ROOM + len(jobs)
    first_s = phases.begin + phases.lead
    order = np.argsort(first_s, kind="stable")  # a sorted array is a heap
    iteration = np.zeros((count, 5))
    iteration[:, STARTED] = phases.begin
    unfinished = int((phases.wanted > 0).sum()) + int((phases.wanted == 0).any())
    return Course(
        phase=phases.first[:-1].copy(),
        left=np.zeros(count),
        sent=np.zeros(count),
        rate=np.zeros(count),
        end=np.zeros(count),
        phase_began=np.zeros(count),
        iteration=iteration,
        done=np.zeros(count, np.int64),
        carried=np.zeros(count),
        realigned=np.zeros(count, np.int64),
        anchor=np.zeros(count),
        keys=np.append(first_s[order], 0.0),
        codes=np.append(order, 0),
        link_carried=np.zeros(links),
        link_over=np.zeros(links),
        link_marks=np.zeros(links),
        log=np.zeros((room, 5)),
        log_job=np.zeros(room, np.int64),
        tally=np.array([count, 0, unfinished]),
        scale=np.array([0.0, packet_bytes, QUANTUM]),
    )
