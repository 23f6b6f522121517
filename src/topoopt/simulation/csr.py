"""Lists of varying length in one array: list i is ``entry[first[i] : first[i + 1]]``."""

import numpy as np
from numpy.typing import NDArray

from topoopt.base.arrays import Ints


def pointer(sizes: NDArray[np.integer] | list[int]) -> Ints:
    """Return where each of the lists of these sizes begins, and where the last ends.

    Examples
    --------
    >>> pointer([2, 0, 1]).tolist()
    [0, 2, 2, 3]
    """
    return np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)


def owners(first: Ints) -> Ints:
    """Return the list that each entry belongs to.

    Examples
    --------
    >>> owners(np.array([0, 2, 2, 3])).tolist()
    [0, 0, 2]
    """
    return np.repeat(np.arange(len(first) - 1), np.diff(first))


def entries_of(first: Ints, rows: Ints) -> tuple[Ints, Ints]:
    """Return the entries of some lists, one list after the other, and the place in ``rows`` of each one's list.

    Examples
    --------
    >>> [part.tolist() for part in entries_of(np.array([0, 2, 2, 3]), np.array([2, 0]))]
    [[2, 0, 1], [0, 1, 1]]
    """
    return entries_between(first[rows], first[rows + 1])


def entries_between(begin: Ints, end: Ints) -> tuple[Ints, Ints]:
    """Return ``begin[i] .. end[i] - 1`` of every i, joined, and the i of each."""
    starts = pointer(end - begin)
    row = owners(starts)
    return np.arange(starts[-1]) + (begin - starts[:-1])[row], row
