"""Random numbers without a state, the same as in :mod:`topoopt.routing.path_choice`.

The same question gets the same number, in any process and order.
"""

import numpy as np

from topoopt.kernel import inlined

_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


@inlined
def _mix(x: np.uint64) -> np.uint64:
    z = x + _STEP
    z = (z ^ (z >> np.uint64(30))) * _FIRST
    z = (z ^ (z >> np.uint64(27))) * _SECOND
    return z ^ (z >> np.uint64(31))


@inlined
def uniform(seed: int, number: int) -> float:
    """Return the number-th draw from [0, 1) of a seed."""
    bits = _mix(_mix(np.uint64(seed)) + np.uint64(number))
    return float(bits >> np.uint64(11)) * (1.0 / 9007199254740992.0)
