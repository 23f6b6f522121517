"""TotientPerms: the strides whose rings visit every member of a group."""

from functools import lru_cache

import numpy as np

from topoopt.base.arrays import Ints
from topoopt.base.errors import InvalidInput


@lru_cache(maxsize=64)
def totient_perms(size: int) -> Ints:
    """Return the strides that walk a ring through every member of a group, ascending, shape (φ(size),).

    A ring of stride ``p`` joins member ``i`` to member ``(i + p) % size`` (positions in the sorted list of members). It
    meets all of them exactly when ``p`` and ``size`` share no factor. The paper keeps only 1 and the primes at large
    scale; here all stay, since the rules that choose among them are quick enough. The array is not to be written to.

    Raises
    ------
    InvalidInput
        If ``size`` is below 2.

    References
    ----------
    .. [1] W. Wang et al., "TopoOpt", NSDI 2023, Algorithm 2.

    Examples
    --------
    >>> totient_perms(12).tolist()
    [1, 5, 7, 11]
    """
    if size < 2:
        raise InvalidInput(f"ring: a group needs at least 2 members, got {size}")
    steps = np.arange(1, size)
    strides: Ints = steps[np.gcd(steps, size) == 1]
    strides.setflags(write=False)
    return strides
