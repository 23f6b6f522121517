"""Curves of bytes: rates between moments, and the mean of several iterations with all their corners."""

import numpy as np
import pytest

from topoopt.clusters.interleave import ByteCurve


def test_rates_are_those_between_moments_and_nothing_is_sent_outside() -> None:
    curve = ByteCurve(np.array([1.0, 2.0, 4.0]), np.array([0.0, 100.0, 500.0]))
    np.testing.assert_allclose(curve.rates_bps, [800, 1600])
    np.testing.assert_allclose(curve.at(np.array([0.0, 1.5, 3.0, 9.0])), [0, 50, 300, 500])
    assert curve.duration_s == 3.0


def test_iterations_are_folded_into_their_mean_corner_by_corner() -> None:
    # the second iteration of 2 s sends 100 bytes in its second half, the first one in its first half
    curve = ByteCurve(np.array([0.0, 1.0, 3.0, 4.0]), np.array([0.0, 100.0, 100.0, 200.0]))
    mean = curve.folded(np.array([0.0, 2.0]), 2.0)
    np.testing.assert_allclose(mean.times_s, [0, 1, 2])
    np.testing.assert_allclose(mean.sent_bytes, [0, 50, 100])


@pytest.mark.parametrize("times_s", [[0.0], [0.0, 1.0, 1.0], [1.0, 0.0]])
def test_moments_ascend_and_are_at_least_two(times_s: list[float]) -> None:
    with pytest.raises(AssertionError):
        ByteCurve(np.array(times_s), np.zeros(len(times_s)))
