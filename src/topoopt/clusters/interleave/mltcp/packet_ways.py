"""The ways in which jobs can share a link, packet by packet: by every transport, CASSINI's shifts, a link each."""

from collections.abc import Sequence
from dataclasses import replace

from topoopt.clusters.interleave.interleaving import interleave
from topoopt.clusters.interleave.mltcp.comparison import Progress, SharingComparison, check_ways
from topoopt.clusters.interleave.mltcp.course import SharingCourse, course_of_run
from topoopt.clusters.interleave.mltcp.prediction import predict_sharing
from topoopt.clusters.interleave.mltcp.question import SharingQuestion
from topoopt.clusters.interleave.periodic.periodic_job import PeriodicJob
from topoopt.clusters.interleave.periodic.periodic_packets import (
    periodic_packet_options,
    run_periodic_packets,
)
from topoopt.simulation import TRANSPORTS, PacketOptions

PACKETS = "packet"
"""The simulator of these ways."""

PLAIN = "reno"
"""The transport of jobs that begin at their shifts, and of those with a link each."""

PACKET_WAYS = (*TRANSPORTS, "cassini", "ideal")
"""All ways by name: a transport, CASSINI's time shifts, a link for each job."""

USUAL_PACKET_WAYS = ("mltcp-reno", "mltcp-cubic", "reno", "cubic", "cassini", "ideal")


def compare_packet_ways(
    asked: SharingQuestion, ways: Sequence[str] = USUAL_PACKET_WAYS, on_progress: Progress | None = None
) -> SharingComparison:
    """Let the jobs share the link in each of some ways, packet by packet.

    All keep their connections over iterations. MLTCP counts the bytes of a job; it learns what an iteration has in the
    first ones, as many as it needs, where the question asks for that.

    Parameters
    ----------
    ways
        Names in :data:`PACKET_WAYS`, each once.
    on_progress
        Called with the way, how many are done and how many there are.

    Raises
    ------
    InvalidInput
        For an unknown name, or none.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from topoopt.clusters.interleave.mltcp.question import equal_jobs
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
        courses.append(_course(way, asked))
    return SharingComparison(asked, PACKETS, tuple(courses), predict_sharing(asked))


def _course(way: str, asked: SharingQuestion) -> SharingCourse:
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
    return course_of_run(way, run, asked.iterations)


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
