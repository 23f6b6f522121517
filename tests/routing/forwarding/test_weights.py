"""Shares as whole weights: exact where that is possible, else within the bound that the function states."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topoopt.routing.forwarding import integer_weights


@given(st.lists(st.floats(1e-6, 1.0), min_size=1, max_size=16), st.sampled_from([255, 256]))
def test_the_error_is_below_the_bound(parts: list[float], largest: int) -> None:
    share = np.array(parts) / sum(parts)
    weight = integer_weights(np.array([0, len(parts)]), share, largest)
    assert weight.min() >= 1
    assert weight.max() <= largest
    m = len(parts)
    assert np.abs(weight / weight.sum() - share).max() <= (m - 1) / (largest - m / 2) + 1e-9


@given(st.lists(st.integers(1, 128), min_size=1, max_size=8))
def test_shares_that_are_ratios_of_small_numbers_are_met_exactly(parts: list[int]) -> None:
    share = np.array(parts) / sum(parts)
    weight = integer_weights(np.array([0, len(parts)]), share)
    assert weight / weight.sum() == pytest.approx(share, abs=1e-9)


def test_entries_of_all_widths_are_weighted_at_once() -> None:
    share = np.array([1.0, 0.25, 0.75, 0.2, 0.4, 0.4, 1.0])
    assert integer_weights(np.array([0, 1, 3, 6, 7]), share).tolist() == [1, 1, 3, 1, 2, 2, 1]


def test_a_share_near_nothing_keeps_a_weight() -> None:
    assert integer_weights(np.array([0, 2]), np.array([1e-6, 1 - 1e-6])).tolist() == [1, 256]
