"""A cluster is checked once, from words or from a file, and every mistake is one line."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topoopt.base.errors import InvalidInput
from topoopt.catalog import MOST_INTERFACES, ClusterSpec, reference_interfaces


def test_a_cluster_has_the_paper_s_defaults() -> None:
    spec = ClusterSpec(128, 4, 100e9)
    assert (spec.accelerators_per_server, spec.accelerator, spec.links) == (4, "a100", "duplex")
    assert (spec.intra_server_bandwidth_bps, spec.link_latency_s) == (200e9, 1e-6)
    assert (spec.total_accelerators, spec.server_bandwidth_bps) == (512, 400e9)


@given(servers=st.integers(2, 5000), degree=st.integers(1, 80))
@settings(max_examples=60)
def test_a_degree_is_taken_up_to_what_the_servers_can_use(servers: int, degree: int) -> None:
    if degree <= MOST_INTERFACES:
        assert ClusterSpec(servers, degree, 1e9).degree == degree
    else:
        with pytest.raises(InvalidInput, match="degree: a server has at most 72 interfaces"):
            ClusterSpec(servers, degree, 1e9)


def test_two_servers_may_be_joined_by_all_their_nics_and_odd_degrees_are_fine() -> None:
    assert ClusterSpec(2, 72, 1e9).degree == 72
    assert ClusterSpec(16, 3, 1e9).degree == 3


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


@given(accelerators=st.integers(1, 144), servers=st.integers(2, 5000))
def test_a_server_s_interfaces_carry_the_bandwidth_of_its_nics(accelerators: int, servers: int) -> None:
    degree, bandwidth_bps = reference_interfaces(accelerators, 400e9)
    assert degree * bandwidth_bps == pytest.approx(accelerators * 400e9)
    assert ClusterSpec(servers, degree, bandwidth_bps, accelerators).degree <= MOST_INTERFACES
