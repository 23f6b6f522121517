"""Jobs that repeat and share links, as fluids: the simulator of communication profiles."""

import math
from collections.abc import Callable, Sequence

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.base.errors import InvalidInput
from topoopt.base.limits import whole
from topoopt.clusters.interleave.link_sharing import LinkSharing, fair_sharing
from topoopt.clusters.interleave.periodic.periodic_arrays import PeriodicArrays, make_arrays, more_room
from topoopt.clusters.interleave.periodic.periodic_job import PeriodicJob
from topoopt.clusters.interleave.periodic.periodic_jobs_kernel import run_periodic
from topoopt.clusters.interleave.periodic.periodic_run import JobIterations, LinkUse, PeriodicRun
from topoopt.clusters.interleave.periodic.periodic_state import (
    COMMUNICATION,
    ENDED,
    LOGGED,
    MARKS,
    NOW,
    SENT_FIRST,
    STARTED,
)

CHANGES = 1_000_000
"""Changes of rates between two looks at the log, at the progress and for Ctrl-C: some tenths of a second."""

Report = Callable[[float], None]
"""Told how much is done, from 0 to 1."""


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
    """Let jobs repeat their profiles on links that they share max-min fairly, by weight.

    Parameters
    ----------
    jobs
        The order matters for static sharing only.
    capacities_bps
        Of links 0, 1 and so on.
    sharing
        What decides the weights; by default all are 1.
    iterations
        The run ends when each job has done so many; short jobs go on until then. A job that is gone earlier has its
        own number.
    until_s
        The run ends then, at the latest.
    seed
        Of the noise of computing. A job's noise does not depend on the other jobs.
    packet_bytes
        Of a packet, for the estimate of ECN marks (:class:`LinkUse`).
    on_progress
        Called with the part that is done.

    Returns
    -------
    PeriodicRun

    Raises
    ------
    InvalidInput
        For links and numbers that cannot be, and if nothing says when the run ends.

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
            on_progress(_done(arrays, until_s))
        if course.tally[LOGGED] + len(course.phase) > len(course.log_job):
            arrays = more_room(arrays)
    return arrays


def _done(arrays: PeriodicArrays, until_s: float) -> float:
    """Return the part of a run that is done."""
    wanted = np.maximum(arrays.phases.wanted, 1)
    by_iterations = float((arrays.course.done / wanted).min()) if (arrays.phases.wanted > 0).any() else 0.0
    return min(1.0, max(by_iterations, float(arrays.course.scale[NOW]) / until_s))


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
