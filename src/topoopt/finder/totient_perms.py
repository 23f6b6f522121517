"""TotientPerms: the strides whose rings visit every member of a group."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from topoopt.errors import InvalidInput


def totient_perms(size: int, primes_only: bool = False) -> tuple[int, ...]:
    """Return the strides that walk a ring through every member of a group, ascending.

    A ring of stride ``p`` joins member ``i`` to member ``(i + p) % size`` (positions in the sorted list of
    members). It meets all of them exactly when ``p`` and ``size`` share no factor.

    Parameters
    ----------
    size : int
        Members of the group.
    primes_only : bool
        Keep 1 and the primes only: O(n / ln n) strides, the paper's choice at large scale.

    Raises
    ------
    InvalidInput
        If ``size`` is below 2.

    References
    ----------
    .. [1] W. Wang et al., "TopoOpt", NSDI 2023, Algorithm 2.

    Examples
    --------
    >>> totient_perms(12)
    (1, 5, 7, 11)
    """
    strides = totients(size)
    if primes_only:
        strides = strides[(strides == 1) | _is_prime(size)[strides]]
    return tuple(strides.tolist())


@lru_cache(maxsize=64)
def totients(size: int) -> NDArray[np.int64]:
    """Return :func:`totient_perms` as an array that is not to be written to."""
    if size < 2:
        raise InvalidInput(f"ring: a group needs at least 2 members, got {size}")
    steps = np.arange(1, size)
    found: NDArray[np.int64] = steps[np.gcd(steps, size) == 1]
    found.setflags(write=False)
    return found


def _is_prime(below: int) -> NDArray[np.bool_]:
    prime = np.ones(below, bool)
    prime[:2] = False
    for i in range(2, int(below**0.5) + 1):
        if prime[i]:
            prime[i * i :: i] = False
    return prime
