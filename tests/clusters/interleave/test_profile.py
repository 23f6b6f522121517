"""Communication profiles: what they add up to, what they demand when, and what cannot be one."""

import numpy as np
import pytest

from topoopt.base.errors import InvalidInput
from topoopt.clusters.interleave import CommunicationProfile, Phase


def test_bytes_and_duty_are_those_of_the_phases() -> None:
    profile = CommunicationProfile("a", 0.1, (Phase(0.06, 0.02, 8e9), Phase(0.0, 0.03, 16e9)))
    assert profile.duty == pytest.approx(0.5)
    assert profile.size_bytes == pytest.approx(0.02 * 1e9 + 0.03 * 2e9)
    assert profile.peak_bps == 16e9
    assert [phase.start_s for phase in profile.phases] == [0.0, 0.06]


def test_demand_repeats_and_wraps() -> None:
    profile = CommunicationProfile("a", 0.04, (Phase(0.03, 0.02, 1e9),))
    times_s = np.array([-0.01, 0.0, 0.0099, 0.01, 0.0299, 0.03, 0.07, 0.4 + 0.005])
    np.testing.assert_array_equal(profile.demand_bps(times_s) > 0, [1, 1, 1, 0, 0, 1, 1, 1])


def test_a_phase_holds_its_start_and_not_its_end_whatever_the_rounding() -> None:
    profile = CommunicationProfile("a", 0.06, (Phase(0.02, 0.01, 1.0),))
    turns = np.arange(1000, dtype=np.float64) * np.float64(0.06)
    assert all(profile.demand_bps(np.array(turns + 0.02)))
    assert not any(profile.demand_bps(np.array(turns + 0.03)))


@pytest.mark.parametrize(
    ("period_s", "phases", "says"),
    [
        (0.0, (), "job a: iteration time 0 s"),
        (float("nan"), (), "job a: iteration time nan s"),
        (0.1, (Phase(-0.01, 0.01, 1.0),), "job a: phase at -0.01 s: has to start within the iteration"),
        (0.1, (Phase(0.1, 0.01, 1.0),), "has to start within the iteration"),
        (0.1, (Phase(0.0, 0.0, 1.0),), "duration 0 s"),
        (0.1, (Phase(0.0, 0.2, 1.0),), "longer than the iteration of 100 ms"),
        (0.1, (Phase(0.0, 0.05, -1.0),), "bandwidth -1 b/s"),
        (0.1, (Phase(0.0, 0.05, 1.0), Phase(0.04, 0.01, 1.0)), "do not overlap"),
        (0.1, (Phase(0.0, 0.05, 1.0), Phase(0.09, 0.02, 1.0)), "do not overlap"),
    ],
)
def test_what_cannot_be_a_profile_is_one_line(period_s: float, phases: tuple[Phase, ...], says: str) -> None:
    with pytest.raises(InvalidInput, match=says.replace("(", r"\(")) as caught:
        CommunicationProfile("a", period_s, phases)
    assert "\n" not in str(caught.value)
