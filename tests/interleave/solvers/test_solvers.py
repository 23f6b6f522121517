"""Solvers: rotations that only turn the circle are left out, what is too large is refused, one is chosen by size."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topoopt.errors import InvalidInput
from topoopt.interleave.solvers import AUTO, SOLVERS, RotationProblem, chosen_solver


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


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(1, 3))
def test_exact_solvers_find_the_least_of_all_rotations(seed: int, jobs: int) -> None:
    drawn = problem(seed, jobs)
    for name in ("fft", "grid", "milp"):
        if name != "fft" or jobs <= 2:
            assert drawn.excess(SOLVERS[name](drawn)) == pytest.approx(least(drawn), abs=1e-9), name


@settings(deadline=None, max_examples=60)
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


@pytest.mark.parametrize("seed", range(8))
def test_descent_with_all_its_starts_finds_what_one_start_misses(seed: int) -> None:
    drawn = problem(seed, 4, [12, 12, 12, 12])
    found = drawn.excess(SOLVERS["descent"](drawn))
    assert found == pytest.approx(drawn.excess(SOLVERS["grid"](drawn)), abs=1e-9)
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
