"""A cluster is checked once, from flags or from a file, and every mistake is one line."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topoopt.errors import InvalidInput
from topoopt.hardware import ClusterSpec, cluster_from_mapping, largest_degree, read_cluster

WRITTEN = {"servers": 128, "degree": 4, "link_bandwidth": "100 Gbps"}


def test_a_cluster_has_the_paper_s_defaults() -> None:
    spec = ClusterSpec(128, 4, 100e9)
    assert (spec.accelerators_per_server, spec.accelerator, spec.links) == (4, "a100", "duplex")
    assert (spec.intra_server_bandwidth_bps, spec.link_latency_s) == (200e9, 1e-6)
    assert (spec.total_accelerators, spec.server_bandwidth_bps) == (512, 400e9)


def test_a_file_and_the_constructor_agree(tmp_path: Path) -> None:
    path = tmp_path / "cluster.yaml"
    path.write_text(
        "servers: 12\ndegree: 3\nlink_bandwidth: 25 Gbps\naccelerators_per_server: 1\naccelerator: H100\n"
        "intra_server_bandwidth: 450 GB/s\nlink_latency: 2us\nlinks: directed\n"
    )
    assert read_cluster(path) == ClusterSpec(12, 3, 25e9, 1, "H100", 3600e9, 2e-6, "directed")
    assert cluster_from_mapping(WRITTEN, "x") == ClusterSpec(128, 4, 100e9)


@given(servers=st.integers(2, 5000), degree=st.integers(1, 80))
@settings(max_examples=60, deadline=None)
def test_a_degree_is_taken_up_to_what_the_servers_can_use(servers: int, degree: int) -> None:
    if degree <= largest_degree(servers):
        assert ClusterSpec(servers, degree, 1e9).degree == degree
    else:
        with pytest.raises(InvalidInput, match=rf"degree: {servers} servers can use at most"):
            ClusterSpec(servers, degree, 1e9)


def test_two_servers_may_be_joined_by_four_parallel_links_and_odd_degrees_are_fine() -> None:
    assert ClusterSpec(2, 4, 1e9).degree == 4
    assert ClusterSpec(16, 3, 1e9).degree == 3
    with pytest.raises(InvalidInput, match="2 servers can use at most 4"):
        ClusterSpec(2, 5, 1e9)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"servers": "many"}, 'c.yaml: servers: expected an integer >= 2, got "many"'),
        ({"servers": 1}, "c.yaml: servers: expected an integer >= 2, got 1"),
        ({"degree": 0}, "c.yaml: degree: expected an integer >= 1, got 0"),
        (
            {"degree": 65},
            "c.yaml: degree: 128 servers can use at most 64 interfaces each "
            "(4 to every other server, 64 in all), got 65",
        ),
        (
            {"link_bandwidth": 100},
            'c.yaml: link_bandwidth: no unit in "100"; write for example 100Gbps or 25 GB/s',
        ),
        ({"links": "simplex"}, 'c.yaml: links: expected duplex or directed, got "simplex"'),
        ({"link_latency": "-1us"}, 'c.yaml: link_latency: must not be negative, got "-1us"'),
        ({"accelerators_per_server": 0}, "c.yaml: accelerators_per_server: expected an integer >= 1, got 0"),
    ],
)
def test_a_mistake_in_a_file_is_one_line(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        cluster_from_mapping({**WRITTEN, **change}, "c.yaml")
    assert str(caught.value) == message


def test_unknown_keys_and_accelerators_offer_the_nearest() -> None:
    with pytest.raises(InvalidInput, match=r'c\.yaml: unknown key "bandwidth"; did you mean link_bandwidth'):
        cluster_from_mapping({**WRITTEN, "bandwidth": "1Gbps"}, "c.yaml")
    with pytest.raises(InvalidInput, match=r"c\.yaml: accelerator: unknown name .* did you mean a100"):
        cluster_from_mapping({**WRITTEN, "accelerator": "a1000"}, "c.yaml")


@pytest.mark.parametrize(
    "fields",
    [
        {"servers": 1},
        {"degree": 0},
        {"degree": -3},
        {"link_bandwidth_bps": 0.0},
        {"link_bandwidth_bps": float("nan")},
        {"accelerators_per_server": 0},
        {"accelerator": "abacus"},
        {"intra_server_bandwidth_bps": -1.0},
        {"link_latency_s": -1e-6},
        {"links": "both"},
    ],
)
def test_a_bad_field_is_refused_in_one_line(fields: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput) as caught:
        ClusterSpec(**{"servers": 16, "degree": 4, "link_bandwidth_bps": 1e9, **fields})
    key = next(iter(fields)).removesuffix("_bps").removesuffix("_s")
    assert str(caught.value).startswith(f"{key}: ")
    assert "\n" not in str(caught.value)
