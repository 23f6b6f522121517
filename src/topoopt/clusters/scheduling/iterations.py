"""Iterations of running jobs until something happens, and the time slots that hold jobs to their shifts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.clusters.interleave import JobIterations, LinkSharing, PeriodicJob, run_periodic_jobs
from topoopt.clusters.interleave.link_rotation import MOST_STRETCH
from topoopt.clusters.interleave.placement import JudgedPlacement
from topoopt.clusters.scheduling.model_workers import PlacedWorkers


@dataclass(frozen=True, eq=False)
class Timetable:
    """Consecutive iterations: the first ones as simulated, then all equal.

    Attributes
    ----------
    bounds_s : float64 array, shape (simulated + 1,)
        Start of each simulated iteration and end of the last one; at least one entry.
    marks : float64 array, shape (simulated,)
        Packets with ECN marks in each, estimated.
    steady_s, steady_marks : float
        Duration and marks of every later iteration.
    """

    bounds_s: Floats
    marks: Floats
    steady_s: float
    steady_marks: float

    def bound_s(self, iterations: int) -> float:
        """Return the end of the given number of iterations, which is the start of the next one."""
        known = len(self.marks)
        return float(self.bounds_s[min(iterations, known)]) + max(iterations - known, 0) * self.steady_s

    def started_before(self, time_s: float, most: int) -> int:
        """Return the number of iterations that start before a time, up to a maximum."""
        if self.bound_s(most) <= time_s:
            return most
        known, last_s = len(self.marks), float(self.bounds_s[-1])
        if time_s <= last_s:
            return min(int(np.searchsorted(self.bounds_s[:-1], time_s, side="left")), most)
        return min(known + int(np.ceil((time_s - last_s) / self.steady_s - 1e-9)), most)

    def times_s(self, iterations: int) -> tuple[Floats, Floats]:
        """Return the durations of the first iterations, and how often each occurs."""
        times_s = np.diff(self.bounds_s[: iterations + 1])
        more = iterations - len(times_s)
        if more <= 0:
            return times_s, np.ones(len(times_s))
        return np.append(times_s, self.steady_s), np.append(np.ones(len(times_s)), more)

    def ecn_marks(self, iterations: int) -> float:
        """Return the marked packets of the first iterations."""
        more = max(iterations - len(self.marks), 0)
        return float(self.marks[:iterations].sum()) + more * self.steady_marks


MOST_SIMULATED = 150
"""Simulated iterations of the slowest job; later ones repeat the last half of these. MLTCP settles within some
twenty."""
BEYOND = 3.0
"""Iterations of the slowest job simulated in addition, so that unfinished ones at the end are included."""
NEVER_SHORT = 1.0 + 1e-9
"""Demand over capacity up to which a link cannot be short."""


@dataclass(frozen=True, slots=True)
class Iterating:
    """State of a running job.

    Attributes
    ----------
    placed : PlacedWorkers
    start_s : float
        Start of its next iteration; the one before it is simulated already.
    left : int
        Iterations until it is done.
    pace : float
        Last iteration time relative to that alone, from which the time to simulate is estimated.
    slot_s : float
        Distance of the slots at which it starts, see :class:`topoopt.clusters.interleave.PeriodicJob`; 0 for none.
    group : int or None
        Group of jobs that are shifted against each other.
    """

    placed: PlacedWorkers
    start_s: float
    left: int
    pace: float = 1.0
    slot_s: float = 0.0
    group: int | None = None


@dataclass(frozen=True, slots=True)
class StretchRules:
    """Rules by which jobs share links.

    Attributes
    ----------
    sharing : LinkSharing
    noise : float
        Standard deviation of stretches of computing, as a part of them.
    seed : int
    """

    sharing: LinkSharing
    noise: float
    seed: int


def timetables(
    jobs: Sequence[Iterating], capacities_bps: Floats, now_s: float, until_s: float, rules: StretchRules
) -> list[Timetable]:
    """Return the timetables of jobs from now on, while no job arrives, leaves or moves.

    Jobs that meet on no link which can be short are not simulated.

    Parameters
    ----------
    until_s : float
        Later times are never requested: the next event comes first.
    """
    demand_bps = np.zeros(len(capacities_bps))
    for job in jobs:
        demand_bps[job.placed.links] += job.placed.shares * job.placed.profile.peak_bps
    short = np.flatnonzero(demand_bps > NEVER_SHORT * capacities_bps)
    links_of = [np.flatnonzero(np.isin(job.placed.links, short)) for job in jobs]
    tables = [undisturbed(job.start_s, job.placed.profile.iteration_time_s) for job in jobs]
    meet = [number for number, links in enumerate(links_of) if len(links) or rules.noise]
    meet = [number for number in meet if jobs[number].placed.profile.phases]
    if not meet:
        return tables
    periodic = [_periodic(jobs[number], links_of[number], short, now_s, rules.noise) for number in meet]
    run = run_periodic_jobs(
        periodic,
        capacities_bps[short] if len(short) else capacities_bps[:1],
        sharing=rules.sharing,
        until_s=_simulated_s([jobs[number] for number in meet], now_s, until_s),
        seed=rules.seed,
    )
    for number, iterations in zip(meet, run.jobs, strict=True):
        tables[number] = _timetable(jobs[number], iterations, now_s)
    return tables


def _periodic(job: Iterating, links: Ints, short: Ints, now_s: float, noise: float) -> PeriodicJob:
    placed = job.placed
    at = np.searchsorted(short, placed.links[links]).tolist()
    return PeriodicJob(
        placed.profile,
        dict(zip(at, placed.shares[links].tolist(), strict=True)),
        begin_s=max(job.start_s - now_s, 0.0),
        noise=noise,
        slot_s=job.slot_s,
        group=job.group,
    )


def _simulated_s(jobs: Sequence[Iterating], now_s: float, until_s: float) -> float:
    """Return the time to simulate: until the next event, or until the first job may be done, within limits."""
    slowest_s = max(job.placed.profile.iteration_time_s * job.pace for job in jobs)
    ends_s = [job.start_s + job.left * job.placed.profile.iteration_time_s * job.pace for job in jobs]
    return min(until_s - now_s, min(ends_s) - now_s, MOST_SIMULATED * slowest_s) + BEYOND * slowest_s


def _timetable(job: Iterating, iterations: JobIterations, now_s: float) -> Timetable:
    count = len(iterations.start_s)
    if not count:
        return undisturbed(job.start_s, job.placed.profile.iteration_time_s * job.pace)
    bounds_s = now_s + np.append(iterations.start_s, iterations.end_s[-1])
    settled = count // 2
    steady_s = float(bounds_s[-1] - bounds_s[settled]) / (count - settled)
    return Timetable(bounds_s, iterations.marks, steady_s, float(iterations.marks[settled:].mean()))


def undisturbed(start_s: float, iteration_time_s: float) -> Timetable:
    """Return the timetable of a job that shares no congested link."""
    return Timetable(np.array([start_s]), np.zeros(0), iteration_time_s, 0.0)


def job_slots_s(placement: JudgedPlacement) -> dict[str, float]:
    """Return the time from the start of an iteration to that of the next one, for jobs that are held to their shifts.

    Jobs that share links have iteration times rounded so that they have a common multiple. Slots have the same
    proportions, and no job's is shorter than its iteration. Jobs for which that takes much longer slots
    (:data:`MOST_STRETCH`) have none, nor do those that share no link, nor any if the graph has a loop.

    A job that is off by more than 5 % of its iteration has its shift applied anew. Where it is
    early it waits for its slot. Where it is late the jobs that it meets begin as much later instead, for all that
    counts is when jobs begin among each other: see ``group`` of :class:`topoopt.clusters.interleave.PeriodicJob`.

    Returns
    -------
    dict of str to float
        Slot of each job; 0 for those without one.

    References
    ----------
    .. [1] S. Rajasekaran et al., "CASSINI", NSDI 2024: adjustment of time shifts.
    """
    slots_s = {} if placement.loop else _slots_s(placement)
    return {job: slots_s.get(job, 0.0) for job in placement.graph.iteration_times_s}


def _slots_s(placement: JudgedPlacement) -> Mapping[str, float]:
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
