"""Which rings an AllReduce takes: along strides, or any that visit the same ranks."""

import math
from collections.abc import Sequence

from topoopt.base.errors import InvalidInput

Rings = tuple[tuple[int, ...], ...]
"""Ranks of each ring, in its order; the last sends to the first. All rings have the same ranks."""

MOST_RINGS = 64
"""A message's tag has so many bits for the number of its ring."""


def rings_of_strides(ranks: Sequence[int], strides: Sequence[int]) -> Rings:
    """Return a ring for each stride p: from the i-th of the ranks to the (i + p)-th.

    Parameters
    ----------
    ranks : sequence of int
        Members in the order that strides count in, such as ``range(12)``.
    strides : sequence of int
        Each without a factor in common with the number of ranks. A duplex cable along p is also one along ``k - p``.

    Raises
    ------
    InvalidInput
        If a stride does not come by every rank.

    References
    ----------
    .. [1] W. Wang et al., "TopoOpt", NSDI 2023, section 4.3.

    Examples
    --------
    >>> rings_of_strides(range(5), (1, 3))
    ((0, 1, 2, 3, 4), (0, 3, 1, 4, 2))
    """
    size = len(ranks)
    for stride in strides:
        if math.gcd(stride, size) != 1:
            raise InvalidInput(
                f"strides: {stride} and {size} ranks have a factor in common, so it is no ring"
            )
    return tuple(tuple(ranks[place * stride % size] for place in range(size)) for stride in strides)


def checked_rings(rings: Sequence[Sequence[int]]) -> Rings:
    """Return rings that can share an AllReduce.

    Raises
    ------
    InvalidInput
        If there is none, one comes by a rank twice, or they are not of the same ranks.
    """
    checked = tuple(tuple(int(rank) for rank in ring) for ring in rings)
    if not 0 < len(checked) <= MOST_RINGS:
        raise InvalidInput(f"rings: expected 1..{MOST_RINGS} of them, got {len(checked)}")
    for number, ring in enumerate(checked):
        if not ring or len(set(ring)) < len(ring):
            raise InvalidInput(f"rings: expected each rank once in ring {number}, got {list(ring)}")
        if set(ring) != set(checked[0]):
            raise InvalidInput(f"rings: ring {number} has other ranks than ring 0; give all the same ones")
    return checked
