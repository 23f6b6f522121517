"""Two jobs: the excess for every rotation of the second at once."""

import numpy as np

from topoopt.base.errors import InvalidInput
from topoopt.clusters.interleave.solvers.rotation_problem import RotationProblem, excess_by_shift

MOST_JOBS = 2


def fft(problem: RotationProblem, seed: int = 0) -> tuple[int, ...]:
    """Return the best shifts of at most two jobs; exact, without chance.

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
