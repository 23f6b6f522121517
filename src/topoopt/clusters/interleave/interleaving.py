"""Interleave jobs on a link: rotation of each circle, and the resulting start of each job."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topoopt.base.answers import Frame, fields_of, frame, shows_itself
from topoopt.base.arrays import Floats
from topoopt.base.errors import InvalidInput, check_known
from topoopt.base.limits import finite
from topoopt.clusters.interleave.advice import Advice, advice
from topoopt.clusters.interleave.profiles.profile import CommunicationProfile
from topoopt.clusters.interleave.solvers import AUTO, SOLVERS, RotationProblem, chosen_solver, excess_by_shift
from topoopt.clusters.interleave.unified_circle import (
    QUANTUM_S,
    STEP_DEG,
    UnifiedCircle,
    compatibility_score,
    unified_circle,
)

EQUAL = 1e-9
"""Excesses in capacities, summed over the angles, that are the same one."""


@shows_itself
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Interleaving:
    """Jobs that share a link, each rotated to minimize the excess of their total demand over its capacity.

    Attributes
    ----------
    circle : UnifiedCircle
        The jobs, as they were given.
    solver : str
        Solver that found the rotations.
    shifts : tuple of int
        Rotation of each job in angle steps; the first job stays.
    score, unrotated_score : float
        Compatibility with the rotations and without; 1 where the link carries everything, and without a lower end.
    """

    circle: UnifiedCircle
    capacity_bps: float
    solver: str
    shifts: tuple[int, ...]
    score: float
    unrotated_score: float

    @property
    def profiles(self) -> tuple[CommunicationProfile, ...]:
        """The jobs."""
        return self.circle.profiles

    @property
    def angles(self) -> int:
        """Points at which demands were sampled."""
        return self.circle.angles

    @property
    def period_s(self) -> float:
        """Period after which everything repeats."""
        return self.circle.period_s

    @property
    def rotations_deg(self) -> tuple[float, ...]:
        """Rotation of each job, from 0 to less than 360 over its copies."""
        return tuple(360 * shift / self.angles for shift in self.shifts)

    @property
    def time_shifts_s(self) -> tuple[float, ...]:
        """Delay of each job's start, applied once before an iteration."""
        return tuple(shift * self.circle.angle_s for shift in self.shifts)

    @property
    def leeway_s(self) -> tuple[float, ...]:
        """Leeway of each job, early or late, within which the score stays while the others are in place."""
        angles = leeway_angles(_problem(self.circle, self.capacity_bps), self.shifts)
        return tuple(each * self.circle.angle_s for each in angles)

    @property
    def demand(self) -> Floats:
        """Total demand of all jobs at every angle, rotated, bits/s."""
        return self.circle.rotated_bps(self.shifts)

    @property
    def unrotated_demand(self) -> Floats:
        """Total demand without rotations, bits/s."""
        return self.circle.rotated_bps((0,) * len(self.shifts))

    @property
    def advice(self) -> Advice:
        """Caveats, and changes that would help where rotation cannot."""
        return advice(self.circle, self.capacity_bps, self.score, float(self.demand.max()))

    def to_json(self) -> dict[str, Any]:
        """Return the document of ``topoopt interleave --json``; lists are in the order of the jobs."""
        told = self.advice
        return {
            **fields_of(self, "score", "unrotated_score"),
            "rotations_deg": list(self.rotations_deg),
            "time_shifts_s": list(self.time_shifts_s),
            "demand": self.demand.tolist(),
            "unrotated_demand": self.unrotated_demand.tolist(),
            "jobs": self.rows(),
            **fields_of(self, "capacity_bps", "period_s"),
            "quantum_s": self.circle.quantum_s,
            **fields_of(self, "angles", "solver"),
            "warnings": list(told.warnings),
            "nearest": [each.to_json() for each in told.nearest],
        }

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per job."""
        leeway_s = self.leeway_s
        return [
            {
                **fields_of(profile, "job", "iteration_time_s"),
                "rounded_iteration_time_s": self.circle.iteration_times_s[number],
                "copies": self.circle.copies[number],
                **fields_of(profile, "duty", "peak_bps"),
                "rotation_deg": self.rotations_deg[number],
                "time_shift_s": self.time_shifts_s[number],
                "leeway_s": leeway_s[number],
            }
            for number, profile in enumerate(self.profiles)
        ]

    def to_frame(self) -> Frame:
        """Return a row for each job, as pandas has it."""
        return frame(self.rows())


def interleave(
    profiles: Sequence[CommunicationProfile],
    capacity_bps: float,
    *,
    step_deg: float = STEP_DEG,
    solver: str = AUTO,
    quantum_s: float = QUANTUM_S,
    seed: int = 0,
) -> Interleaving:
    """Rotate the circles of jobs that share a link to minimize the excess of their demands over it.

    Among rotations with the same score it takes the middle of the longest run of them, so that jobs may be early
    or late.

    Parameters
    ----------
    step_deg
        Largest step between two angles.
    solver
        Name in :data:`~topoopt.clusters.interleave.SOLVERS`, or ``auto``.
    quantum_s
        Iteration times are rounded to multiples of this.
    seed
        Random seed of stochastic solvers.

    Returns
    -------
    Interleaving

    Raises
    ------
    InvalidInput
        For a capacity or a step that cannot be, jobs whose circle would be too long, a solver that is not for them.

    References
    ----------
    .. [1] S. Rajasekaran et al., "CASSINI", NSDI 2024, section 3.

    Examples
    --------
    >>> from topoopt.clusters.interleave.profiles.profile import Phase
    >>> jobs = [CommunicationProfile(f"{ms} ms", ms / 1e3, (Phase(0, 0.01, 50e9),)) for ms in (40, 60)]
    >>> answer = interleave(jobs, 50e9)
    >>> answer.score, round(answer.unrotated_score, 4)
    (1.0, 0.9167)
    """
    if not 0 < capacity_bps < math.inf:
        names = " and ".join(dict.fromkeys(profile.job for profile in profiles))
        raise InvalidInput(
            f"capacity: expected a finite rate > 0, got {capacity_bps:g} b/s; give that of the link of job {names}, "
            "such as 50Gbps"
        )
    finite("capacity", capacity_bps)
    for profile in profiles:
        finite(f"job {profile.job}: bandwidth", profile.peak_bps)
    check_known("solver", solver, (AUTO, *SOLVERS))  # before what may take a while or fail
    circle = unified_circle(profiles, step_deg=step_deg, quantum_s=quantum_s)
    problem = _problem(circle, capacity_bps)
    name = chosen_solver(solver, problem)
    found = SOLVERS[name](problem, seed)
    turned = tuple((shift - found[0]) % samples for shift, samples in zip(found, circle.samples, strict=True))
    shifts = middles(problem, turned)
    return Interleaving(
        circle,
        capacity_bps,
        name,
        shifts,
        compatibility_score(circle.rotated_bps(shifts), capacity_bps),
        compatibility_score(circle.demands_bps.sum(axis=0), capacity_bps),
    )


def _problem(circle: UnifiedCircle, capacity_bps: float) -> RotationProblem:
    return RotationProblem(circle.demands_bps / capacity_bps, circle.samples)


def middles(problem: RotationProblem, shifts: Sequence[int]) -> tuple[int, ...]:
    """Return shifts that exceed the link no more, each job but the first in the middle of its longest stretch.

    A job for which all shifts are equal is not shifted.
    """
    moved = list(shifts)
    for job in range(1, problem.jobs):
        good = _as_good(problem, moved, job)
        if good.all():
            moved[job] = 0
            continue
        # start and length of the longest stretch of True around the circle; of equal ones the first
        bad = np.flatnonzero(~good)
        gaps = np.diff(bad, append=bad[0] + len(good)) - 1
        widest = int(np.argmax(gaps))
        start, length = int(bad[widest] + 1) % len(good), int(gaps[widest])
        moved[job] = (start + (length - 1) // 2) % len(good)
    return tuple(moved)


def leeway_angles(problem: RotationProblem, shifts: Sequence[int]) -> tuple[int, ...]:
    """Return the leeway of each job alone, in angle steps early or late; half an iteration where it does not matter."""
    return tuple(_least_distance(_as_good(problem, shifts, job), shifts[job]) for job in range(problem.jobs))


def _as_good(problem: RotationProblem, shifts: Sequence[int], job: int) -> NDArray[np.bool_]:
    """Return for each shift of a job, with the others in place, whether its excess is minimal."""
    others = problem.total([0 if other == job else shift for other, shift in enumerate(shifts)])
    excess = excess_by_shift(others - problem.demands[job], problem.demands[job], problem.samples[job])
    good: NDArray[np.bool_] = excess <= excess.min() + EQUAL
    return good


def _least_distance(good: NDArray[np.bool_], shift: int) -> int:
    bad = np.flatnonzero(~good)
    if not len(bad):
        return len(good) // 2
    away = np.abs(bad - shift)
    return max(int(np.minimum(away, len(good) - away).min()) - 1, 0)
