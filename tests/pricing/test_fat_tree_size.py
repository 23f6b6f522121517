"""The smallest switches that join so many servers, and how many of them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topoopt.base.errors import InvalidInput
from topoopt.pricing import FatTreeSize, fat_tree_size


@pytest.mark.parametrize("radix", [4, 8, 12, 16, 20, 48])
def test_three_full_tiers_are_the_k_ary_fat_tree(radix: int) -> None:
    # k³/4 servers, k²/2 edge, k²/2 aggregation and k²/4 core switches (Al-Fares et al., SIGCOMM 2008)
    servers = radix**3 // 4
    assert fat_tree_size(servers) == FatTreeSize(servers, radix, radix**2 // 2, radix**2 // 2, radix**2 // 4)
    assert fat_tree_size(servers).switches == 5 * radix**2 // 4
    assert fat_tree_size(servers).ports == 5 * servers
    assert fat_tree_size(servers + 1).radix == radix + 2


@pytest.mark.parametrize("radix", [4, 16, 64])
def test_two_full_tiers_are_a_leaf_spine(radix: int) -> None:
    assert fat_tree_size(radix**2 // 2, tiers=2) == FatTreeSize(radix**2 // 2, radix, radix, 0, radix // 2)


def test_one_switch_is_enough_where_it_has_the_ports() -> None:
    assert fat_tree_size(9, tiers=1) == FatTreeSize(9, 10, 1, 0, 0)
    assert fat_tree_size(1).switches == 1


def test_two_to_one_leaves_two_thirds_of_a_first_switch_to_servers() -> None:
    # k = 12: 8 down and 4 up; 12 pods of 6 first switches and 4 above them; 12 · 6 · 8 = k³/3 servers
    assert fat_tree_size(12**3 // 3, oversubscription=2.0) == FatTreeSize(576, 12, 72, 48, 24)


@given(
    servers=st.integers(1, 3000),
    tiers=st.sampled_from([1, 2, 3]),
    ratio=st.sampled_from([1.0, 1.5, 2.0, 3.0, 4.0]),
)
@settings(max_examples=80)
def test_every_tier_has_the_ports_for_the_links_below_it(servers: int, tiers: int, ratio: float) -> None:
    size = fat_tree_size(servers, tiers, ratio)
    if size.switches == 1:
        assert servers <= size.radix
        return
    below = -(-servers // size.edge)
    above = -(-below // ratio)
    assert below + above <= size.radix
    uplinks = servers / ratio
    if tiers == 3:
        assert size.aggregation * (size.radix // 2) >= uplinks
    if size.core:
        assert size.core * size.radix >= uplinks
    assert size.ports >= servers + 2 * uplinks * (tiers - 1) * (size.core > 0)


def test_no_servers_are_refused() -> None:
    with pytest.raises(InvalidInput, match="servers must be at least 1, got 0"):
        fat_tree_size(0)
