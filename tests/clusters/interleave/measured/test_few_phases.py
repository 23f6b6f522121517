"""Few phases of one rate: exact where the rate is, with all bytes, and with no more moved than is tolerated."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topoopt.clusters.interleave import CommunicationProfile
from topoopt.clusters.interleave.profiles.byte_curve import ByteCurve
from topoopt.clusters.interleave.profiles.phase_fit import few_phases


def curve_of(seconds: list[float], rates_bps: list[float]) -> ByteCurve:
    sent = np.array(seconds) * np.array(rates_bps) / 8
    return ByteCurve(np.concatenate(([0.0], np.cumsum(seconds))), np.concatenate(([0.0], np.cumsum(sent))))


def test_stretches_of_one_rate_are_one_phase_and_silence_is_none() -> None:
    phases = few_phases(curve_of([0.01, 0.02, 0.03, 0.02, 0.02], [0.0, 8e9, 8e9, 0.0, 4e9]))
    found = [(phase.start_s, phase.duration_s, phase.bandwidth_bps) for phase in phases]
    assert found == [pytest.approx((0.01, 0.05, 8e9)), pytest.approx((0.08, 0.02, 4e9))]


def test_a_phase_may_wrap() -> None:
    (phase,) = few_phases(curve_of([0.02, 0.05, 0.03], [8e9, 0.0, 8e9]))
    assert (phase.start_s, phase.duration_s) == pytest.approx((0.07, 0.05))


def test_bytes_of_near_silence_are_sent_behind_the_phase_before_at_its_rate() -> None:
    (phase,) = few_phases(curve_of([0.02, 0.08], [8e9, 8e6]))
    assert phase.bandwidth_bps == pytest.approx(8e9)
    assert phase.duration_s == pytest.approx(0.02 + 0.08 / 1000)


def test_a_pause_is_kept_for_as_long_as_more_would_be_moved_than_is_tolerated() -> None:
    # Joined, 0.001/0.021 of the bytes, or 4.8 %, of 0.02 s would be sent within the pause.
    curve = curve_of([0.01, 0.001, 0.01, 0.079], [8e9, 0.0, 8e9, 0.0])
    assert len(few_phases(curve, 0.04)) == 2
    (phase,) = few_phases(curve, 0.05)
    assert phase.bandwidth_bps == pytest.approx(8e9 * 20 / 21)


def test_where_nothing_is_sent_there_is_no_phase() -> None:
    assert few_phases(curve_of([0.1], [0.0])) == ()


@given(
    stretches=st.lists(
        st.tuples(st.floats(1e-4, 1.0), st.sampled_from([0.0, 1e6, 1e9, 2e9, 9.9e9, 1e10])),
        min_size=1,
        max_size=40,
    ),
    tolerance=st.floats(0.0, 0.3),
)
def test_all_bytes_are_kept_and_no_more_are_moved_than_tolerated(
    stretches: list[tuple[float, float]], tolerance: float
) -> None:
    curve = curve_of(*map(list, zip(*stretches, strict=True)))
    phases = few_phases(curve, tolerance)
    profile = CommunicationProfile("a", curve.duration_s, phases)  # phases do not overlap
    total = float(curve.sent_bytes[-1])
    assert profile.size_bytes == pytest.approx(total, rel=1e-9)
    assert profile.peak_bps <= curve.rates_bps.max() * (1 + 1e-9)
    assert len(phases) <= len(stretches)
    if not phases:
        return
    ends = {phase.start_s for phase in phases} | {phase.end_s % curve.duration_s for phase in phases}
    times = np.unique(np.concatenate([curve.times_s, list(ends)]))
    times = times[(times >= 0) & (times <= curve.duration_s)]
    middle = (times[1:] + times[:-1]) / 2
    wanted = np.diff(curve.at(times)) * 8
    given_bits = profile.demand_bps(middle) * np.diff(times)
    assert np.abs(wanted - given_bits).sum() / 2 <= (tolerance * total + 1e-6 * total) * 8
