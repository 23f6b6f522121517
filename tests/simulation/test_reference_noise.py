"""Start order is noise: seeds differ within a band like FlexNetPacket's."""

import pytest

from benchmarks.reference_noise import band, noisy_rows
from benchmarks.reference_rows import percent_off

ROWS = {row.key: row for row in noisy_rows()}
PEER_NOISE_PERCENT = 11.0
"""FlexNetPacket's own, on CANDLE, from start order alone: 5 to 11 %."""


@pytest.mark.parametrize(
    "key",
    [
        "10dlrm_16 ideal-switch 10G",
        pytest.param("100candle_16_circ_d4_noring own 100G", marks=pytest.mark.long),
    ],
)
def test_start_orders_differ_within_the_band_of_the_original(key: str) -> None:
    row = ROWS[key]
    found = band(row, range(4))
    assert len(set(found.times_ms)) == 4
    assert 0 < found.width_percent <= PEER_NOISE_PERCENT
    for time_ms in found.times_ms:
        assert abs(percent_off(time_ms, row.peer_ms)) <= row.packet_percent


def test_dlrm_at_800_gbps_has_two_outcomes_by_the_order_of_equal_compute_tasks() -> None:
    """Why the original's figure may be 6 % away: ours has both, and the original's is the slower one."""
    row = ROWS["800dlrm_16 ideal-switch 800G"]
    offs = [percent_off(time_ms, row.peer_ms) for time_ms in band(row, range(4)).times_ms]
    assert min(offs) == pytest.approx(-5.4, abs=0.1)
    assert max(offs) == pytest.approx(0.3, abs=0.3)
