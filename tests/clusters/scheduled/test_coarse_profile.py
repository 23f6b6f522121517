"""Profiles of few phases: not a byte more or less, silences where they were."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topoopt.clusters.interleave import CommunicationProfile, Phase
from topoopt.clusters.scheduling.model_workers import coarse_profile


def test_bursts_beside_computing_are_one_phase_and_what_is_left_at_the_end_another() -> None:
    """30 bursts of 1 ms in 3 ms, then 40 ms at full rate, in an iteration of 200 ms; as of a language model."""
    bursts = [Phase(0.05 + 0.003 * number, 0.001, 50e9) for number in range(30)]
    slow, fast = coarse_profile(CommunicationProfile("a", 0.2, (*bursts, Phase(0.14, 0.04, 50e9)))).phases
    assert slow.start_s == pytest.approx(0.05)
    assert slow.bandwidth_bps == pytest.approx(50e9 / 3, rel=0.1)
    assert fast.start_s == pytest.approx(0.14, abs=0.006)
    assert fast.end_s == pytest.approx(0.18)


def test_what_is_sent_in_a_trickle_at_the_end_does_not_fill_the_silence() -> None:
    profile = CommunicationProfile("a", 0.2, (Phase(0.1, 0.05, 50e9), Phase(0.15, 0.1, 1e9)))
    (phase,) = coarse_profile(profile).phases
    assert phase.bandwidth_bps > 40e9
    assert phase.size_bytes == pytest.approx(profile.size_bytes)
    assert coarse_profile(profile).duty < 0.35


def test_one_phase_stays_as_it_is() -> None:
    profile = CommunicationProfile("a", 0.2, (Phase(0.15, 0.1, 50e9),))
    assert coarse_profile(profile) == profile


@given(
    lengths=st.lists(st.tuples(st.floats(0.001, 1), st.floats(0.001, 1)), min_size=1, max_size=12),
    start=st.floats(0, 0.999),
    rates=st.lists(st.floats(1e9, 50e9), min_size=12, max_size=12),
)
def test_bytes_and_iteration_time_stay(
    lengths: list[tuple[float, float]], start: float, rates: list[float]
) -> None:
    total = sum(map(sum, lengths))
    at, phases = start, []
    for (on, off), rate in zip(lengths, rates, strict=False):
        phases.append(Phase(at % 1, on / total, rate))
        at += (on + off) / total
    profile = CommunicationProfile("a", 1.0, tuple(phases))
    coarse = coarse_profile(profile)
    assert coarse.size_bytes == pytest.approx(profile.size_bytes)
    assert coarse.iteration_time_s == 1.0
    assert coarse.peak_bps <= profile.peak_bps * (1 + 1e-9)
    assert len(coarse.phases) <= 40
