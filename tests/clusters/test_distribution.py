"""Weighted means and quantiles are those of values that are repeated."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topoopt.clusters.statistics import distribution

ROWS = st.lists(st.tuples(st.floats(0, 1e6), st.integers(1, 9)), min_size=1, max_size=40)


@given(ROWS)
def test_a_weight_is_so_many_equal_values(rows: list[tuple[float, int]]) -> None:
    values, weights = zip(*rows, strict=True)
    found = distribution(values, weights)
    repeated = np.repeat(values, weights)
    for q, value in ((0.5, found.p50), (0.99, found.p99)):
        assert value == np.quantile(repeated, q, method="inverted_cdf")
    assert found.mean == pytest.approx(repeated.mean())
    assert found.max == repeated.max()


@given(ROWS, st.floats(1e-6, 1e6))
def test_only_shares_of_weight_count(rows: list[tuple[float, int]], scale: float) -> None:
    values, weights = zip(*rows, strict=True)
    found, scaled = (
        distribution(values, weights),
        distribution(values, [scale * weight for weight in weights]),
    )
    assert (found.p50, found.p99, found.max) == (scaled.p50, scaled.p99, scaled.max)
    assert found.mean == pytest.approx(scaled.mean)
