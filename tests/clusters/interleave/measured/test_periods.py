"""Periods of series: not half of one, not two, and none where there is none."""

import numpy as np
import pytest

from tests.clusters.interleave.series import made_up_series
from topoopt.base.arrays import Floats
from topoopt.clusters.interleave import ByteCurve, CommunicationProfile, Phase, find_period_s


@pytest.mark.parametrize("noise", [0.0, 0.1])
@pytest.mark.parametrize("iterations", [3, 10, 100])
def test_one_burst_an_iteration(iterations: int, noise: float) -> None:
    profile = CommunicationProfile("a", 0.2, (Phase(0.05, 0.06, 1e10),))
    curve = made_up_series(profile, iterations, 80, noise, 0.0, 2)
    assert find_period_s(curve) == pytest.approx(0.2, rel=0.01)


def test_bursts_of_two_heights_are_one_iteration() -> None:
    profile = CommunicationProfile("a", 0.2, (Phase(0.0, 0.05, 1e10), Phase(0.1, 0.05, 5e9)))
    for seed in range(5):
        curve = made_up_series(profile, 12, 100, 0.05, 0.0, seed)
        assert find_period_s(curve) == pytest.approx(0.2, rel=0.01)


def test_a_long_series_is_made_coarser_and_its_period_stays_precise() -> None:
    profile = CommunicationProfile("a", 0.01, (Phase(0.002, 0.004, 1e10),))
    curve = made_up_series(profile, 1000, 50, 0.1, 0.0, 1)  # 50,000 samples
    assert find_period_s(curve) == pytest.approx(0.01, rel=1e-4)


def test_bursts_at_random_have_no_period() -> None:
    found = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        rates = np.repeat(rng.integers(0, 2, 60), 10) * 1e9
        found += find_period_s(ByteCurve(np.linspace(0.0, 6.0, 600), np.cumsum(rates))) is not None
    assert found <= 2  # 4 of 400 such series were taken for periodic


def test_what_is_constant_has_none() -> None:
    times_s = np.linspace(0.0, 1.0, 200)
    assert find_period_s(ByteCurve(times_s, 1e9 * times_s)) is None


@pytest.mark.parametrize("between_bytes", [0.0, 100.0])
def test_silence_before_the_first_burst_is_no_iteration(between_bytes: float) -> None:
    """Nothing, or a few bytes at a rhythm of their own, are told by any short period, but are not what is sent."""
    rng = np.random.default_rng(0)
    rate: Floats = np.zeros(1050)
    rate[::6] = between_bytes
    for begin in (150, 361, 571, 782, 990):
        ripple = np.where(np.arange(40) % 6 < 3, 90e3, 20e3)
        rate[begin : begin + 40] = ripple + rng.normal(0.0, 5e3, 40)
    curve = ByteCurve(0.0076 * np.arange(1051, dtype=np.float64), np.concatenate(([0.0], np.cumsum(rate))))
    assert find_period_s(curve) == pytest.approx(210 * 0.0076, rel=0.02)
