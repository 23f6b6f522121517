"""What a process does of a profile: gaps, bytes, rates, at a scale."""

import pytest

from topoopt.base.errors import InvalidInput
from topoopt.clusters.interleave import CommunicationProfile, Phase
from topoopt.plugins.testbeds import TestbedLink, sharing_job

LINK = TestbedLink(50e9, 500, 20)


def profile(*phases: tuple[float, float, float]) -> CommunicationProfile:
    return CommunicationProfile("a", 0.1, tuple(Phase(*phase) for phase in phases))


def test_times_are_stretched_and_bytes_such_that_rates_are_scaled() -> None:
    job = sharing_job(profile((0.06, 0.04, 50e9)), LINK)
    (one,) = job.transfers
    assert LINK.bandwidth_bps == 100e6
    assert one.gap_s == pytest.approx(1.2)
    assert one.size_bytes == 0.04 * 20 * 100e6 / 8 == 10_000_000
    assert one.rate_bps == 0
    assert [job.last_gap_s, job.begins_s] == pytest.approx([0, 0])
    assert job.compute_time_s == pytest.approx(1.2)


def test_a_slower_phase_is_held_back() -> None:
    (one,) = sharing_job(profile((0.0, 0.04, 25e9)), LINK).transfers
    assert (one.size_bytes, one.rate_bps) == (5_000_000, 50e6)


def test_the_longest_gap_is_around_the_end_of_an_iteration() -> None:
    job = sharing_job(profile((0.01, 0.02, 50e9), (0.05, 0.02, 50e9)), LINK)
    assert [one.gap_s for one in job.transfers] == pytest.approx([0.2, 0.4])
    assert job.last_gap_s == pytest.approx(0.6)
    assert job.compute_time_s == pytest.approx(0.8)
    assert job.total_bytes == 10_000_000


def test_a_job_whose_phase_wraps_begins_after_it() -> None:
    job = sharing_job(profile((0.08, 0.04, 50e9)), LINK)
    assert job.begins_s == pytest.approx(0.4)
    (one,) = job.transfers
    assert (one.size_bytes, one.rate_bps) == (10_000_000, 0)
    assert one.gap_s == pytest.approx(1.2)
    assert job.last_gap_s == pytest.approx(0)


def test_a_job_that_never_or_always_sends_is_refused() -> None:
    with pytest.raises(InvalidInput, match="job a: sends nothing"):
        sharing_job(profile(), LINK)
    with pytest.raises(InvalidInput, match="job a: sends all the time"):
        sharing_job(profile((0.0, 0.1, 50e9)), LINK)
