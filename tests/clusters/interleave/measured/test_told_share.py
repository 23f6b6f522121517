"""How well a mean tells a series: against how many numbers it has, and against what noise would be told."""

from math import log

import pytest

from topoopt.clusters.interleave.profiles.phase_fit import LEAST_LEFT, ToldShare


def test_more_numbers_have_to_tell_more() -> None:
    assert ToldShare(0.5, 20, 1000).bayesian == pytest.approx(log(0.5) + 20 * log(1000) / 1000)
    assert ToldShare(0.5, 20, 1000).bayesian < ToldShare(0.5, 40, 1000).bayesian
    assert ToldShare(LEAST_LEFT / 100, 20, 1000).bayesian == ToldShare(LEAST_LEFT, 20, 1000).bayesian


def test_what_noise_leaves_is_chance() -> None:
    # 100 numbers tell 100 of 1,000 samples of noise, and with 15 deviations of 14 of them 312
    assert not ToldShare(0.9, 100, 1000).is_more_than_chance
    assert not ToldShare(0.74, 100, 1000).is_more_than_chance
    assert ToldShare(0.72, 100, 1000).is_more_than_chance
