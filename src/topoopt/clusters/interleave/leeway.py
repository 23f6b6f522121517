"""Leeway: of rotations with one score the one that may be missed by most."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from topoopt.clusters.interleave.solvers import RotationProblem, excess_by_shift

EQUAL = 1e-9
"""Excesses in capacities, summed over the angles, that are the same one."""


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
        start, length = _longest_run(good)
        moved[job] = (start + (length - 1) // 2) % len(good)
    return tuple(moved)


def leeway_angles(problem: RotationProblem, shifts: Sequence[int]) -> tuple[int, ...]:
    """Return by how many angles each job may be early or late alone; half an iteration where it does not matter."""
    return tuple(_least_distance(_as_good(problem, shifts, job), shifts[job]) for job in range(problem.jobs))


def _as_good(problem: RotationProblem, shifts: Sequence[int], job: int) -> NDArray[np.bool_]:
    """Return for each shift of a job, the others in place, whether it exceeds the link as little as the least."""
    others = problem.total([0 if other == job else shift for other, shift in enumerate(shifts)])
    excess = excess_by_shift(others - problem.demands[job], problem.demands[job], problem.samples[job])
    good: NDArray[np.bool_] = excess <= excess.min() + EQUAL
    return good


def _longest_run(good: NDArray[np.bool_]) -> tuple[int, int]:
    """Return start and length of the longest stretch of True around the circle; of equal ones the first."""
    bad = np.flatnonzero(~good)
    gaps = np.diff(bad, append=bad[0] + len(good)) - 1
    widest = int(np.argmax(gaps))
    return int(bad[widest] + 1) % len(good), int(gaps[widest])


def _least_distance(good: NDArray[np.bool_], shift: int) -> int:
    """Return how far the nearest False is, less one."""
    bad = np.flatnonzero(~good)
    if not len(bad):
        return len(good) // 2
    away = np.abs(bad - shift)
    return max(int(np.minimum(away, len(good) - away).min()) - 1, 0)
