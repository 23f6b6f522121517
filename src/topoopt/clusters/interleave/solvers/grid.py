"""A few jobs: every rotation of all but one is tried, and for each the last job's are had at once."""

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from topoopt.base.arrays import Floats
from topoopt.base.errors import InvalidInput
from topoopt.clusters.interleave.solvers.descent import descent
from topoopt.clusters.interleave.solvers.rotation_problem import RotationProblem, excess_by_shift

MOST_TRIALS = 5_000_000_000
"""Rotations times angles of the largest grid: some minutes."""
WORTH_A_DESCENT = 20_000_000
"""A grid from here on takes longer than descent."""
ROOM = 1 << 19
"""Numbers that are held at a time, for the caches of a processor."""


def grid(problem: RotationProblem, seed: int = 0) -> tuple[int, ...]:
    """Return the best shifts of all; exact, without chance.

    It stops where no rotation can be better, and of many begins with descent, which often comes there at once.

    Raises
    ------
    InvalidInput
        If there are too many.
    """
    if grid_trials(problem) > MOST_TRIALS:
        raise InvalidInput(
            f"solver grid: {problem.jobs} jobs at {problem.angles} angles have {grid_trials(problem):.1e} rotations "
            f"and angles to try, of at most {MOST_TRIALS:.0e}; take auto, milp or descent, or a larger step"
        )
    order = _order(problem)
    last = order[-1]
    found = descent(problem, seed) if grid_trials(problem) > WORTH_A_DESCENT else (0,) * problem.jobs
    best = problem.excess(found)
    for prefixes, bases in _cases(problem, order):
        if problem.cannot_be_less(best):
            break
        excess = excess_by_shift(bases, problem.demands[last], problem.samples[last])
        at = int(np.argmin(excess))
        if excess.flat[at] < best - 1e-12:
            best = float(excess.flat[at])
            case, shift = divmod(at, problem.samples[last])
            chosen = dict(zip(order, (*prefixes[case], shift), strict=True))
            found = tuple(int(chosen[job]) for job in range(problem.jobs))
    return found


def grid_trials(problem: RotationProblem) -> int:
    """Return how many rotations are tried, times the angles and the levels of the last job's demand."""
    order = _order(problem)
    return math.prod(problem.distinct(order)[:-1]) * problem.angles * _levels(problem, order[-1])


def _levels(problem: RotationProblem, job: int) -> int:
    return len(np.unique(problem.demands[job]))


def _order(problem: RotationProblem) -> list[int]:
    """Return the jobs, last the one whose rotations are had at once: of many distinct ones, in few levels."""

    def gain(job: int) -> float:
        before = [other for other in range(problem.jobs) if other != job]
        return problem.distinct([*before, job])[-1] / _levels(problem, job)

    last = max(range(problem.jobs), key=gain)
    return [*(job for job in range(problem.jobs) if job != last), last]


def _cases(problem: RotationProblem, order: Sequence[int]) -> Iterator[tuple[NDArray[np.int64], Floats]]:
    """Yield shifts of all but the last job, and what those send together.

    Arrays of (cases, jobs) and of (cases, angles).
    """
    counts = problem.distinct(order)[:-1]
    cases = math.prod(counts)
    at_once = max(1, ROOM // problem.angles)
    angles = np.arange(problem.angles)
    for start in range(0, cases, at_once):
        numbers = np.arange(start, min(start + at_once, cases))
        shifts = np.stack(np.unravel_index(numbers, counts), axis=1) if counts else np.zeros((1, 0), np.int64)
        bases = np.zeros((len(numbers), problem.angles))
        for job, shift in zip(order[:-1], shifts.T, strict=True):
            bases += problem.demands[job][(angles - shift[:, None]) % problem.samples[job]]
        yield shifts, bases
