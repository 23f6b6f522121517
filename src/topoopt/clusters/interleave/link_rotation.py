"""Rotation of the jobs on one link, and the rounding of their iteration times for it."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from topoopt.base.arrays import Floats, grouped
from topoopt.base.errors import InvalidInput, check_known
from topoopt.clusters.interleave.interleaving import interleave
from topoopt.clusters.interleave.profiles.profile import CommunicationProfile, Phase
from topoopt.clusters.interleave.solvers import AUTO
from topoopt.clusters.interleave.unified_circle import (
    LEAST_STEP_DEG,
    MOST_QUANTA,
    QUANTUM_S,
    STEP_DEG,
    compatibility_score,
    copies_of,
    fitting_quantum_s,
    unaligned_score,
    unified_circle,
)

ALIKE = 1e-6
"""Relative tolerance of times, and of rates, for equality: both are results of sums."""


@dataclass(frozen=True)
class SharedLink:
    """A link and the jobs on it.

    Attributes
    ----------
    capacity_bps : float
    profiles : tuple of CommunicationProfile
        Profile of each job on this link over an iteration.
    cable : str
        Identifier shared by the two directions of a cable; empty if unknown.

    Raises
    ------
    InvalidInput
        Without a name or capacity, or for a job that is there twice.
    """

    link: str
    capacity_bps: float
    profiles: tuple[CommunicationProfile, ...]
    cable: str = ""

    def __post_init__(self) -> None:
        if not self.link:
            raise InvalidInput("shared link: has no name; give each link its own")
        if not 0 < self.capacity_bps < math.inf:
            raise InvalidInput(
                f"link {self.link}: capacity {self.capacity_bps:g} b/s: expected a finite rate > 0"
            )
        names = [profile.job for profile in self.profiles]
        for name in names:
            if names.count(name) > 1:
                raise InvalidInput(f"link {self.link}: job {name} is there twice; add up what it sends")

    @cached_property
    def jobs(self) -> dict[str, CommunicationProfile]:
        """The profile of each job."""
        return {profile.job: profile for profile in self.profiles}

    @cached_property
    def fullness(self) -> float:
        """Total of the jobs' peak rates over the capacity."""
        return math.fsum(profile.peak_bps for profile in self.profiles) / self.capacity_bps

    @property
    def can_be_short(self) -> bool:
        """Whether the jobs can ask for more than it has, whenever each sends."""
        return len(self.profiles) > 1 and self.fullness > 1 + ALIKE

    def same_demands(self, other: "SharedLink") -> bool:
        """Return whether the same jobs send the same here and there."""
        return self.jobs.keys() == other.jobs.keys() and all(
            _at_most(profile, other.jobs[job]) and _at_most(other.jobs[job], profile)
            for job, profile in self.jobs.items()
        )

    def covers(self, other: "SharedLink") -> bool:
        """Return whether all jobs of another link are here, and never take a larger part of that link than of this."""
        factor = self.capacity_bps / other.capacity_bps
        return all(
            job in self.jobs and _at_most(profile, self.jobs[job], factor)
            for job, profile in other.jobs.items()
        )


MERGING = ("strict", "identical", "contained")
"""Rules for merging links of several jobs.

``strict``: none, as in the paper's text. ``identical``: links with the same jobs and demands are merged (the
smallest capacity decides), as are the two directions of a cable with the same jobs. ``contained``: also links
whose jobs all meet on another link and never take a larger part of it: rotations that relieve the fuller link
relieve them too. Except with ``strict``, a link whose capacity always suffices is ignored."""


@dataclass(frozen=True, slots=True)
class MergedLink:
    """Links that one interleaving is found for.

    Attributes
    ----------
    decides : SharedLink
        The demands and the capacity that it is found for.
    links : tuple of SharedLink
        All that are in it.
    """

    decides: SharedLink
    links: tuple[SharedLink, ...]


COARSER = (1, 2, 5, 10, 20, 50, 100)
"""Quanta that are tried, in those of the rules."""
MOST_STRETCH = 0.05
"""Jobs are rounded to times that are longer by at most this part."""
MOST_ANGLES = 10_000
"""Most angles of a circle; with more, every job has too many copies for rotation to matter."""
MANY_JOBS = 5
"""Jobs from which a grid takes a second, and descent a twentieth of one."""
LEFT = 2 / 3
"""A rotation helps if the score then lacks at most this part of its mean deficit over all rotations. Jobs aligned
with each other all run at the pace of the slowest, which a small gain does not make up for: in two hours of the
Poisson trace of cassini-24, iterations took 1.19 times their time alone without CASSINI, 1.11 times with any gain
accepted, and 1.08 and 1.09 times with a half and two thirds (means of Themis and Pollux, two seeds each)."""
REMEMBERED = 4096
"""Rotations that are kept: candidates and epochs have most links in common."""


@dataclass(frozen=True, slots=True)
class InterleavingRules:
    """Rules for judging placements.

    Attributes
    ----------
    step_deg, solver : float, str
        See :func:`topoopt.clusters.interleave.interleave`.
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
    """Rotation of the jobs on one link, in order.

    Attributes
    ----------
    time_shifts_s : tuple of float
        Delay of each job's start.
    quanta : tuple of int
        Their iteration times have these proportions.
    stretch : float
        Largest part of its iteration by which a job is delayed so that the iteration times match ``quanta``.
    score, unaligned_score : float
        Score with the rotations, and mean score over all rotations, see :func:`unaligned_score`.
    """

    time_shifts_s: tuple[float, ...]
    quanta: tuple[int, ...]
    quantum_s: float
    stretch: float
    score: float
    unaligned_score: float

    @property
    def helps(self) -> bool:
        """Whether it reduces the jobs' losses enough, including those by delays."""
        return 1 - self.score + self.stretch <= LEFT * (1 - self.unaligned_score)


@lru_cache(maxsize=REMEMBERED)
def link_rotation(
    profiles: tuple[CommunicationProfile, ...], capacity_bps: float, rules: InterleavingRules
) -> LinkRotation | None:
    """Return the best interleaving of the jobs on a link; None if none helps.

    Times that are rounded more coarsely have a shorter common multiple, so that a rotation does more; but all jobs
    then have to run at the pace of the one that was rounded down the most. Of several quanta that one is used for
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
    """Return the score of a link whose jobs have been rotated for another one."""
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


def highest_profile(profiles: Sequence[CommunicationProfile]) -> CommunicationProfile:
    """Return the maximum rate over a job's profiles at every time.

    Parameters
    ----------
    profiles : sequence of CommunicationProfile
        Profiles of one job and one iteration time on several links.

    Examples
    --------
    >>> one = CommunicationProfile("a", 1.0, (Phase(0.0, 0.4, 1.0),))
    >>> two = CommunicationProfile("a", 1.0, (Phase(0.25, 0.5, 2.0),))
    >>> highest_profile([one, two]).phases[0], highest_profile([one, two]).phases[1].end_s
    (Phase(start_s=0.0, duration_s=0.25, bandwidth_bps=1.0), 0.75)
    """
    first = profiles[0]
    begins_s, ends_s = _pieces(profiles)
    middle_s = (begins_s + ends_s) / 2
    rate = np.max([profile.demand_bps(middle_s) for profile in profiles], axis=0)
    pieces = zip(begins_s.tolist(), (ends_s - begins_s).tolist(), rate.tolist(), strict=True)
    phases = [Phase(begin_s, length_s, rate_bps) for begin_s, length_s, rate_bps in pieces if rate_bps > 0]
    joined: list[Phase] = []
    for phase in phases:
        last = joined[-1] if joined else None
        if last is not None and last.end_s == phase.start_s and last.bandwidth_bps == phase.bandwidth_bps:
            joined[-1] = Phase(last.start_s, phase.end_s - last.start_s, phase.bandwidth_bps)
        else:
            joined.append(phase)
    return CommunicationProfile(first.job, first.iteration_time_s, tuple(joined))


def _at_most(low: CommunicationProfile, high: CommunicationProfile, factor: float = 1.0) -> bool:
    """Return whether ``low * factor`` is never above ``high``."""
    if abs(low.iteration_time_s - high.iteration_time_s) > ALIKE * high.iteration_time_s:
        return False
    begins_s, ends_s = _pieces([low, high])
    long = ends_s - begins_s > ALIKE * high.iteration_time_s
    middle_s = (begins_s + ends_s)[long] / 2
    above = low.demand_bps(middle_s) * factor - high.demand_bps(middle_s) * (1 + ALIKE)
    return bool((above <= ALIKE * high.peak_bps).all())


def _pieces(profiles: Sequence[CommunicationProfile]) -> tuple[Floats, Floats]:
    """Return begin and end of the stretches of an iteration in which no rate changes; none where nothing is sent."""
    period_s = profiles[0].iteration_time_s
    times_s = [
        time for profile in profiles for phase in profile.phases for time in (phase.start_s, phase.end_s)
    ]
    begins_s = np.unique(np.mod(np.array(times_s, np.float64), period_s))
    return begins_s, np.append(begins_s[1:], begins_s[:1] + period_s)


def merge_links(links: Sequence[SharedLink], merging: str = "identical") -> tuple[MergedLink, ...]:
    """Return the links of the affinity graph, each representing all equivalent ones.

    Parameters
    ----------
    links : sequence of SharedLink
        Links; those with one job are dropped.
    merging : str
        Name in :data:`MERGING`.

    Returns
    -------
    tuple of MergedLink
        Merged links, those of most jobs first.

    Raises
    ------
    InvalidInput
        If the links cannot be merged that way.
    """
    check_known("merging", merging, MERGING)
    if merging == "strict":
        return tuple(MergedLink(link, (link,)) for link in links if len(link.profiles) > 1)
    cables = _joined_directions([link for link in links if link.can_be_short])
    merged: list[tuple[SharedLink, list[SharedLink]]] = []
    for link, parts in sorted(cables, key=lambda cable: (-len(cable[0].profiles), -cable[0].fullness)):
        for decides, members in merged:
            if decides.same_demands(link) or (merging == "contained" and decides.covers(link)):
                members.extend(parts)
                break
        else:
            merged.append((link, list(parts)))
    return tuple(MergedLink(decides, tuple(members)) for decides, members in merged)


def _joined_directions(links: Sequence[SharedLink]) -> list[tuple[SharedLink, list[SharedLink]]]:
    """Return links with the links they replace: two directions of a cable with the same jobs are merged.

    A job asks of it whatever it asks of either: when that fits, both directions do.
    """
    together = grouped(
        ((link.cable, "" if link.cable else link.link, frozenset(link.jobs)), link) for link in links
    )
    return [(_joined(parts), parts) for parts in together.values()]


def _joined(parts: Sequence[SharedLink]) -> SharedLink:
    first = parts[0]
    if all(first.same_demands(part) for part in parts[1:]):
        return min(parts, key=lambda part: part.capacity_bps)
    profiles = tuple(highest_profile([part.jobs[job] for part in parts]) for job in first.jobs)
    return SharedLink(first.cable, min(part.capacity_bps for part in parts), profiles, first.cable)
