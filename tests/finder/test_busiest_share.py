"""What part of an AllReduce the busiest link carries."""

import pytest

from topoopt.finder.rings import best_start, busiest_share
from topoopt.topologies import Ring, circulant, torus

THERE = Ring(1, (0, 1, 2, 3, 4), (0, 1, 2, 3, 4))
BACK = Ring(4, (0, 4, 3, 2, 1), (0, 4, 3, 2, 1))


def test_a_link_carries_its_rings_out_of_all() -> None:
    cycle = circulant(5, (1,), 1e9)
    assert busiest_share(cycle, [THERE]) == 1
    assert busiest_share(cycle, [THERE, BACK]) == 1 / 2
    assert busiest_share(cycle, [THERE, THERE, BACK]) == 2 / 3


def test_parallel_links_share_their_crossings() -> None:
    assert busiest_share(circulant(5, (1, 1), 1e9), [THERE, THERE, BACK]) == pytest.approx(1 / 3)


def test_a_relay_counts_every_time_it_is_passed() -> None:
    line = torus(3, 1e9)
    assert busiest_share(line, [Ring(0, (0, 1, 2, 0, 1, 2), (0, 1, 2))]) == 2


def test_rings_that_crowd_a_link_are_left_out() -> None:
    cycle = circulant(5, (1,), 1e9)
    assert best_start(cycle, (THERE, BACK, THERE)) == (1 / 2, (THERE, BACK))
    assert best_start(cycle, (THERE, BACK, THERE, BACK)) == (1 / 2, (THERE, BACK, THERE, BACK))
    assert best_start(cycle, ()) == (float("inf"), ())
