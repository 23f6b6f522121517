"""Trees of whole switches: no smaller one joins the ports, and nothing blocks in them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topoopt.base.arrays import Floats, Ints
from topoopt.base.errors import InvalidInput
from topoopt.pricing import SwitchTree, switch_tree


def by_switches(switches: Ints, leaf_links: Ints, upper_links: Ints) -> Floats:
    """Switches cost far more than all links together: the fewest of them win."""
    usd: Floats = 1e9 * switches + leaf_links + 1.5 * upper_links
    return usd


@pytest.mark.parametrize("radix", [4, 8, 64])
def test_full_trees_are_those_of_the_textbook(radix: int) -> None:
    half = radix // 2
    assert switch_tree(radix, radix, by_switches) == SwitchTree(radix, radix, 1, 1)
    assert switch_tree(radix * half, radix, by_switches) == SwitchTree(
        radix * half, radix, 2, radix, spines=half, leaf_links=radix * half
    )
    # k³/4 ports: k²/2 leaves, k²/2 above them and k²/4 spines (Al-Fares et al., SIGCOMM 2008)
    whole = radix**3 // 4
    assert switch_tree(whole, radix, by_switches) == SwitchTree(
        whole, radix, 3, radix * half, radix * half, half * half, whole, whole
    )
    assert switch_tree(whole + 1, radix, by_switches) is None


@given(hosts=st.integers(9, 32))
@settings(max_examples=24)
def test_no_two_tiers_of_fewer_switches_carry_as_much(hosts: int) -> None:
    """The oracle: every number of leaves and of spines of eight ports, each leaf with equal links to all spines."""
    tree = switch_tree(hosts, 8, by_switches)
    assert tree is not None
    assert tree.tiers == 2
    fewest = min(
        leaves + spines
        for leaves in range(2, 9)
        for spines in range(1, 9)
        if leaves * min(4, spines * (8 // leaves)) >= hosts
    )
    assert tree.switches == fewest


@given(
    hosts=st.integers(1, 3000),
    radix=st.sampled_from([16, 64, 128, 288]),
    ratio=st.sampled_from([1.0, 1.5, 2.0, 3.0]),
    tiers=st.sampled_from([None, 2, 3]),
)
@settings(max_examples=80)
def test_every_switch_has_the_ports_for_its_links_and_what_goes_up_is_enough(
    hosts: int, radix: int, ratio: float, tiers: int | None
) -> None:
    tree = switch_tree(hosts, radix, by_switches, tiers=tiers, oversubscription=ratio)
    if tree is None:
        assert hosts > radix * radix // 4
        return
    assert tree.spare_ports >= 0
    if tree.tiers == 1:
        assert (tree.switches, tree.links) == (1, 0)
        return
    below = -(-hosts // tree.leaves)
    up = tree.leaf_links // tree.leaves
    assert up * tree.leaves == tree.leaf_links
    assert up >= below / ratio
    assert below + up <= radix
    if tree.tiers == 2:
        # each leaf has as many links to one spine as to another, but for those left over: all have the same pattern
        assert tree.leaves * -(-up // tree.spines) <= radix
    else:
        assert tree.upper_links >= tree.leaf_links
        up_of_aggregation = tree.upper_links // tree.aggregation
        assert up_of_aggregation * tree.aggregation == tree.upper_links
        assert 2 * up_of_aggregation <= radix
        assert tree.spines * radix >= tree.upper_links


def test_links_and_switches_are_weighed_by_their_price() -> None:
    def dear_links(switches: Ints, leaf_links: Ints, upper_links: Ints) -> Floats:
        usd: Floats = switches + 1e6 * (leaf_links + upper_links).astype(np.float64)
        return usd

    few = switch_tree(100, 64, dear_links)
    assert few is not None
    assert few.leaf_links == 100
    other = switch_tree(100, 64, by_switches)
    assert other is not None
    assert other.switches <= few.switches


def test_numbers_out_of_range_are_refused() -> None:
    for hosts, radix, ratio in ((0, 64, 1.0), (5, 1, 1.0), (5, 64, 0.5)):
        with pytest.raises(
            InvalidInput, match="switch tree: hosts must be >= 1, radix >= 2 and oversubscription"
        ):
            switch_tree(hosts, radix, by_switches, oversubscription=ratio)
