"""What noise leaves of phases is cleaned away: stairs, levels in pieces, dust; with the bytes of what stays."""

import pytest

from topoopt.clusters.interleave import Phase
from topoopt.clusters.interleave.profiles.measured_profile import cleaned_phases


def cleaned(*phases: Phase) -> list[tuple[float, float, float]]:
    found = cleaned_phases(phases, 1.0, 5e8, 0.02)
    return [(phase.start_s, phase.duration_s, phase.bandwidth_bps) for phase in found]


def test_stairs_at_both_edges_become_part_of_the_phase_that_they_lead_to() -> None:
    found = cleaned(Phase(0.28, 0.02, 2e9), Phase(0.3, 0.4, 8e9), Phase(0.7, 0.02, 4e9))
    assert found == [pytest.approx((0.295, 0.415, 8e9))]


def test_stairs_wrap() -> None:
    found = cleaned(Phase(0.0, 0.3, 8e9), Phase(0.98, 0.02, 4e9))
    assert found == [pytest.approx((0.99, 0.31, 8e9))]


def test_a_long_lower_phase_beside_a_higher_one_stays() -> None:
    found = cleaned(Phase(0.1, 0.2, 4e9), Phase(0.3, 0.2, 8e9))
    assert [row[2] for row in found] == [4e9, 8e9]


def test_pieces_of_one_level_are_one_with_all_their_bytes() -> None:
    found = cleaned(Phase(0.0, 0.1, 8e9), Phase(0.1, 0.3, 8.4e9), Phase(0.9, 0.1, 8e9))
    assert found == [pytest.approx((0.9, 0.5, 8.24e9))]


def test_dust_and_silence_are_left_out() -> None:
    found = cleaned(Phase(0.1, 0.2, 8e9), Phase(0.5, 0.01, 2e9), Phase(0.7, 0.2, 4e8))
    assert found == [pytest.approx((0.1, 0.2, 8e9))]
