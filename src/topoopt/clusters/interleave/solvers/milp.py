"""Several jobs, exactly: a mixed-integer program, which HiGHS solves."""

import numpy as np
from scipy.optimize import Bounds, LinearConstraint
from scipy.optimize import milp as solved
from scipy.sparse import coo_array, csr_array, eye_array, hstack

from topoopt.base.arrays import Floats
from topoopt.base.errors import Infeasible, InvalidInput
from topoopt.clusters.interleave.solvers.descent import descend, descent
from topoopt.clusters.interleave.solvers.rotation_problem import RotationProblem

MOST_ENTRIES = 5_000_000
"""Numbers in the matrix of the largest program."""
SCALE = 1e4
"""HiGHS stops within 1e-6 of the optimum; of an objective so many times larger that is 1e-10."""


def milp(problem: RotationProblem, seed: int = 0) -> tuple[int, ...]:
    """Return the best shifts; exact, without chance.

    Where descent's answer exceeds the link by no more than it must, with all demand spread evenly, that is it. Else, a
    program: of each job one shift is taken, ``sum_s x[j, s] = 1``; the excess of every angle is at least
    ``sum_js x[j, s]·demand[j, angle - s] - 1``; the sum of the excesses is the least. Shifts that a turn of the whole
    circle makes equal are left out. What HiGHS takes for equal within its tolerance is settled by descent from there.

    Raises
    ------
    InvalidInput
        If the program would be too large.
    Infeasible
        If HiGHS gives up.
    """
    counts = problem.distinct(range(problem.jobs))
    if sum(counts) * problem.angles > MOST_ENTRIES:
        raise InvalidInput(
            f"solver milp: {problem.jobs} jobs at {problem.angles} angles have {sum(counts):,} rotations in all, too "
            "many for a program; take auto or descent, or a larger step"
        )
    known = descent(problem, seed)
    if problem.cannot_be_less(problem.excess(known)):
        return known
    taken = _taken(problem, counts)
    ends = np.cumsum(counts)
    shifts = [int(np.argmax(taken[end - count : end])) for end, count in zip(ends, counts, strict=True)]
    better = descend(problem, shifts)
    return tuple(better) if problem.excess(better) < problem.excess(known) else known


def _taken(problem: RotationProblem, counts: tuple[int, ...]) -> Floats:
    """Return 1 for the shift of each job that is taken, job after job."""
    choices, angles = sum(counts), problem.angles
    none = np.zeros(choices)
    result = solved(
        np.concatenate([none, np.full(angles, SCALE)]),
        integrality=np.concatenate([none + 1, np.zeros(angles)]),
        bounds=Bounds(0, np.concatenate([none + 1, np.full(angles, np.inf)])),
        constraints=[_one_each(counts, angles), _excess(problem, counts)],
        options={"mip_rel_gap": 0.0},
    )
    if result.x is None:
        raise Infeasible(f"solver milp: HiGHS gave up: {result.message}; take descent")
    return np.asarray(result.x[:choices])


def _one_each(counts: tuple[int, ...], angles: int) -> LinearConstraint:
    rows = np.repeat(np.arange(len(counts)), counts)
    shape = (len(counts), len(rows) + angles)
    return LinearConstraint(
        coo_array((np.ones(len(rows)), (rows, np.arange(len(rows)))), shape).tocsr(), 1, 1
    )


def _excess(problem: RotationProblem, counts: tuple[int, ...]) -> LinearConstraint:
    """Return: the excess less what all send is at least minus one capacity, at every angle."""
    angles = np.arange(problem.angles)[:, None]
    sent = [
        demand[(angles - np.arange(count)) % samples]
        for demand, count, samples in zip(problem.demands, counts, problem.samples, strict=True)
    ]
    matrix = hstack([-csr_array(np.hstack(sent)), eye_array(problem.angles)], format="csr")
    return LinearConstraint(matrix, -1, np.inf)
