"""The table of solvers of the rotation problem: by FFT, on a grid, by descent, and as a mixed-integer program."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from topoopt.base.arrays import Floats
from topoopt.base.errors import Infeasible, InvalidInput
from topoopt.clusters.interleave.solvers.rotation_problem import RotationProblem, excess_by_shift

if TYPE_CHECKING:
    from scipy.optimize import LinearConstraint

MOST_JOBS = 2


def fft(problem: RotationProblem, seed: int = 0) -> tuple[int, ...]:
    """Return the best shifts of at most two jobs; exact and deterministic.

    Raises
    ------
    InvalidInput
        For more jobs.
    """
    if problem.jobs > MOST_JOBS:
        raise InvalidInput(
            f"solver fft: is for two jobs, got {problem.jobs}; take auto, grid, milp or descent"
        )
    if problem.jobs < MOST_JOBS:
        return (0,) * problem.jobs
    first, second = problem.demands
    return 0, int(np.argmin(excess_by_shift(first, second, problem.samples[1])))


STARTS = 48
"""Random starts: with one start, 41 % of 150 random problems of four jobs were missed, by up to 0.046 in score."""
GO_ON = 4
"""Number of best starts that are improved further, moving two jobs at a time."""
EXCESS_DIGITS = 12
"""Digits to which excesses are compared; among equal ones, the earlier start wins."""
MOST_IN_PAIRS = 1 << 18
"""Largest product of two jobs' rotations and the angles for which they are rotated together."""
LEAST_GAIN = 1e-12
Shifts = list[int]


def descent(problem: RotationProblem, seed: int = 0) -> tuple[int, ...]:
    """Return the best shifts that were found; not always the best that there are.

    The first start is the jobs as they are, the others are drawn.
    """
    rng = np.random.default_rng(seed)
    starts = [
        [0] * problem.jobs,
        *([0, *(int(rng.integers(samples)) for samples in problem.samples[1:])] for _ in range(STARTS - 1)),
    ]
    ends: list[Shifts] = []
    for start in starts:
        ends.append(_one_at_a_time(problem, start))
        if problem.cannot_be_less(problem.excess(ends[-1])):
            return tuple(ends[-1])
    ends.sort(key=lambda end: round(problem.excess(end), EXCESS_DIGITS))
    better = [descend(problem, end) for end in ends[:GO_ON]]
    return tuple(better[int(np.argmin([problem.excess(end) for end in better]))])


def descend(problem: RotationProblem, shifts: Shifts) -> Shifts:
    """Return shifts that no turn of one job makes better, nor of two where these are not too many."""
    while True:
        shifts = _one_at_a_time(problem, shifts)
        better = _two_at_a_time(problem, shifts)
        if better is None:
            return shifts
        shifts = better


def _one_at_a_time(problem: RotationProblem, shifts: Shifts) -> Shifts:
    shifts = list(shifts)
    best, still = problem.excess(shifts), 0
    while still < problem.jobs:
        for job in range(problem.jobs):
            others = problem.total(shifts) - np.roll(problem.demands[job], shifts[job])
            excess = excess_by_shift(others, problem.demands[job], problem.samples[job])
            at = int(np.argmin(excess))
            if excess[at] < best - LEAST_GAIN:
                best, still = float(excess[at]), 0
                shifts[job] = at
            else:
                still += 1
    return shifts


MOST_TRIALS = 5_000_000_000
"""Rotations times angles of the largest grid: some minutes."""
WORTH_A_DESCENT = 20_000_000
"""A grid from here on takes longer than descent."""
ROOM = 1 << 19
"""Numbers that are held at a time, for the caches of a processor."""


def grid(problem: RotationProblem, seed: int = 0) -> tuple[int, ...]:
    """Return the best shifts of all; exact and deterministic.

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
    """Return the number of rotations tried, times the angles and the levels of the last job's demand."""
    order = _order(problem)
    return math.prod(problem.distinct(order)[:-1]) * problem.angles * _levels(problem, order[-1])


def _order(problem: RotationProblem) -> list[int]:
    """Return the jobs, last the one whose rotations are had at once: of many distinct ones, in few levels."""

    def gain(job: int) -> float:
        before = [other for other in range(problem.jobs) if other != job]
        return problem.distinct([*before, job])[-1] / _levels(problem, job)

    last = max(range(problem.jobs), key=gain)
    return [*(job for job in range(problem.jobs) if job != last), last]


def _cases(problem: RotationProblem, order: Sequence[int]) -> Iterator[tuple[NDArray[np.int64], Floats]]:
    """Yield shifts of all but the last job, and their total demand.

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


MOST_ENTRIES = 5_000_000
"""Numbers in the matrix of the largest program."""
SCALE = 1e4
"""HiGHS stops within 1e-6 of the optimum; for an objective scaled by this, that is 1e-10."""


def milp(problem: RotationProblem, seed: int = 0) -> tuple[int, ...]:
    """Return the best shifts; exact and deterministic.

    Where descent's answer exceeds the link by no more than it must, with all demand spread evenly, that is it. Else, a
    program: each job has one shift, ``sum_s x[j, s] = 1``; the excess of every angle is at least ``sum_js x[j,
    s]·demand[j, angle - s] - 1``; the sum of the excesses is the least. Shifts that a turn of the whole circle makes
    equal are omitted. Ties within the tolerance of HiGHS are resolved by descent from there.

    Raises
    ------
    InvalidInput
        If the program would be too large.
    Infeasible
        If HiGHS gives up.
    """
    from scipy.optimize import Bounds, LinearConstraint  # noqa: PLC0415 - slow to import
    from scipy.optimize import milp as solved  # noqa: PLC0415 - slow to import
    from scipy.sparse import coo_array  # noqa: PLC0415 - slow to import

    counts = problem.distinct(range(problem.jobs))
    if sum(counts) * problem.angles > MOST_ENTRIES:
        raise InvalidInput(
            f"solver milp: {problem.jobs} jobs at {problem.angles} angles have {sum(counts):,} rotations in all, too "
            "many for a program; take auto or descent, or a larger step"
        )
    known = descent(problem, seed)
    if problem.cannot_be_less(problem.excess(known)):
        return known
    # a variable for each shift of each job, job after job: 1 for the one that is taken
    choices, angles = sum(counts), problem.angles
    none = np.zeros(choices)
    rows = np.repeat(np.arange(len(counts)), counts)
    shape = (len(counts), len(rows) + angles)
    one_each = LinearConstraint(
        coo_array((np.ones(len(rows)), (rows, np.arange(len(rows)))), shape).tocsr(), 1, 1
    )
    result = solved(
        np.concatenate([none, np.full(angles, SCALE)]),
        integrality=np.concatenate([none + 1, np.zeros(angles)]),
        bounds=Bounds(0, np.concatenate([none + 1, np.full(angles, np.inf)])),
        constraints=[one_each, _excess(problem, counts)],
        options={"mip_rel_gap": 0.0},
    )
    if result.x is None:
        raise Infeasible(f"solver milp: HiGHS gave up: {result.message}; take descent")
    taken = np.asarray(result.x[:choices])
    ends = np.cumsum(counts)
    shifts = [int(np.argmax(taken[end - count : end])) for end, count in zip(ends, counts, strict=True)]
    better = descend(problem, shifts)
    return tuple(better) if problem.excess(better) < problem.excess(known) else known


AUTO = "auto"
"""Name of the choice by :func:`chosen_solver`; not a solver itself."""
QUICK_TRIALS = 200_000_000
"""A grid up to this takes a few seconds."""
QUICK_CHOICES = 150
"""Rotations of all jobs in a program that HiGHS solves in seconds."""


class Solver(Protocol):
    """One solver of rotations."""

    def __call__(self, problem: RotationProblem, seed: int = ...) -> tuple[int, ...]:
        """Return the rotation of each job in angle steps, less than one of its iterations.

        Parameters
        ----------
        seed
            Random seed of stochastic solvers.

        Raises
        ------
        InvalidInput
            If the problem is none for this solver.
        """
        ...


SOLVERS: Mapping[str, Solver] = {
    "fft": fft,
    "grid": grid,
    "descent": descent,
    "milp": milp,
}


def chosen_solver(name: str, problem: RotationProblem) -> str:
    """Return the name of the solver; for ``auto`` the quickest exact one, or descent where that would take long."""
    if name != AUTO:
        return name
    if problem.jobs <= MOST_JOBS:
        return "fft"
    if grid_trials(problem) <= QUICK_TRIALS:
        return "grid"
    if sum(problem.distinct(range(problem.jobs))) <= QUICK_CHOICES:
        return "milp"
    return "descent"


def _excess(problem: RotationProblem, counts: tuple[int, ...]) -> "LinearConstraint":
    """Return the constraint: the excess less the total demand is at least minus one capacity, at every angle."""
    from scipy.optimize import LinearConstraint  # noqa: PLC0415 - slow to import
    from scipy.sparse import csr_array, eye_array, hstack  # noqa: PLC0415 - slow to import

    angles = np.arange(problem.angles)[:, None]
    sent = [
        demand[(angles - np.arange(count)) % samples]
        for demand, count, samples in zip(problem.demands, counts, problem.samples, strict=True)
    ]
    matrix = hstack([-csr_array(np.hstack(sent)), eye_array(problem.angles)], format="csr")
    return LinearConstraint(matrix, -1, np.inf)


def _levels(problem: RotationProblem, job: int) -> int:
    return len(np.unique(problem.demands[job]))


def _two_at_a_time(problem: RotationProblem, shifts: Shifts) -> Shifts | None:
    """Return better shifts, None where there are none."""
    now = problem.excess(shifts)
    angles = np.arange(problem.angles)
    for first in range(problem.jobs):
        turns = np.arange(problem.samples[first])
        if len(turns) * problem.angles > MOST_IN_PAIRS or now <= LEAST_GAIN:
            continue
        turned = problem.demands[first][(angles - turns[:, None]) % len(turns)]
        for second in range(first + 1, problem.jobs):
            others = problem.total(
                [0 if job in (first, second) else shift for job, shift in enumerate(shifts)]
            )
            others -= problem.demands[first] + problem.demands[second]
            excess = excess_by_shift(others + turned, problem.demands[second], problem.samples[second])
            at = int(np.argmin(excess))
            if excess.flat[at] < now - LEAST_GAIN:
                better = list(shifts)
                better[first], better[second] = divmod(at, problem.samples[second])
                return better
    return None
