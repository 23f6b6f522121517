"""Jobs that are held to their shifts: the slots in which iterations start, so that drift can be corrected."""

from collections.abc import Mapping

from topoopt.clusters.interleave.link_rotation import MOST_STRETCH
from topoopt.clusters.interleave.placement import JudgedPlacement


def job_slots_s(placement: JudgedPlacement) -> dict[str, float]:
    """Return the time from the start of an iteration to that of the next one, for jobs that are held to their shifts.

    Jobs that share links have iteration times rounded so that they have a common multiple. Slots have the same
    proportions, and no job's is shorter than its iteration. Jobs for which that takes much longer slots
    (:data:`MOST_STRETCH`) are not held to any, nor are those that meet nobody, nor any where the graph has a loop.

    A job that is off by more than 5 % of its iteration has its shift applied anew. Where it is
    early it waits for its slot. Where it is late the jobs that it meets begin as much later instead, for all that
    counts is when jobs begin among each other: see ``group`` of :class:`topoopt.clusters.interleave.PeriodicJob`.

    Returns
    -------
    dict of str to float
        Of all jobs; 0 for those that are not held to any.

    References
    ----------
    .. [1] S. Rajasekaran et al., "CASSINI", NSDI 2024: adjustment of time shifts.
    """
    slots_s = {} if placement.loop else _slots_s(placement)
    return {job: slots_s.get(job, 0.0) for job in placement.graph.iteration_times_s}


def _slots_s(placement: JudgedPlacement) -> Mapping[str, float]:
    """Return the slots of jobs that are held to any."""
    times_s = placement.graph.iteration_times_s
    quanta = {
        (job, link.link): number
        for link in placement.links
        if link.rotation is not None
        for job, number in zip(link.jobs, link.rotation.quanta, strict=True)
    }
    slots_s: dict[str, float] = {}
    for job, link, other in placement.graph.walk():
        ratio = quanta[other, link] / quanta[job, link] if other != job else 1.0
        slots_s[other] = slots_s.get(job, times_s[job]) * ratio
    held: dict[str, float] = {}
    for jobs in placement.graph.components():
        longer = max(times_s[job] / slots_s[job] for job in jobs)
        if len(jobs) > 1 and all(slots_s[job] * longer <= times_s[job] * (1 + MOST_STRETCH) for job in jobs):
            held.update({job: slots_s[job] * longer for job in jobs})
    return held
