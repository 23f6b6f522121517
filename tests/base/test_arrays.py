"""The different keys of an array, and the place of each."""

import numpy as np
import pytest

from topoopt.base.arrays import numbered


@pytest.mark.parametrize("limit", [40, 100_000])
def test_keys_are_numbered_as_by_unique(limit: int) -> None:
    keys = np.random.default_rng(1).integers(0, 40, 300)
    known, place = numbered(keys, limit)
    expected = np.unique(keys, return_inverse=True)
    assert np.array_equal(known, expected[0])
    assert np.array_equal(place, expected[1])


def test_no_keys_have_no_numbers() -> None:
    known, place = numbered(np.zeros(0, np.int64), 5)
    assert len(known) == len(place) == 0
