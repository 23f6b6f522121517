"""Jobs on one link under several sharing policies, compared with the theory."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from topoopt.base.answers import Progress, fields_of, shows_itself
from topoopt.base.errors import InvalidInput, check_known
from topoopt.clusters.interleave.interleaving import interleave
from topoopt.clusters.interleave.mltcp.sharing_ways import (
    SHARING_WAYS,
    SharingCourse,
    SharingQuestion,
    course_of_run,
)
from topoopt.clusters.interleave.mltcp.theory import SharingPrediction, predict_sharing
from topoopt.clusters.interleave.periodic.periodic_job import PeriodicJob
from topoopt.clusters.interleave.periodic.periodic_packets import (
    periodic_packet_options,
    run_periodic_packets,
)
from topoopt.simulation import TRANSPORTS, PacketOptions

FLUID = "fluid"
"""The simulator of this room: bytes flow, nothing is a packet."""


@shows_itself
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SharingComparison:
    """The same jobs on the same link, under several sharing policies.

    Attributes
    ----------
    asked : SharingQuestion
    simulator : str
        ``fluid``, or ``packet``.
    courses : tuple of SharingCourse
        One per policy.
    prediction : SharingPrediction, optional
        Prediction by the theory, where it applies to the jobs.
    """

    asked: SharingQuestion
    simulator: str
    courses: tuple[SharingCourse, ...]
    prediction: SharingPrediction | None

    @property
    def alone_s(self) -> tuple[float, ...]:
        """Iteration time of each job on a dedicated link."""
        return tuple(
            profile.iteration_time_s
            + sum(
                phase.duration_s * max(phase.bandwidth_bps / self.asked.capacity_bps - 1.0, 0.0)
                for phase in profile.phases
            )
            for profile in self.asked.profiles
        )

    def to_json(self) -> dict[str, Any]:
        """Return the document of ``topoopt mltcp simulate --json``; lists of times are iteration by iteration."""
        asked, alone_s = self.asked, self.alone_s
        return {
            "simulator": self.simulator,
            **fields_of(asked, "capacity_bps", "iterations", "offset"),
            "aggressiveness": {
                **fields_of(asked.aggressiveness, "form", "slope", "intercept"),
            },
            **fields_of(asked, "learning_iterations", "noise", "seed"),
            "jobs": [
                {
                    **fields_of(profile, "job", "iteration_time_s", "duty", "size_bytes"),
                    "dedicated_iteration_time_s": time_s,
                }
                for profile, time_s in zip(asked.profiles, alone_s, strict=True)
            ],
            "ways": [_way(course, alone_s) for course in self.courses],
            "theory": None if self.prediction is None else self.prediction.to_json(),
        }


def compare_ways(
    asked: SharingQuestion, ways: Sequence[str] = tuple(SHARING_WAYS), on_progress: Progress | None = None
) -> SharingComparison:
    """Simulate the jobs on the link under several sharing policies, as fluids.

    Parameters
    ----------
    ways
        Names in :data:`SHARING_WAYS`, each once.
    on_progress
        Progress callback: method, methods done, and total.

    Raises
    ------
    InvalidInput
        For an unknown name, or none.

    Examples
    --------
    >>> from topoopt.clusters.interleave.mltcp.sharing_ways import equal_jobs
    >>> answer = compare_ways(equal_jobs((0.4, 0.4), 1.0, 50e9), ("mltcp", "fair"))
    >>> [course.jobs[0].time_s[:3].round(3).tolist() for course in answer.courses]
    [[1.281, 1.092, 1.014], [1.38, 1.38, 1.38]]
    """
    check_ways(ways, SHARING_WAYS)
    courses = []
    for number, way in enumerate(ways):
        if on_progress is not None:
            on_progress(f"simulating: {way}", number, len(ways))
        courses.append(SHARING_WAYS[way].course(way, asked))
    return SharingComparison(asked, FLUID, tuple(courses), predict_sharing(asked))


def check_ways(ways: Sequence[str], known: Sequence[str] | Any) -> None:
    """Refuse an empty list of policies, unknown ones and duplicates.

    Raises
    ------
    InvalidInput
        If so.
    """
    if not ways:
        raise InvalidInput(f"ways: expected some of {', '.join(known)}, got none")
    for way in ways:
        check_known("way", way, known)
    if len(set(ways)) < len(ways):
        raise InvalidInput(f"ways: each stands once, got {','.join(ways)}")


def _way(course: SharingCourse, alone_s: Sequence[float]) -> dict[str, Any]:
    times_s = course.time_s
    return {
        "way": course.way,
        "mean_iteration_time_s": float(times_s.mean()),
        "p99_iteration_time_s": float(np.percentile(times_s, 99)),
        "settled_slowdown": course.slowdown(alone_s),
        "ecn_marks": course.ecn_marks,
        "jobs": [
            {
                "job": job.job,
                "settled_iteration_time_s": job.settled_s,
                "iteration_time_s": job.time_s.tolist(),
                "offset_s": job.offset_s.tolist(),
                "ecn_marks": job.ecn_marks,
            }
            for job in course.jobs
        ],
    }


PACKETS = "packet"
"""Simulator of these methods."""
PLAIN = "reno"
"""The transport of jobs that begin at their shifts, and of those with a link each."""
PACKET_WAYS = (*TRANSPORTS, "cassini", "ideal")
"""All methods by name: a transport, CASSINI's time shifts, a link for each job."""
USUAL_PACKET_WAYS = ("mltcp-reno", "mltcp-cubic", "reno", "cubic", "cassini", "ideal")


def compare_packet_ways(
    asked: SharingQuestion, ways: Sequence[str] = USUAL_PACKET_WAYS, on_progress: Progress | None = None
) -> SharingComparison:
    """Simulate the jobs on the link under several sharing policies, packet by packet.

    All connections are kept over iterations. MLTCP counts the bytes of a job; on request, it learns the size of an
    iteration from as many first iterations as it needs.

    Parameters
    ----------
    ways
        Names in :data:`PACKET_WAYS`, each once.
    on_progress
        Progress callback: method, methods done, and total.

    Raises
    ------
    InvalidInput
        For an unknown name, or none.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from topoopt.clusters.interleave.mltcp.sharing_ways import equal_jobs
    >>> asked = replace(equal_jobs((0.4, 0.4), 0.05, 10e9), iterations=10)
    >>> answer = compare_packet_ways(asked, ("mltcp-reno", "reno"))
    >>> [round(course.slowdown(answer.alone_s), 1) for course in answer.courses]
    [1.0, 1.4]
    """
    check_ways(ways, PACKET_WAYS)
    courses = []
    for number, way in enumerate(ways):
        if on_progress is not None:
            on_progress(f"simulating: {way}", number, len(ways))
        begins_s, own_links = asked.begins_s, way == "ideal"
        if way == "cassini":
            begins_s = interleave(asked.profiles, asked.capacity_bps, seed=asked.seed).time_shifts_s
        jobs = [
            PeriodicJob(profile, {number if own_links else 0: 1.0}, begin_s, noise=asked.noise)
            for number, (profile, begin_s) in enumerate(zip(asked.profiles, begins_s, strict=True))
        ]
        run = run_periodic_packets(
            jobs,
            [asked.capacity_bps] * (len(jobs) if own_links else 1),
            packets=_options(way, asked),
            iterations=asked.iterations,
            seed=asked.seed,
        )
        course = course_of_run(way, run, asked.iterations)
        courses.append(course)
    return SharingComparison(asked, PACKETS, tuple(courses), predict_sharing(asked))


def _options(way: str, asked: SharingQuestion) -> PacketOptions:
    transport = PLAIN if way in ("cassini", "ideal") else way
    options = periodic_packet_options(transport, asked.capacity_bps)
    if TRANSPORTS[transport].aggressiveness is None:
        return options
    return replace(
        options,
        aggressiveness=asked.aggressiveness,
        progress_of="job",
        totals="learned" if asked.learning_iterations else "given",
    )
