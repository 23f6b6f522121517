"""The ways in which jobs can share a link, as fluids: one function each, one table."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from topoopt.base.errors import InvalidInput
from topoopt.clusters.interleave.interleaving import interleave
from topoopt.clusters.interleave.link_sharing import LinkSharing, fair_sharing, mltcp_sharing, static_sharing
from topoopt.clusters.interleave.mltcp.course import SharingCourse, course_of_run
from topoopt.clusters.interleave.mltcp.question import SharingQuestion
from topoopt.clusters.interleave.periodic.periodic_job import PeriodicJob
from topoopt.clusters.interleave.periodic.periodic_jobs import run_periodic_jobs

COMPATIBLE = 1.0 - 1e-9
"""CASSINI's score from which jobs are held to their shifts: where they do not fit, they would wait for ever."""


@dataclass(frozen=True, slots=True)
class Way:
    """A way of sharing: what it is in words, and what makes its course."""

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
    """Let jobs begin at their time shifts; with noise they are held to them, where they fit."""
    try:
        found = interleave(asked.profiles, asked.capacity_bps, seed=asked.seed)
    except InvalidInput as error:
        raise InvalidInput(f"way cassini: {error}; or leave it out, such as with ways mltcp,fair") from error
    held = asked.noise > 0 and found.score >= COMPATIBLE
    return _shared(way, asked, fair_sharing(), found.time_shifts_s, held=held)


def _ideal(way: str, asked: SharingQuestion) -> SharingCourse:
    """Give each job a link of its own."""
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
"""By name, in the order in which they are shown."""
