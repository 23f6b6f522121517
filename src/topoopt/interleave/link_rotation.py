"""How the jobs of one link are turned, and to which times their iterations are rounded for it."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from topoopt.errors import check_known
from topoopt.interleave.circle import (
    MOST_QUANTA,
    QUANTUM_S,
    STEP_DEG,
    copies_of,
    fitting_quantum_s,
    unified_circle,
)
from topoopt.interleave.interleaving import interleave
from topoopt.interleave.merging import MERGING
from topoopt.interleave.profile import CommunicationProfile
from topoopt.interleave.score import compatibility_score
from topoopt.interleave.shared_link import SharedLink
from topoopt.interleave.solvers import AUTO
from topoopt.interleave.unaligned import unaligned_score

COARSER = (1, 2, 5, 10, 20, 50, 100)
"""Quanta that are tried, in those of the rules."""
MOST_STRETCH = 0.05
"""Jobs are rounded to times that are longer by at most this part."""
MOST_ANGLES = 10_000
"""Of a circle; with more every job has so many copies that rotation does nothing."""
MANY_JOBS = 5
"""From so many on a grid takes a second, and descent a twentieth of one."""
NO_GAIN = 1e-9
"""A gain up to this is rounding."""
REMEMBERED = 4096
"""Rotations that are kept: candidates and epochs have most links in common."""


@dataclass(frozen=True, slots=True)
class InterleavingRules:
    """How placements are judged.

    Attributes
    ----------
    step_deg, solver : float, str
        As of :func:`topoopt.interleave.interleave`.
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
    def gain(self) -> float:
        """What there is to gain by it, in scores, for a score of s means iterations longer by about 1 - s."""
        return self.score - self.stretch - self.unaligned_score


@lru_cache(maxsize=REMEMBERED)
def link_rotation(
    profiles: tuple[CommunicationProfile, ...], capacity_bps: float, rules: InterleavingRules
) -> LinkRotation | None:
    """Return the best way to interleave the jobs of a link; None where there is none that gains anything.

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
            found = interleave(
                profiles, capacity_bps, step_deg=rules.step_deg, solver=solver, quantum_s=quantum_s
            )
            rotation = LinkRotation(found.time_shifts_s, quanta, quantum_s, stretch, found.score, unaligned)
            best = max(best or rotation, rotation, key=lambda one: one.score - one.stretch)
    strict = rules.merging == "strict"
    return best if best is not None and (strict or best.gain > NO_GAIN) else None


def score_with(
    link: SharedLink, rotation: LinkRotation, shift_s: Mapping[str, float], step_deg: float
) -> float:
    """Return the score of a link whose jobs have been turned for the sake of another one."""
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
        few = math.lcm(*copies_of(quanta)) <= MOST_ANGLES
        if few and stretch <= MOST_STRETCH and proportions not in seen:
            seen.add(proportions)
            yield quantum_s


def _rounded(profiles: Sequence[CommunicationProfile], quantum_s: float) -> tuple[tuple[int, ...], float]:
    """Return iteration times in quanta, and the stretch of the job that is rounded up the most."""
    times_s = [profile.iteration_time_s for profile in profiles]
    quanta = tuple(max(1, round(time_s / quantum_s)) for time_s in times_s)
    least_s = max(time_s / number for time_s, number in zip(times_s, quanta, strict=True))
    return quanta, max(least_s * number / time_s for time_s, number in zip(times_s, quanta, strict=True)) - 1
