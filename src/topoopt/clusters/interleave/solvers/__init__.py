"""Solvers for the best rotations: FFT, grid, descent and mixed-integer program."""

from topoopt.clusters.interleave.solvers.rotation_problem import RotationProblem as RotationProblem
from topoopt.clusters.interleave.solvers.rotation_problem import excess_by_shift as excess_by_shift
from topoopt.clusters.interleave.solvers.rotations import AUTO as AUTO
from topoopt.clusters.interleave.solvers.rotations import SOLVERS as SOLVERS
from topoopt.clusters.interleave.solvers.rotations import Solver as Solver
from topoopt.clusters.interleave.solvers.rotations import chosen_solver as chosen_solver
