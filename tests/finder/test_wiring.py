"""Plugging in cables."""

import numpy as np
import pytest

from topoopt.finder.wiring import Wiring


def test_rings_of_a_group_use_positions_in_its_members() -> None:
    wiring = Wiring(8, 4, "directed")
    wiring.add_rings(np.array([1, 4, 6]), (2,))
    topology = wiring.topology(1.0, 0.0)
    assert list(zip(topology.src.tolist(), topology.dst.tolist(), strict=True)) == [(1, 6), (4, 1), (6, 4)]
    assert wiring.free.tolist() == [4, 3, 4, 4, 3, 4, 3, 4]


def test_duplex_ring_takes_two_interfaces_and_a_pair_one() -> None:
    wiring = Wiring(6, 4, "duplex")
    wiring.add_rings(np.arange(6), (1,))
    wiring.add_pairs(np.array([0]), np.array([3]))
    assert wiring.free.tolist() == [1, 2, 2, 1, 2, 2]


@pytest.mark.parametrize("links", ["duplex", "directed"])
def test_idle_interfaces_join_opposite_servers(links: str) -> None:
    wiring = Wiring(6, 1, links)
    wiring.add_idle()
    topology = wiring.topology(1.0, 0.0)
    assert topology.dst.tolist() == [3, 4, 5, 0, 1, 2]
    assert topology.offsets == (3,)
    assert not wiring.free.any()


def test_links_between_counts_parallel_ones() -> None:
    wiring = Wiring(4, 4, "duplex")
    assert wiring.links_between(np.array([0]), np.array([1])).tolist() == [0]
    wiring.add_rings(np.arange(4), (1, 1))
    assert wiring.links_between(np.array([0, 1, 0]), np.array([1, 0, 2])).tolist() == [2, 2, 0]


def test_what_is_no_circulant_is_called_direct() -> None:
    wiring = Wiring(4, 2, "duplex")
    wiring.add_pairs(np.array([0, 1]), np.array([1, 2]))
    assert wiring.topology(1.0, 0.0).family == "direct"
