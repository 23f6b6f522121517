"""What the entries of an array are, by name: the types that signatures say; shapes and units are in docstrings."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
"""Indices, counts and bytes."""
Ints32 = NDArray[np.int32]
"""Indices of nodes and links, of which there are many."""
Flags = NDArray[np.bool_]
Words = NDArray[np.uint64]
"""Sets of bits, and states of random numbers."""

_SPARSE = 8
"""Times the keys, up to which a table of all that there could be takes less than sorting them."""


def numbered(keys: Ints, limit: int) -> tuple[Ints, Ints]:
    """Return the different keys in order, all of ``0 .. limit-1``, and of each key its place among them.

    That is ``np.unique`` with its inverse, in a tenth of the time where most keys there could be are there.

    Examples
    --------
    >>> [part.tolist() for part in numbered(np.array([5, 2, 5]), 6)]
    [[2, 5], [1, 0, 1]]
    """
    if limit > _SPARSE * len(keys):
        known, place = np.unique(keys, return_inverse=True)
        return known, place
    there = np.zeros(limit, np.bool_)
    there[keys] = True
    known = np.flatnonzero(there)
    place_of = np.empty(limit, np.int64)
    place_of[known] = np.arange(len(known))
    return known, place_of[keys]
