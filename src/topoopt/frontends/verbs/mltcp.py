"""``topoopt.mltcp.simulate``: jobs on one link, iteration by iteration, under MLTCP and other sharing methods."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Unpack

from topoopt.base.answers import Progress, silent
from topoopt.base.errors import InvalidInput, check_known, shown
from topoopt.base.units import parse_bandwidth, parse_time
from topoopt.clusters.interleave import (
    FLUID,
    PACKETS,
    SHARING_WAYS,
    USUAL_PACKET_WAYS,
    SharingComparison,
    SharingQuestion,
    compare_packet_ways,
    compare_ways,
    equal_jobs,
)
from topoopt.frontends.verbs.profile_source import ProfileSource, profiles_of_sources
from topoopt.schema.words import MltcpWords, amount, checked_arguments, checked_words
from topoopt.simulation import Aggressiveness

__all__ = ("simulate",)

MOST_JOBS = 64
SIMULATORS = (FLUID, PACKETS)


@checked_arguments
def simulate(
    jobs: Sequence[ProfileSource] = (), *, on_progress: Progress = silent, **words: Unpack[MltcpWords]
) -> SharingComparison:
    """Simulate jobs that share a link under MLTCP, fair sharing and CASSINI, iteration by iteration.

    Parameters
    ----------
    jobs
        Profiles, job files, or other sources as in :func:`topoopt.interleave`; none if ``communication`` describes
        equal jobs.
    on_progress
        Progress callback: stage, items done, and total.
    **words
        The flags of ``topoopt mltcp simulate`` with underscores: ``communication``, ``offset``, ``slope`` …

    Returns
    -------
    SharingComparison

    Raises
    ------
    InvalidInput
        For an unknown option or name, a number out of range, no jobs, or jobs and ``communication``.

    Examples
    --------
    >>> import topoopt
    >>> answer = topoopt.mltcp.simulate(communication=0.4, period="1s", ways=["mltcp", "fair"])
    >>> [round(course.slowdown(answer.alone_s), 2) for course in answer.courses]
    [1.0, 1.38]
    """
    settings = checked_words(words, MltcpWords)
    capacity_bps = amount(parse_bandwidth, settings["capacity"], "capacity")
    asked = replace(
        _jobs(jobs, settings, capacity_bps),
        iterations=settings["iterations"],
        offset=settings["offset"],
        aggressiveness=Aggressiveness(settings["slope"], settings["intercept"], settings["form"]),
        learning_iterations=settings["learn"],
        static_part=settings["static_part"],
        noise=settings["noise"],
        seed=settings["seed"],
    )
    check_known("simulator", settings["simulator"], SIMULATORS)
    if settings["simulator"] == PACKETS:
        return compare_packet_ways(asked, tuple(settings.get("ways", USUAL_PACKET_WAYS)), on_progress)
    return compare_ways(asked, tuple(settings.get("ways", SHARING_WAYS)), on_progress)


def _jobs(
    sources: Sequence[ProfileSource], settings: Mapping[str, Any], capacity_bps: float
) -> SharingQuestion:
    if "communication" in settings:
        if sources:
            raise InvalidInput("communication: is in place of job files; leave one of the two out")
        period_s = amount(parse_time, settings["period"], "period")
        # what each job sends, as a part of the period; a single number is that of two jobs
        communication = settings["communication"]
        if isinstance(communication, str):
            try:
                listed = [float(word) for word in communication.split(",")]
            except ValueError:
                raise InvalidInput(
                    f"communication: expected parts of the period with commas, such as 0.4 or 0.4,0.3, got "
                    f"{shown(communication)}"
                ) from None
        else:
            listed = (
                [communication]
                if isinstance(communication, int | float)
                else [float(one) for one in communication]
            )
        if len(listed) > MOST_JOBS:
            raise InvalidInput(f"communication: expected at most {MOST_JOBS} jobs, got {len(listed)}")
        parts = tuple(listed * 2) if len(listed) == 1 else tuple(listed)
        return equal_jobs(parts, period_s, capacity_bps)
    return SharingQuestion(profiles_of_sources(sources), capacity_bps)
