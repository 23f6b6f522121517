"""The rail-optimized leaf-spine."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topoopt.base.errors import InvalidInput
from topoopt.routing import EcmpRoutes, link_loads
from topoopt.topologies import hops_from, rail


def test_interface_i_of_every_server_is_on_leaf_i() -> None:
    fabric = rail(20, 4, 100e9)
    assert fabric.nodes == 24
    for server in range(20):
        assert fabric.dst[fabric.src == server].tolist() == [20, 21, 22, 23]
    assert set(fabric.bandwidth_bps.tolist()) == {100e9}
    assert [path.nodes for path in EcmpRoutes(fabric).paths(3, 17)] == [(3, 20 + i, 17) for i in range(4)]


def test_leaves_of_a_rail_are_joined_by_spines_without_blocking() -> None:
    # 16 ports: 8 servers and 8 uplinks a leaf; 20 servers are 3 leaves a rail, each with an uplink to 8 spines.
    fabric = rail(20, 2, 100e9, leaf_ports=16, switches=True)
    assert fabric.nodes == 20 + 2 * 3 + 2 * 8
    degree = np.bincount(fabric.src)
    assert degree[20:26].tolist() == [16, 16, 12, 16, 16, 12]
    assert degree[26:].tolist() == [3] * 16
    assert hops_from(fabric, np.array([0]))[0, [1, 7, 8, 19]].tolist() == [2, 2, 4, 4]
    paths = EcmpRoutes(fabric).paths(0, 19)
    assert len(paths) == 2 * 8
    assert {path.nodes[1] - path.nodes[3] for path in paths} == {-2}, "a path stays on its rail"


@settings(max_examples=25)
@given(st.integers(2, 60), st.integers(1, 4), st.sampled_from([1.0, 2.0, 3.0]), st.integers(0, 9))
def test_merged_spines_are_as_busy_as_each_of_their_members(
    servers: int, rails: int, oversubscription: float, seed: int
) -> None:
    demand = np.random.default_rng(seed).random((servers, servers)) * (1 - np.eye(servers))
    busiest = []
    for switches in (False, True):
        fabric = rail(servers, rails, 100e9, 1e-6, 16, oversubscription, switches)
        load_s = link_loads(fabric, EcmpRoutes(fabric), demand) / fabric.bandwidth_bps
        below = np.minimum(fabric.src, fabric.dst) < servers
        busiest.append((load_s[below].max(), load_s[~below].max(initial=0.0)))
    assert busiest[0] == pytest.approx(busiest[1])


def test_oversubscription_is_what_enters_a_leaf_over_what_leaves_it() -> None:
    fabric = rail(96, 1, 100e9, leaf_ports=48, oversubscription=2.0, switches=True)
    leaf = 96  # 32 servers below, 16 uplinks
    out = fabric.bandwidth_bps[(fabric.src == leaf) & (fabric.dst > leaf)]
    into = fabric.bandwidth_bps[(fabric.dst == leaf) & (fabric.src < 96)]
    assert (len(into), len(out)) == (32, 16)
    assert into.sum() == 2 * out.sum()


@pytest.mark.parametrize(
    ("leaf_ports", "oversubscription", "message"),
    [
        (8, 1.0, "leaves and spines of 8 ports join 32 servers, got 100; use switches of more ports"),
        (1, 1.0, "leaf_ports must be at least 2, got 1"),
        (8, 0.5, r"oversubscription must be at least 1, got 0\.5"),
        (None, float("nan"), "oversubscription must be at least 1, got nan"),
    ],
)
def test_what_cannot_be_wired_is_one_line(
    leaf_ports: int | None, oversubscription: float, message: str
) -> None:
    with pytest.raises(InvalidInput, match=message) as caught:
        rail(100, 4, 100e9, leaf_ports=leaf_ports, oversubscription=oversubscription)
    assert "\n" not in str(caught.value)
