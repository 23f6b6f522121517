"""Measured profiles: the period within 1 % and phases within 5 % of it, whatever the noise; and what has none."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.clusters.interleave.series import made_up_series
from topoopt.base.errors import InvalidInput
from topoopt.clusters.interleave import (
    ByteCurve,
    CommunicationProfile,
    Phase,
    find_period_s,
    measured_profile,
)

LEAST_PART = 0.06
"""Of an iteration, that a phase or a silence lasts at least."""
MOST_LIKE_ITSELF = 0.85
"""Autocorrelation of an iteration at a part of it, above which that part is its period, but for noise."""


@st.composite
def profiles(draw: st.DrawFn) -> CommunicationProfile:
    """Return one to four phases of clearly different rates, silent between, that begin anywhere."""
    count = draw(st.integers(1, 4))
    parts = np.array(draw(st.lists(st.floats(0.1, 1.0), min_size=2 * count, max_size=2 * count)))
    parts = parts / parts.sum()
    assume(parts.min() >= LEAST_PART)
    rates_bps = draw(st.lists(st.sampled_from([3e9, 5e9, 8e9, 1e10]), min_size=count, max_size=count))
    period_s = draw(st.floats(0.01, 10.0))
    edges = (np.concatenate(([0.0], np.cumsum(parts)[:-1])) + draw(st.floats(0.0, 0.999))) % 1.0
    phases = tuple(
        Phase(float(edges[2 * i] * period_s), float(parts[2 * i] * period_s), rates_bps[i])
        for i in range(count)
    )
    profile = CommunicationProfile("made up", period_s, phases)
    rates = profile.demand_bps(np.arange(600) * period_s / 600)
    rates = rates - rates.mean()
    likeness = [float(rates @ np.roll(rates, shift) / (rates @ rates)) for shift in range(60, 541)]
    middle = likeness[90:-90]  # a quarter of an iteration away and more
    assume(max(middle) < MOST_LIKE_ITSELF)
    return profile


def apart(one: float, other: float, period: float = 1.0) -> float:
    """Return the distance of two moments around an iteration."""
    return min((one - other) % period, (other - one) % period)


def farthest(moments: list[float], others: list[float]) -> float:
    """Return how far the loneliest of some moments is from the others."""
    return max(min(apart(moment, other) for other in others) for moment in moments)


def edges(profile: CommunicationProfile) -> tuple[list[float], list[float]]:
    """Return starts and ends of phases as parts of the iteration."""
    period_s = profile.iteration_time_s
    return (
        [phase.start_s / period_s for phase in profile.phases],
        [phase.end_s / period_s % 1.0 for phase in profile.phases],
    )


@given(
    profile=profiles(),
    iterations=st.integers(6, 40),
    samples=st.integers(50, 200),
    noise=st.sampled_from([0.0, 0.05, 0.1]),
    jitter=st.sampled_from([0.0, 0.003]),
    seed=st.integers(0, 2**32),
)
@settings(max_examples=25)
def test_period_and_phases_of_a_noisy_series_are_found(
    profile: CommunicationProfile, iterations: int, samples: int, noise: float, jitter: float, seed: int
) -> None:
    found = measured_profile("a", made_up_series(profile, iterations, samples, noise, jitter, seed)).profile
    assert found.iteration_time_s == pytest.approx(profile.iteration_time_s, rel=0.01)
    for wanted, got in zip(edges(profile), edges(found), strict=True):
        assert farthest(wanted, got) <= 0.05  # none is missing
        assert farthest(got, wanted) <= 0.05  # none is too many
    assert found.size_bytes == pytest.approx(profile.size_bytes, rel=0.1)


def test_without_noise_all_is_as_it_was() -> None:
    profile = CommunicationProfile("a", 0.25, (Phase(0.05, 0.025, 1e10), Phase(0.125, 0.075, 5e9)))
    measured = measured_profile("a", made_up_series(profile, 12, 100, 0.0, 0.0, 0))
    assert measured.profile.iteration_time_s == pytest.approx(0.25, rel=1e-5)
    for one, other in zip(profile.phases, measured.profile.phases, strict=True):
        assert (other.start_s, other.duration_s) == pytest.approx((one.start_s, one.duration_s), abs=3e-4)
        assert other.bandwidth_bps == pytest.approx(one.bandwidth_bps, rel=0.01)
    assert measured.iterations >= 11
    assert measured.spread_s < 1e-3
    assert measured.to_json().keys() == {"iterations", "iteration_time_spread_s", "background_bps"}


def test_iterations_that_differ_are_laid_over_each_other_and_their_spread_is_told() -> None:
    profile = CommunicationProfile("a", 0.1, (Phase(0.04, 0.03, 1e10),))
    measured = measured_profile("a", made_up_series(profile, 60, 200, 0.0, 0.02, 4))
    (phase,) = measured.profile.phases
    assert phase.duration_s == pytest.approx(0.03, rel=0.1)
    assert phase.bandwidth_bps == pytest.approx(1e10, rel=0.05)
    assert measured.spread_s == pytest.approx(0.002, rel=0.3)


def test_what_is_sent_all_the_time_is_background() -> None:
    curve = made_up_series(CommunicationProfile("a", 0.1, (Phase(0.04, 0.03, 1e10),)), 20, 100, 0.0, 0.0, 0)
    noisy = ByteCurve(curve.times_s, curve.sent_bytes + curve.times_s * 2e8 / 8)
    measured = measured_profile("a", noisy)
    assert measured.background_bps == pytest.approx(2e8, rel=0.05)
    assert len(measured.profile.phases) == 1


def test_an_iteration_time_that_is_given_needs_no_search() -> None:
    profile = CommunicationProfile(
        "a", 0.1, (Phase(0.02, 0.01, 1e10), Phase(0.07, 0.01, 1e10))
    )  # 50 ms would do
    curve = made_up_series(profile, 10, 100, 0.0, 0.0, 0)
    assert find_period_s(curve) == pytest.approx(0.05, rel=1e-3)
    measured = measured_profile("a", curve, 0.1)
    assert measured.profile.iteration_time_s == pytest.approx(0.1, rel=1e-3)
    assert len(measured.profile.phases) == 2


@pytest.mark.parametrize("seed", range(20))
def test_noise_has_no_period(seed: int) -> None:
    rng = np.random.default_rng(seed)
    times_s = np.linspace(0.0, 5.99, 600)
    curve = ByteCurve(times_s, np.cumsum(rng.uniform(0, 1e6, len(times_s))))
    assert find_period_s(curve) is None
    with pytest.raises(InvalidInput, match=r"job a: no period in 5\.99 s at a mean rate of"):
        measured_profile("a", curve)


def test_what_cannot_be_a_profile_is_one_line() -> None:
    curve = made_up_series(CommunicationProfile("a", 0.1, (Phase(0.0, 0.05, 1e9),)), 3, 20, 0.0, 0.0, 0)
    silent = ByteCurve(curve.times_s, np.zeros(len(curve.times_s)))
    for given_curve, time_s, says in (
        (silent, None, "x.csv: nothing was sent in 300 ms"),
        (curve, 0.5, "x.csv: iteration_time: 500 ms is longer than the series of 300 ms"),
        (
            curve,
            0.02,
            "x.csv: samples 5 ms apart are too coarse for an iteration of 20 ms; sample at least every",
        ),
    ):
        with pytest.raises(InvalidInput) as caught:
            measured_profile("a", given_curve, time_s, place="x.csv")
        assert str(caught.value).startswith(says)
