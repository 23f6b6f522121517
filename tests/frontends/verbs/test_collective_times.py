"""Collectives among accelerators: the law of step times, as nccl-tests counts, beside measured rows."""

from pathlib import Path

import numpy as np
import pytest

import topoopt
from tests.frontends.verbs.conftest import Printed, as_json
from topoopt.base.errors import InvalidInput
from topoopt.measurements.collectives import NVLS_GAIN, collective_times, read_collectives
from topoopt.pages import page_of, page_text
from topoopt.transformers import find_calibration

TABLE = Path(__file__).parents[3] / "benchmarks" / "data" / "collectives.csv"


def seconds(op: str = "allreduce", size: str = "1GB", **words: object) -> float:
    answer = topoopt.collective(op, size, **words)  # type: ignore[arg-type]
    assert isinstance(answer, topoopt.CollectiveTimes)
    (row,) = [one for one in answer.rows if one.size_bytes == 1e9]
    return row.time_s


def test_large_messages_come_near_the_rate_of_the_links() -> None:
    """A ring over eight servers moves 7/32 of the bytes over each NIC, twice; inside it moves 7/8 of them twice."""
    law = find_calibration("h100")
    at_least_s = 2 * 7 / 64 * 1e9 / (50e9 * law.network_efficiency)
    inside_s = 2 * 7 / 8 * 1e9 / (450e9 * law.scale_up_efficiency)
    assert 1 < seconds(accelerators=64) / max(at_least_s, inside_s) < 1.4
    assert 1 < seconds(accelerators=8) / inside_s < 1.15


def test_faster_links_and_switches_that_reduce_help() -> None:
    usual = seconds(accelerators=8, accelerator="h200")
    assert usual / seconds(accelerators=8, accelerator="h200", nvls=True) == pytest.approx(
        NVLS_GAIN, rel=0.05
    )
    slow, fast = (
        seconds("all-to-all", accelerators=64, network_bandwidth=rate) for rate in ("200Gbps", "400Gbps")
    )
    assert slow / fast == pytest.approx(2, rel=0.1)
    assert seconds(accelerators=64, fabric="rail") == seconds(accelerators=64)


def test_a_table_has_a_prediction_beside_each_row() -> None:
    answer = topoopt.collective(runs=TABLE)
    assert isinstance(answer, topoopt.CollectiveTimes)
    measured = read_collectives(TABLE).runs
    assert len(answer.rows) == len(measured) == 234
    own = [one for one in measured if one.system.accelerator == "H100-SXM5-80GB"]
    expected = collective_times(own, find_calibration("h100"))
    got = [one.time_s for one in answer.rows if one.accelerator == "H100-SXM5-80GB"]
    assert np.allclose(got, expected)
    assert answer.errors["all"].runs == 234
    assert "cw_h100_8n" in page_text(page_of(answer))
    assert len(answer.to_frame()) == 234


def test_both_doors_say_the_same(printed: Printed) -> None:
    words = "collective --op allreduce --bytes 1GB --accelerators 64 --fabric rail"
    answer = topoopt.collective("allreduce", "1GB", accelerators=64, fabric="rail")
    assert printed(*words.split()) == as_json(answer.to_json())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"accelerators": 64, "servers": 8}, "servers: describes a wiring of servers, which accelerators"),
        ({"accelerators": 64, "schedule": "ring"}, "schedule: describes a wiring of servers"),
        ({"accelerator": "h100"}, "accelerators: missing; give their number"),
        ({"accelerators": 1}, "accelerators: expected 2 or more, got 1"),
        ({"accelerators": 8, "fabric": "torus"}, 'fabric: unknown name "torus"'),
        ({"runs": "t.csv"}, "op: runs=FILE takes no other words"),
        ({"accelerators": 0}, "accelerators: expected 2 or more, got 0"),
        (
            {"accelerators": 8, "network_bandwidth": "100Gbps"},
            r"network_bandwidth: 8 accelerators share one server \(of 8\), so no network is used; leave it out",
        ),
        (
            {"accelerators": 8, "accelerator": "a100", "nvls": True},
            "nvls: 8 × A100-SXM4-40GB a server have no",
        ),
    ],
)
def test_words_that_make_no_sense_are_one_line(words: dict[str, object], said: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{said}"):
        topoopt.collective("allreduce", "1GB", **words)  # type: ignore[arg-type]


def test_switches_reduce_only_for_an_allreduce() -> None:
    with pytest.raises(InvalidInput, match=r"^nvls: NVSwitches reduce for an allreduce, not for all-gather"):
        topoopt.collective("all-gather", "1GB", accelerators=8, nvls=True)


def test_an_operation_and_its_bytes_are_needed() -> None:
    with pytest.raises(InvalidInput, match=r"^bytes: missing; such as op=allreduce and bytes=1GB"):
        topoopt.collective("allreduce", accelerators=8)


def test_the_asked_size_is_marked_in_its_own_units_and_nvls_is_named(printed: Printed) -> None:
    answer = topoopt.collective("allreduce", "1GiB", accelerators=8, nvls=True)
    assert isinstance(answer, topoopt.CollectiveTimes)
    assert answer.to_json()["asked_bytes"] == 2**30
    shown = page_text(page_of(answer))
    assert "→ 1 GiB" in shown
    assert "   4 GiB" in shown
    assert "by NVSwitches (NVLS)" in shown
    assert "NVLS" in answer.to_json()["collectives"]
    assert "→ 3 MB" in page_text(page_of(topoopt.collective("allreduce", "3MB", accelerators=8)))
