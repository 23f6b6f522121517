"""The fat-tree as a tree of trunks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topoopt.base.errors import InvalidInput
from topoopt.topologies import fat_tree, fat_tree_arity, hop_metrics, hops_from


def test_arity_is_the_smallest_even_one_that_holds_the_servers() -> None:
    assert [fat_tree_arity(n) for n in (2, 3, 16, 17, 54, 128, 432, 1024)] == [2, 4, 4, 6, 6, 8, 12, 16]


def test_full_tree_of_128_counts_parts_as_published() -> None:
    # A k-ary fat-tree has k³/4 servers and 3n cables (Al-Fares et al., SIGCOMM 2008): k = 8.
    tree = fat_tree(128, 100e9)
    assert int(tree.ports.sum()) == 2 * 3 * 128
    assert tree.nodes == 128 + 32 + 8 + 1


def test_paths_have_two_four_and_six_hops() -> None:
    hops = hops_from(fat_tree(128, 100e9), np.array([0]))[0]
    assert hops[[1, 3, 4, 15, 16, 127]].tolist() == [2, 2, 4, 4, 6, 6]


def test_trunks_carry_full_bisection() -> None:
    tree = fat_tree(16, 100e9)  # k=4: racks of 2, pods of 4
    assert tree.bandwidth_bps[tree.link_id(0, 16)] == 100e9
    assert tree.bandwidth_bps[tree.link_id(16, 24)] == 200e9
    assert tree.bandwidth_bps[tree.link_id(24, 28)] == 400e9


def test_oversubscription_thins_everything_above_the_rack() -> None:
    tree = fat_tree(16, 100e9, oversubscription=2.0)
    assert tree.family == "oversub-fat-tree"
    assert tree.bandwidth_bps[tree.link_id(0, 16)] == 100e9
    assert tree.bandwidth_bps[tree.link_id(16, 24)] == 100e9
    assert tree.bandwidth_bps[tree.link_id(24, 28)] == 200e9


@given(st.integers(2, 200))
def test_any_number_of_servers_is_connected_within_six_hops(servers: int) -> None:
    assert hop_metrics(fat_tree(servers, 10e9)).diameter <= 6


def test_undersubscription_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"oversubscription must be at least 1, got 0\.5"):
        fat_tree(16, 10e9, oversubscription=0.5)
