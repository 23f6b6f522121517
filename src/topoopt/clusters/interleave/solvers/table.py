"""The table of solvers, and which of them is for how many jobs and angles."""

from collections.abc import Mapping
from typing import Protocol

from topoopt.clusters.interleave.solvers.descent import descent
from topoopt.clusters.interleave.solvers.fft import MOST_JOBS, fft
from topoopt.clusters.interleave.solvers.grid import grid, grid_trials
from topoopt.clusters.interleave.solvers.milp import milp
from topoopt.clusters.interleave.solvers.rotation_problem import RotationProblem

AUTO = "auto"
"""Not a solver: the one that :func:`chosen_solver` takes."""
QUICK_TRIALS = 200_000_000
"""A grid up to this takes a few seconds."""
QUICK_CHOICES = 150
"""Rotations of all jobs in a program that HiGHS solves in seconds."""


class Solver(Protocol):
    """One way to find rotations."""

    def __call__(self, problem: RotationProblem, seed: int = ...) -> tuple[int, ...]:
        """Return by how many angles each job is turned, less than an iteration of it.

        Parameters
        ----------
        seed
            Of those that draw.

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
