"""A transformer's network, where none is given, is that of its accelerator's reference system, in every verb."""

from typing import Any

import pytest

import topoopt
from topoopt.catalog import find_accelerator
from topoopt.jobs import JobRequest
from topoopt.search import training_request


@pytest.mark.parametrize(
    ("accelerator", "servers", "interfaces"),
    [("h100", 32, (8, 400e9)), ("a100", 4, (8, 200e9)), ("h100", 2, (8, 400e9)), ("gb200", 8, (72, 400e9))],
)
def test_a_server_has_a_nic_for_each_accelerator(
    accelerator: str, servers: int, interfaces: tuple[int, float]
) -> None:
    cluster = training_request(
        JobRequest(model="llama3-8b", cluster={"accelerator": accelerator, "servers": servers})
    ).cluster
    assert (cluster.degree, cluster.link_bandwidth_bps) == pytest.approx(interfaces)
    nic_bps = find_accelerator(accelerator).nic_bandwidth_bps
    assert cluster.server_bandwidth_bps == pytest.approx(cluster.accelerators_per_server * (nic_bps or 0.0))


def test_words_change_one_of_the_two() -> None:
    for given, cluster in (({"degree": 2}, (2, 400e9)), ({"link_bandwidth_bps": 100e9}, (8, 100e9))):
        found = training_request(JobRequest(model="llama3-8b", cluster={"servers": 16, **given})).cluster
        assert (found.degree, found.link_bandwidth_bps) == cluster


def test_a_plan_says_what_it_assumed() -> None:
    words = {"accelerators": 16, "tp": 8, "global_batch": 16, "candidates": 1, "fabrics": ()}
    assumed = dict(topoopt.plan("llama3-8b", **words).origin)["assumed"]  # type: ignore[arg-type]
    assert assumed == (
        "8 × 400 Gb/s per server, the reference system of H100-SXM5-80GB; change with --degree, --bandwidth"
    )
    given = topoopt.plan("llama3-8b", degree=4, bandwidth="800Gbps", **words)  # type: ignore[arg-type]
    assert "assumed" not in dict(given.origin)


def test_a_comparison_says_it_too() -> None:
    words: dict[str, Any] = {"servers": 2, "candidates": 1, "fabrics": ["torus"]}
    said = "assumed: 8 × 400 Gb/s per server, the reference system of H100-SXM5-80GB; change with --degree, --bandwidth"
    assert said in str(topoopt.compare("llama3-8b", **words))
    assert "assumed: " not in str(topoopt.compare("llama3-8b", **words, degree=4, bandwidth="400Gbps"))
