"""Start order is noise: seeds differ within a band like FlexNetPacket's, and a seed is the same anywhere."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.reference_noise import band, noisy_rows
from benchmarks.reference_replay import run_row
from benchmarks.reference_rows import percent_off
from topoopt.simulation import PacketOptions, SimulationOptions

ROOT = Path(__file__).parents[2]
ROWS = {row.key: row for row in noisy_rows()}
PEER_NOISE_PERCENT = 11.0
"""FlexNetPacket's own, on CANDLE, from start order alone: 5 to 11 %."""

KEY = "40dlrm_16 fat-tree 40G"
DIGEST = f"""
import sys
sys.path[:0] = [{str(ROOT)!r}, {str(Path(__file__).parent)!r}]
from test_reference_noise import KEY, digest
print(digest(KEY, 3))
"""


def digest(key: str, seed: int) -> str:
    options = SimulationOptions(seed=seed, packet=PacketOptions(log_flows=True))
    result = run_row(ROWS[key], "packet", options)
    assert result.flows is not None
    assert result.packet is not None
    arrays = (
        result.start_s,
        result.finish_s,
        result.link_bytes,
        result.packet.link_marks,
        result.packet.link_queue_peak_bytes,
        result.flows.task,
        result.flows.finish_s,
    )
    return hashlib.sha256(b"".join(array.tobytes() for array in arrays)).hexdigest()


@pytest.mark.parametrize("key", ["10dlrm_16 ideal-switch 10G", "100candle_16_circ_d4_noring own 100G"])
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


def test_a_seed_gives_the_same_bytes_in_two_processes() -> None:
    here = digest(KEY, 3)
    done = subprocess.run(
        [sys.executable, "-c", DIGEST],
        env={**os.environ, "PYTHONHASHSEED": "1"},  # hashes here have another seed
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == here
    assert digest(KEY, 4) != here
