"""The unified circle and the compatibility score on it: jobs of several iteration times on one circle on which all
of them repeat."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from topoopt.base.arrays import Floats
from topoopt.base.errors import InvalidInput
from topoopt.base.units import format_time
from topoopt.clusters.interleave.profiles.profile import CommunicationProfile

STEP_DEG = 5.0
"""Default step between two angles, as in the paper: 72 of them."""
QUANTUM_S = 1e-3
"""Iteration times are rounded to multiples of this."""
MOST_QUANTA = 1_000_000
"""Longest circle in quanta; 1,000 s at 1 ms."""
SAME_PACE = 1e-9
"""Relative difference below which times are in the ratio of their quanta."""
LEAST_STEP_DEG = 0.001
LARGEST_STEP_DEG = 180.0
_MANTISSAS = (1, 2, 5)


@dataclass(frozen=True, slots=True, eq=False)
class UnifiedCircle:
    """Some jobs on one circle, whose perimeter is the least common multiple of their iteration times.

    Attributes
    ----------
    profiles : tuple of CommunicationProfile
        Profile of each job over an iteration.
    quantum_s : float
        Unit to which iteration times were rounded.
    quanta : tuple of int
        The iteration time of each job, in quanta.
    angles : int
        Points at which demands are sampled, equally far from each other: a multiple of the least common multiple of
        ``copies``, so that every iteration of a job has the same ones.
    demands_bps : array of (jobs, angles)
        Demand of each job at each angle, unrotated.

    References
    ----------
    .. [1] S. Rajasekaran et al., "CASSINI", NSDI 2024, section 3.
    """

    profiles: tuple[CommunicationProfile, ...]
    quantum_s: float
    quanta: tuple[int, ...]
    angles: int
    demands_bps: Floats

    @property
    def unit_s(self) -> float:
        """Duration of a quantum: scaled to the jobs' own times where rounding changed all of them by the same
        factor."""
        units_s = [job.iteration_time_s / each for job, each in zip(self.profiles, self.quanta, strict=True)]
        keep_pace = max(units_s) <= min(units_s) * (1 + SAME_PACE)
        on_quantum = abs(units_s[0] - self.quantum_s) <= SAME_PACE * self.quantum_s
        return units_s[0] if keep_pace and not on_quantum else self.quantum_s

    @property
    def period_s(self) -> float:
        """The perimeter p, after which everything repeats."""
        return math.lcm(*self.quanta) * self.unit_s

    @property
    def copies(self) -> tuple[int, ...]:
        """Iterations of each job on the circle, r_j = p / T_j."""
        return copies_of(self.quanta)

    @property
    def samples(self) -> tuple[int, ...]:
        """Angles of one iteration of each job; a rotation is less than these."""
        return tuple(self.angles // copies for copies in self.copies)

    @property
    def iteration_times_s(self) -> tuple[float, ...]:
        """The rounded iteration times."""
        return tuple(quanta * self.unit_s for quanta in self.quanta)

    @property
    def angle_s(self) -> float:
        """The time between two angles."""
        return self.period_s / self.angles

    def rotated_bps(self, shifts: Sequence[int]) -> Floats:
        """Return the total demand at every angle, with each job rotated by its shift."""
        turned = [np.roll(demand, shift) for demand, shift in zip(self.demands_bps, shifts, strict=True)]
        return np.asarray(np.sum(turned, axis=0))


def unified_circle(
    profiles: Sequence[CommunicationProfile], *, step_deg: float = STEP_DEG, quantum_s: float = QUANTUM_S
) -> UnifiedCircle:
    """Map jobs to one circle.

    Parameters
    ----------
    step_deg
        Largest distance between two angles.
    quantum_s
        Iteration times are rounded to multiples of this first, since exact ones have no useful common multiple.

    Raises
    ------
    InvalidInput
        If there is no job, an iteration is shorter than half the quantum, or the circle is longer than
        :data:`MOST_QUANTA` quanta.

    Examples
    --------
    >>> from topoopt.clusters.interleave.profiles.profile import Phase
    >>> jobs = [CommunicationProfile(f"{ms} ms", ms / 1e3, (Phase(0, 0.01, 50e9),)) for ms in (40, 60)]
    >>> circle = unified_circle(jobs)
    >>> circle.period_s, circle.copies, circle.angles
    (0.12, (3, 2), 72)
    """
    if not profiles:
        raise InvalidInput("jobs: none given; give at least one")
    if not LEAST_STEP_DEG <= step_deg <= LARGEST_STEP_DEG:
        raise InvalidInput(
            f"step: expected degrees from {LEAST_STEP_DEG:g} to {LARGEST_STEP_DEG:g}, got {step_deg:g}"
        )
    if not 0 < quantum_s < math.inf:
        raise InvalidInput(f"quantum: expected a time > 0, got {quantum_s:g} s")
    quanta = tuple(_quanta(profile, quantum_s) for profile in profiles)
    length = 1
    for before, (profile, each) in enumerate(zip(profiles, quanta, strict=True)):
        length = math.lcm(length, each)
        if length > MOST_QUANTA:
            others = ", ".join(dict.fromkeys(one.job for one in profiles[:before]))
            raise InvalidInput(
                f"job {profile.job}: its {format_time(each * quantum_s)} and the iteration times of {others or 'none'} "
                f"have no common multiple up to {format_time(MOST_QUANTA * quantum_s)}; "
                f"{_coarser(profiles, quantum_s)}"
            )
    copies = copies_of(quanta)
    every = math.lcm(*copies)
    angles = every * math.ceil(360 / step_deg / every * (1 - 1e-12))
    demands = np.array(
        [_sampled(job, angles // each, each) for job, each in zip(profiles, copies, strict=True)]
    )
    return UnifiedCircle(tuple(profiles), quantum_s, quanta, angles, demands)


def copies_of(quanta: Sequence[int]) -> tuple[int, ...]:
    """Return the number of repetitions of each iteration time in the least common multiple."""
    period = math.lcm(*quanta)
    return tuple(period // each for each in quanta)


def fitting_quantum_s(profiles: Sequence[CommunicationProfile], quantum_s: float = QUANTUM_S) -> float:
    """Return the least quantum of 1, 2 or 5 and zeros, not below the one given, whose circle is not too long.

    It is none of these where even the shortest iteration would be less than a quantum; then it is that iteration.
    """
    shortest_s = min(profile.iteration_time_s for profile in profiles)
    least_s = max(quantum_s, max(profile.iteration_time_s for profile in profiles) / (2 * MOST_QUANTA))
    for exponent in range(math.floor(math.log10(least_s)), math.ceil(math.log10(shortest_s)) + 1):
        for mantissa in _MANTISSAS:
            candidate_s = mantissa * 10.0**exponent
            if quantum_s <= candidate_s <= shortest_s:
                quanta = [round(profile.iteration_time_s / candidate_s) for profile in profiles]
                if math.lcm(*quanta) <= MOST_QUANTA:
                    return candidate_s
    return shortest_s


def _quanta(profile: CommunicationProfile, quantum_s: float) -> int:
    quanta = round(min(profile.iteration_time_s / quantum_s, 2.0 * MOST_QUANTA))  # not infinite
    if quanta < 1:
        raise InvalidInput(
            f"job {profile.job}: iteration time {format_time(profile.iteration_time_s)} is less than half of the "
            f"quantum of {format_time(quantum_s)}; give a smaller quantum"
        )
    return quanta


def _coarser(profiles: Sequence[CommunicationProfile], quantum_s: float) -> str:
    fits_s = fitting_quantum_s(profiles, quantum_s)
    if math.lcm(*(round(profile.iteration_time_s / fits_s) for profile in profiles)) > MOST_QUANTA:
        return "put the job on another link"
    return f"give a coarser quantum, such as quantum={format_time(fits_s).replace(' ', '')}"


def _sampled(profile: CommunicationProfile, samples: int, copies: int) -> Floats:
    """Return the demand at the angles of all iterations: those of one, repeated."""
    times_s = np.arange(samples) / samples * profile.iteration_time_s
    return np.tile(profile.demand_bps(times_s), copies)


def compatibility_score(demand_bps: NDArray[np.float64], capacity_bps: float) -> float:
    """Return 1 less the mean excess demand in capacities.

    It is 1 where the link carries all at every angle. It has no lower end: many jobs that exceed a link at all
    angles have a negative one.

    Parameters
    ----------
    demand_bps : array of (angles,)
        Total demand of all jobs.

    References
    ----------
    .. [1] S. Rajasekaran et al., "CASSINI", NSDI 2024, equation 2.

    Examples
    --------
    >>> import numpy as np
    >>> compatibility_score(np.array([50e9, 100e9, 0.0, 50e9]), 50e9)
    0.75
    """
    excess = np.maximum(demand_bps / capacity_bps - 1, 0.0)
    return float(1 - excess.sum() / len(excess))


def unaligned_score(profiles: Sequence[CommunicationProfile], capacity_bps: float) -> float:
    """Return the mean compatibility score over all rotations of all jobs.

    Jobs with incommensurable iteration times reach this mean, since they drift through all rotations; it is also
    the expectation for others before any shift.

    Examples
    --------
    Two jobs that are on half of the time meet for a quarter of it:

    >>> from topoopt.clusters.interleave.profiles.profile import Phase
    >>> jobs = [CommunicationProfile(name, 0.1, (Phase(0.0, 0.05, 50e9),)) for name in "ab"]
    >>> unaligned_score(jobs, 50e9)
    0.75
    """
    demand_bps: Floats = np.zeros(1)
    part: Floats = np.ones(1)
    for profile in profiles:
        rate_bps = np.array([0.0, *(phase.bandwidth_bps for phase in profile.phases)])
        parts = np.array([0.0, *(phase.duration_s / profile.iteration_time_s for phase in profile.phases)])
        parts[0] = max(0.0, 1.0 - parts.sum())
        demand_bps, place = np.unique(np.add.outer(demand_bps, rate_bps), return_inverse=True)
        part = np.asarray(np.bincount(place.ravel(), np.multiply.outer(part, parts).ravel()), np.float64)
    return float(1.0 - part @ np.maximum(demand_bps / capacity_bps - 1.0, 0.0))
