"""Rings of all servers as one network."""

import pytest

from topoopt.base.errors import InvalidInput
from topoopt.finder import ring_network
from topoopt.finder.named_wiring import listed_strides


def test_every_distance_is_paid_by_its_coins() -> None:
    network = ring_network(24, 3, links="directed")
    assert all(sum(steps) % 24 == distance for distance, steps in network.coins())
    assert sum(network.hop_histogram.values()) == 24 * 23


@pytest.mark.parametrize(
    ("strides", "listed"), [("best", ()), ("1,13", (1, 13)), ([1, 5], (1, 5)), ("7", (7,))]
)
def test_a_list_is_told_from_a_rule(strides: str | list[int], listed: tuple[int, ...]) -> None:
    assert listed_strides(strides) == listed


def test_given_strides_need_no_rule_and_no_degree() -> None:
    network = ring_network(12, strides="1,5")
    assert (network.rule, network.degree) == ("given", 4)
    with pytest.raises(InvalidInput, match="degree: missing"):
        ring_network(12)
