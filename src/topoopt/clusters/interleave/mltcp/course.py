"""What jobs do under one way of sharing a link: the time and the offset of every iteration."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.clusters.interleave.periodic.periodic_run import PeriodicRun

SETTLED = 0.5
"""The last part of all iterations, over which one says where jobs have settled."""


@dataclass(frozen=True, slots=True, eq=False)
class JobCourse:
    """The iterations of a job, arrays of shape (iterations,).

    Attributes
    ----------
    job : str
    time_s : array
    offset_s : array
        How long after the first job has begun to send, the last time before, this one begins to.
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
    """What all jobs do under one way of sharing."""

    way: str
    jobs: tuple[JobCourse, ...]

    @property
    def time_s(self) -> Floats:
        """The times of all iterations of all jobs, job by job."""
        return np.concatenate([job.time_s for job in self.jobs])

    @property
    def ecn_marks(self) -> float:
        """Of all jobs."""
        return sum(job.ecn_marks for job in self.jobs)

    def slowdown(self, alone_s: Sequence[float]) -> float:
        """Return the mean of the jobs' settled iteration times over those on links of their own."""
        return float(
            np.mean([job.settled_s / time_s for job, time_s in zip(self.jobs, alone_s, strict=True)])
        )


def course_of_run(way: str, run: PeriodicRun, iterations: int) -> SharingCourse:
    """Return the course of a run, so many iterations of each job."""
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
    """Return how long after the last begin of the first job each begin of a job is; negative where that has not begun.

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
