"""The excess of all rotations at once is that of each of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topoopt.clusters.interleave.solvers import excess_by_shift


@given(st.integers(1, 12), st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_it_is_the_excess_of_every_rotation(samples: int, copies: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    once = rng.choice([0.0, 0.3, 0.9, 1.2], samples)
    demand, base = np.tile(once, copies), rng.choice([0.0, 0.4, 1.1], samples * copies)
    each = [np.maximum(base + np.roll(demand, shift) - 1, 0).sum() for shift in range(samples)]
    assert excess_by_shift(base, demand, samples) == pytest.approx(np.array(each), abs=1e-9)


def test_a_plain_correlation_of_demands_would_be_wrong() -> None:
    base, demand = np.array([1.0, 0.4, 0.2, 0.0]), np.array([0.6, 0.0, 0.0, 0.0])
    correlation = [float((base * np.roll(demand, shift)).sum()) for shift in range(4)]
    assert correlation == pytest.approx([0.6, 0.24, 0.12, 0.0])
    assert excess_by_shift(base, demand, 4) == pytest.approx([0.6, 0.0, 0.0, 0.0], abs=1e-12)


def test_many_cases_at_once() -> None:
    bases = np.array([[1.0, 0, 0], [0, 1.0, 0]])
    assert excess_by_shift(bases, np.array([0.5, 0, 0]), 3) == pytest.approx(
        np.array([[0.5, 0, 0], [0, 0.5, 0]]), abs=1e-12
    )
