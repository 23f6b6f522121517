"""Solvers: rotations that only turn the circle are left out, what is too large is refused, one is chosen by size."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topoopt.base.errors import InvalidInput
from topoopt.clusters.interleave import SOLVERS
from topoopt.clusters.interleave.solvers import AUTO, RotationProblem, chosen_solver


def problem(seed: int, jobs: int, samples: list[int] | None = None) -> RotationProblem:
    """Return demands at random on a circle of 12 angles, or of those that so many samples need."""
    rng = np.random.default_rng(seed)
    samples = samples or rng.choice([2, 3, 4, 6, 12], jobs).tolist()
    angles = math.lcm(*samples)
    demands = [np.tile(rng.choice([0.0, 0.35, 0.8], each), angles // each) for each in samples]
    return RotationProblem(np.array(demands), tuple(samples))


def least(given_problem: RotationProblem) -> float:
    """Return the least excess of all shifts of all jobs."""
    return min(given_problem.excess(shifts) for shifts in product(*map(range, given_problem.samples)))


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(1, 3))
def test_exact_solvers_find_the_least_of_all_rotations(seed: int, jobs: int) -> None:
    drawn = problem(seed, jobs)
    for name in ("fft", "grid", "milp"):
        if name != "fft" or jobs <= 2:
            assert drawn.excess(SOLVERS[name](drawn)) == pytest.approx(least(drawn), abs=1e-9), name


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(1, 4))
def test_the_distinct_rotations_are_all_there_are_and_the_first_job_never_needs_one(
    seed: int, jobs: int
) -> None:
    drawn = problem(seed, jobs)
    counts = drawn.distinct(range(jobs))
    assert counts[0] == 1
    assert math.prod(counts) == math.prod(drawn.samples) // drawn.angles
    found = min(drawn.excess(shifts) for shifts in product(*map(range, counts)))
    assert found == pytest.approx(least(drawn), abs=1e-12)


def drawn_phases(seed: int) -> RotationProblem:
    """Return four jobs of up to three phases and any rates at 72 angles, that ask for about what the link has."""
    rng = np.random.default_rng(seed)
    demands = np.zeros((4, 72))
    for demand in demands:
        for start, end in np.sort(rng.choice(72, 2 * int(rng.integers(1, 4)), replace=False)).reshape(-1, 2):
            demand[start:end] = rng.uniform(0.1, 1)
    return RotationProblem(demands * rng.uniform(0.8, 1.6), (72,) * 4)


def test_descent_finds_the_best_of_four_jobs_where_a_start_and_single_turns_would_not() -> None:
    missed = 0
    for seed in range(12):
        drawn = drawn_phases(seed)
        best = drawn.excess(SOLVERS["grid"](drawn))
        assert drawn.excess(SOLVERS["descent"](drawn)) == pytest.approx(best, abs=1e-9)
        missed += drawn.excess(one_start_single_turns(drawn)) > best + 1e-9
    assert missed > 2


def one_start_single_turns(drawn: RotationProblem) -> list[int]:
    """Turn one job at a time to where it is best, until nothing changes."""
    shifts, before = [0] * drawn.jobs, math.inf
    while drawn.excess(shifts) < before - 1e-12:
        before = drawn.excess(shifts)
        for job, samples in enumerate(drawn.samples):
            tried = [[*shifts[:job], shift, *shifts[job + 1 :]] for shift in range(samples)]
            shifts = min([shifts, *tried], key=lambda each: round(drawn.excess(each), 12))
    return shifts


def test_equal_seeds_give_equal_rotations() -> None:
    drawn = drawn_phases(0)
    assert SOLVERS["descent"](drawn, 3) == SOLVERS["descent"](drawn, 3)


@pytest.mark.parametrize(
    ("samples", "chosen"),
    [
        ([72], "fft"),
        ([72, 72], "fft"),
        ([24, 36, 72], "grid"),
        ([72, 72, 72, 72], "grid"),
        ([720] * 4, "descent"),
        ([12] * 10, "milp"),
    ],
)
def test_one_is_chosen_by_size(samples: list[int], chosen: str) -> None:
    assert chosen_solver(AUTO, problem(0, len(samples), samples)) == chosen


@pytest.mark.parametrize(
    ("name", "samples", "said"),
    [
        ("fft", [12, 12, 12], "solver fft: is for two jobs, got 3; take auto, grid, milp or descent"),
        (
            "grid",
            [720] * 5,
            "solver grid: 5 jobs at 720 angles have .* to try, of at most 5e[+]09; take auto",
        ),
        ("milp", [2000] * 3, "solver milp: 3 jobs at 2000 angles have 4,001 rotations in all, too many"),
    ],
)
def test_what_is_too_large_for_a_solver_is_one_line(name: str, samples: list[int], said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        SOLVERS[name](problem(0, len(samples), samples))
