"""Every placement gives servers that are free, none twice."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topoopt.clusters import PLACEMENTS_OVER_TIME
from topoopt.clusters.settings import choose_servers


@pytest.mark.parametrize("how", PLACEMENTS_OVER_TIME)
@given(st.sets(st.integers(0, 60), min_size=1), st.data())
def test_servers_are_free_and_distinct(how: str, free: set[int], data: st.DataObject) -> None:
    size = data.draw(st.integers(1, len(free)))
    found = choose_servers(sorted(free), size, how, np.random.default_rng(0))
    assert len(set(found)) == len(found) == size
    assert set(found) <= free


def test_contiguous_takes_the_smallest_gap_that_is_large_enough() -> None:
    rng = np.random.default_rng(0)
    free = [0, 1, 2, 3, 10, 11, 12, 20, 21]
    assert choose_servers(free, 3, "contiguous", rng) == (10, 11, 12)
    assert choose_servers(free, 5, "contiguous", rng) == (0, 1, 2, 3, 10)


def test_strided_is_spread_evenly() -> None:
    assert choose_servers(range(12), 4, "strided", np.random.default_rng(0)) == (0, 3, 6, 9)
