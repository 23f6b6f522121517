"""How the jobs of one link are turned, and to which times their iterations are rounded for it."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from topoopt.base.errors import check_known
from topoopt.clusters.interleave.circle import (
    LEAST_STEP_DEG,
    MOST_QUANTA,
    QUANTUM_S,
    STEP_DEG,
    copies_of,
    fitting_quantum_s,
    unified_circle,
)
from topoopt.clusters.interleave.interleaving import interleave
from topoopt.clusters.interleave.merging import MERGING
from topoopt.clusters.interleave.profile import CommunicationProfile
from topoopt.clusters.interleave.score import compatibility_score
from topoopt.clusters.interleave.shared_link import SharedLink
from topoopt.clusters.interleave.solvers import AUTO
from topoopt.clusters.interleave.unaligned import unaligned_score

COARSER = (1, 2, 5, 10, 20, 50, 100)
"""Quanta that are tried, in those of the rules."""
MOST_STRETCH = 0.05
"""Jobs are rounded to times that are longer by at most this part."""
MOST_ANGLES = 10_000
"""Of a circle; with more every job has so many copies that rotation does nothing."""
MANY_JOBS = 5
"""From so many on a grid takes a second, and descent a twentieth of one."""
LEFT = 2 / 3
"""A rotation helps if the score then lacks at most this part of what it lacks on average over all rotations. Jobs that
are held to each other all go at the pace of the slowest, which a small gain does not make up for: in two hours of the
Poisson trace of cassini-24 iterations took 1.19 times as long as alone without CASSINI, 1.11 times where any gain was
enough, and 1.08 and 1.09 times with a half and two thirds (means of Themis and Pollux with two seeds each)."""
REMEMBERED = 4096
"""Rotations that are kept: candidates and epochs have most links in common."""


@dataclass(frozen=True, slots=True)
class InterleavingRules:
    """How placements are judged.

    Attributes
    ----------
    step_deg, solver : float, str
        As of :func:`topoopt.clusters.interleave.interleave`.
    quantum_s : float
        The finest quantum; see :func:`link_rotation`.
    merging : str
        Name in :data:`MERGING`. ``strict`` keeps to the paper's text: there is one quantum, too, made coarser only
        where there is no circle otherwise.
    """

    step_deg: float = STEP_DEG
    solver: str = AUTO
    quantum_s: float = QUANTUM_S
    merging: str = "identical"

    def __post_init__(self) -> None:
        check_known("merging", self.merging, MERGING)


@dataclass(frozen=True, slots=True)
class LinkRotation:
    """What a link asks of its jobs, in order.

    Attributes
    ----------
    time_shifts_s : tuple of float
        By how much later each one begins.
    quanta : tuple of int
        Their iteration times have these proportions.
    quantum_s : float
        As of the circle.
    stretch : float
        By this part of its iteration a job is kept waiting so that they have, the one that is kept the longest.
    score, unaligned_score : float
        With the rotations; and the mean over all rotations, see :func:`unaligned_score`.
    """

    time_shifts_s: tuple[float, ...]
    quanta: tuple[int, ...]
    quantum_s: float
    stretch: float
    score: float
    unaligned_score: float

    @property
    def helps(self) -> bool:
        """Whether it takes away enough of what jobs lose without it; what they lose by being kept waiting counts."""
        return 1 - self.score + self.stretch <= LEFT * (1 - self.unaligned_score)


@lru_cache(maxsize=REMEMBERED)
def link_rotation(
    profiles: tuple[CommunicationProfile, ...], capacity_bps: float, rules: InterleavingRules
) -> LinkRotation | None:
    """Return the best way to interleave the jobs of a link; None where there is none that helps.

    Times that are rounded more coarsely have a shorter common multiple, so that a rotation does more; but all jobs
    then have to run at the pace of the one that was rounded down the most. Of several quanta that one is taken for
    which the score less this stretch is the highest. In strict mode there is one quantum, and any rotation will do.

    Parameters
    ----------
    profiles : tuple of CommunicationProfile
        Two or more.
    """
    unaligned = unaligned_score(profiles, capacity_bps)
    best: LinkRotation | None = None
    for quantum_s in _quanta_s(profiles, rules):
        quanta, stretch = _rounded(profiles, quantum_s)
        if best is None or 1 - stretch > best.score - best.stretch:
            solver = "descent" if rules.solver == AUTO and len(profiles) >= MANY_JOBS else rules.solver
            step_deg = _step_deg(quanta, rules)
            found = interleave(profiles, capacity_bps, step_deg=step_deg, solver=solver, quantum_s=quantum_s)
            rotation = LinkRotation(found.time_shifts_s, quanta, quantum_s, stretch, found.score, unaligned)
            best = max(best or rotation, rotation, key=lambda one: one.score - one.stretch)
    strict = rules.merging == "strict"
    return best if best is not None and (strict or best.helps) else None


def score_with(
    link: SharedLink, rotation: LinkRotation, shift_s: Mapping[str, float], rules: InterleavingRules
) -> float:
    """Return the score of a link whose jobs have been turned for the sake of another one."""
    step_deg = _step_deg(rotation.quanta, rules)
    circle = unified_circle(link.profiles, step_deg=step_deg, quantum_s=rotation.quantum_s)
    turns = [round(shift_s[profile.job] / circle.angle_s) for profile in link.profiles]
    return compatibility_score(circle.rotated_bps(turns), link.capacity_bps)


def _quanta_s(profiles: Sequence[CommunicationProfile], rules: InterleavingRules) -> Iterator[float]:
    """Yield quanta that give different proportions, circles of few angles, and little stretch."""
    if rules.merging == "strict":
        quantum_s = fitting_quantum_s(profiles, rules.quantum_s)
        if math.lcm(*_rounded(profiles, quantum_s)[0]) <= MOST_QUANTA:
            yield quantum_s
        return
    shortest_s = min(profile.iteration_time_s for profile in profiles)
    seen: set[tuple[int, ...]] = set()
    for quantum_s in [min(rules.quantum_s * coarser, shortest_s) for coarser in COARSER]:
        quanta, stretch = _rounded(profiles, quantum_s)
        proportions = tuple(number // math.gcd(*quanta) for number in quanta)
        few = max(copies_of(quanta)) * 360 / rules.step_deg <= MOST_ANGLES
        if few and stretch <= MOST_STRETCH and proportions not in seen:
            seen.add(proportions)
            yield quantum_s


def _step_deg(quanta: Sequence[int], rules: InterleavingRules) -> float:
    """Return the step on the circle of all jobs at which an iteration of each has the angles that the rules ask for.

    With that of the rules on the circle of all, a job of 72 copies would be looked at once in an iteration. In strict
    mode that is how it is.
    """
    if rules.merging == "strict":
        return rules.step_deg
    return max(rules.step_deg / max(copies_of(quanta)), LEAST_STEP_DEG)


def _rounded(profiles: Sequence[CommunicationProfile], quantum_s: float) -> tuple[tuple[int, ...], float]:
    """Return iteration times in quanta, and the stretch of the job that is rounded up the most."""
    times_s = [profile.iteration_time_s for profile in profiles]
    quanta = tuple(max(1, round(time_s / quantum_s)) for time_s in times_s)
    least_s = max(time_s / number for time_s, number in zip(times_s, quanta, strict=True))
    return quanta, max(least_s * number / time_s for time_s, number in zip(times_s, quanta, strict=True)) - 1
