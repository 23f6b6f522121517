"""The un-contended law gives the packet simulator's figures to the picosecond.

Figures: micro rows measured with the original packet simulator at 100 Gb/s and 1 µs per hop, each after a
1 ms compute task (taken off here).
"""

import pytest

from topoopt.collectives import (
    PathOverhead,
    path_overhead,
    ring_occupancy_bytes,
    ring_overhead,
    transfer_time_s,
)

PICOSECOND = 1e-12


@pytest.mark.parametrize(("hops", "expected_ms"), [(1, 0.802665680), (4, 0.810810560)])
def test_ten_megabytes_over_equal_hops(hops: int, expected_ms: float) -> None:
    time_s = transfer_time_s(10_000_000, [100e9] * hops, [1e-6] * hops)
    assert time_s == pytest.approx(expected_ms * 1e-3, abs=PICOSECOND)


@pytest.mark.parametrize(
    ("hops", "rings", "expected_ms"),
    [(1, 1, 161.122466400), (2, 1, 161.203915200), (6, 1, 161.529710400), (1, 4, 40.336341600)],
)
def test_allreduce_of_a_gibibyte_over_sixteen(hops: int, rings: int, expected_ms: float) -> None:
    overhead = ring_overhead("allreduce", 16, path_overhead([100e9] * hops, [1e-6] * hops), "stepped")
    occupied = ring_occupancy_bytes("allreduce", 16, 2**30, rings, "stepped")
    assert overhead.total_s + occupied / 12.5e9 == pytest.approx(expected_ms * 1e-3, abs=PICOSECOND)


def test_bulk_ring_pays_its_overhead_once_and_no_packet_rounding() -> None:
    edge = PathOverhead(2e-6, 1e-6)
    assert ring_overhead("allreduce", 16, edge, "bulk").total_s == pytest.approx(3e-6)
    assert ring_occupancy_bytes("allreduce", 16, 1600, 2, "bulk") == 30 / 16 * 800


def test_the_slowest_of_unequal_hops_carries_the_stream() -> None:
    # 100 G then 25 G: SYN 0.08 ns + 0.32 ns, one packet ahead on the fast link, all packets on the slow one
    packets = 1120
    slow, fast = 8 / 25e9, 8 / 100e9
    expected = slow + fast + 4e-6 + packets * 8936 * slow + 8936 * fast
    assert transfer_time_s(10_000_000, [100e9, 25e9], [1e-6, 1e-6]) == pytest.approx(expected, rel=1e-12)


def test_a_small_transfer_still_takes_a_whole_packet() -> None:
    assert transfer_time_s(1, [100e9], [1e-6]) == transfer_time_s(8936, [100e9], [1e-6])
