"""Measured collectives beside what calibrations predict."""

import re
from pathlib import Path

import numpy as np
import pytest

from topoopt.base.errors import InvalidInput
from topoopt.measurements.collectives import NVLS_GAIN, collective_times, read_collectives
from topoopt.transformers import find_calibration

HEAD = "id,collective,gpu,gpus_per_node,ranks,size_bytes,time_us,algorithm\n"


def times(tmp_path: Path, *rows: str) -> list[float]:
    file = tmp_path / "collectives.csv"
    file.write_text(HEAD + "\n".join(rows) + "\n", encoding="utf-8")
    found = read_collectives(file)
    assert not found.not_scored
    return list(collective_times(found.runs, find_calibration("h100")))


@pytest.mark.parametrize("servers", [1, 8])
def test_an_allreduce_starts_once_and_is_a_reduce_scatter_and_an_all_gather(
    tmp_path: Path, servers: int
) -> None:
    ranks = 8 * servers
    half, whole = times(
        tmp_path, *(f"{one},{one},H100,8,{ranks},1e9,1e4," for one in ("all_gather", "all_reduce"))
    )
    assert whole < 2 * half
    assert whole == pytest.approx(2 * half, rel=0.03)


def test_a_large_ring_inside_a_server_has_the_rate_of_its_links(tmp_path: Path) -> None:
    (seconds,) = times(tmp_path, "a,all_reduce,H100,8,8,1e13,1e7,ring")
    rate = 450e9 * find_calibration("h100").scale_up_efficiency
    assert seconds == pytest.approx(2 * 7 / 8 * 1e13 / rate, rel=0.01)


def test_switches_that_add_up_speed_the_links_inside(tmp_path: Path) -> None:
    ring, nvls = times(tmp_path, "a,all_reduce,H100,8,8,1e13,1e7,ring", "b,all_reduce,H100,8,8,1e13,1e7,nvls")
    assert ring / nvls == pytest.approx(NVLS_GAIN, rel=0.01)


def test_the_slower_level_sets_the_rate(tmp_path: Path) -> None:
    (seconds,) = times(tmp_path, "a,all_gather,H100,8,64,1e13,1e7,")
    rate = 50e9 * find_calibration("h100").network_efficiency
    assert seconds == pytest.approx(7 / 64 * 1e13 / rate, rel=0.01)


def test_a_larger_message_takes_longer_and_has_a_higher_rate(tmp_path: Path) -> None:
    seconds = np.array(
        times(tmp_path, *(f"{n},all_reduce,H100,8,16,{2**n},{2**n / 1e6:g}," for n in range(20, 34)))
    )
    assert np.all(np.diff(seconds) > 0)
    assert np.all(np.diff(2.0 ** np.arange(20, 34) / seconds) > 0)


def test_published_rows_from_64_mib_are_within_15_percent() -> None:
    """In sight; docs/training-accuracy.md has them by system."""
    found = read_collectives("benchmarks/data/collectives.csv")
    assert not found.not_scored
    large = [one for one in found.runs if one.size_bytes >= 2**26]
    off: list[float] = []
    for name in {one.system.accelerator for one in large}:
        own = [one for one in large if one.system.accelerator == name]
        measured = np.array([one.measured_s for one in own])
        off += (collective_times(own, find_calibration(name)) / measured - 1).tolist()
    assert np.mean(np.abs(off)) <= 0.15


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("broadcats,H100,8,8,1e6,1", "broadcats"),
        ("all_reduce,H100,8,1,1e6,1", "ranks: expected a whole number from 2 to 10,000,000, got 1"),
        ("all_reduce,H100,8,8,0,1", "size_bytes: expected a whole number >= 1, got 0"),
        ("all_reduce,H100,8,8,1e6,0", "time_us: expected a positive number, got 0"),
        ("all_reduce,H100,8,8,1e6,", "time_us: expected a positive number, got nothing"),
        ("all_reduce,H1000,8,8,1e6,1", 'unknown name "h1000"'),
    ],
)
def test_a_row_that_cannot_be_read_is_an_error_with_its_place(tmp_path: Path, row: str, reason: str) -> None:
    file = tmp_path / "collectives.csv"
    file.write_text(f"{HEAD}a,{row},\n", encoding="utf-8")
    with pytest.raises(
        InvalidInput, match=rf"^{file}: a: .*{re.escape(reason)}.*; correct the row or leave it out$"
    ):
        read_collectives(file)


@pytest.mark.parametrize(
    ("column", "cell", "reason"),
    [
        ("nodes", "2", "nodes: expected 1, which the ranks fill, or no cell, got 2"),
        ("nodes", "many", 'nodes: expected a number, got "many"'),
        ("nic_gbps_per_gpu", "-300", "nic_gbps_per_gpu: expected a number >= 0.001, got -300"),
        ("nic_gbps_per_gpu", "inf", 'nic_gbps_per_gpu: expected a finite number, got "inf"'),
        ("scale_up_gbytes_per_s", "0", "scale_up_gbytes_per_s: expected a number >= 0.001, got 0"),
        ("ranks", "1e9", "ranks: expected a whole number from 2 to 10,000,000, got 1e+09"),
        ("ranks", "1e30", "ranks: expected a whole number <= 9007199254740992, got 1e+30"),
    ],
)
def test_a_cell_that_no_cluster_has_is_an_error_with_its_column(
    tmp_path: Path, column: str, cell: str, reason: str
) -> None:
    row = {"collective": "all_reduce", "gpu": "H100", "gpus_per_node": "8", "ranks": "8", "size_bytes": "1e9"}
    row |= {"time_us": "1e4", column: cell}
    file = tmp_path / "collectives.csv"
    file.write_text(f"{','.join(row)}\n{','.join(row.values())}\n", encoding="utf-8")
    with pytest.raises(InvalidInput, match=f"^{re.escape(f'{file}: line 2: {reason}; correct the row')}"):
        read_collectives(file)


def test_nodes_that_the_ranks_fill_and_empty_rates_are_accepted(tmp_path: Path) -> None:
    file = tmp_path / "collectives.csv"
    head = HEAD.replace("\n", ",nodes,nic_gbps_per_gpu,note\n")
    file.write_text(f"{head}a,all_reduce,H100,8,12,1e9,1e4,,2,,partly filled\n", encoding="utf-8")
    assert len(read_collectives(file).runs) == 1


def test_an_unknown_column_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "collectives.csv"
    file.write_text(
        HEAD.replace("algorithm", "weather") + "a,all_reduce,H100,8,8,1e9,1e4,ring\n", encoding="utf-8"
    )
    with pytest.raises(
        InvalidInput, match=r'line 1: unknown column "weather"; rename it or leave it out; known: gpu, '
    ):
        read_collectives(file)


def test_a_table_without_sizes_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "collectives.csv"
    file.write_text("collective,gpu,gpus_per_node,ranks,time_us\nallreduce,H100,8,8,1\n", encoding="utf-8")
    with pytest.raises(InvalidInput, match="there is no column size_bytes"):
        read_collectives(file)


@pytest.mark.parametrize("time_us", ["0.001", "1", "5e12"])
def test_times_that_no_link_and_no_patience_allow_are_errors(tmp_path: Path, time_us: str) -> None:
    file = tmp_path / "collectives.csv"
    file.write_text(f"{HEAD}a,all_reduce,H100,8,8,1e9,{time_us},\n", encoding="utf-8")
    reason = f"a: time_us: {float(time_us):g} for 1,000,000,000 bytes: expected 556 to 1e+08"
    with pytest.raises(InvalidInput, match=re.escape(reason)):
        read_collectives(file)
