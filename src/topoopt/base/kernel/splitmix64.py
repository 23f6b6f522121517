"""One step of SplitMix64: random numbers without a state, the same in any process and order.

References
----------
.. [1] G. Steele, D. Lea and C. Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
"""

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from topoopt.base.kernel.compilation import compiled, shared

_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)

Words = TypeVar("Words", np.uint64, NDArray[np.uint64])


@shared
def mix(x: Words) -> Words:
    """Return the words, uint64, well mixed; a kernel takes one, and Python an array."""
    z = x + _STEP
    z = (z ^ (z >> np.uint64(30))) * _FIRST
    z = (z ^ (z >> np.uint64(27))) * _SECOND
    return z ^ (z >> np.uint64(31))


@compiled
def uniform(state: NDArray[np.uint64]) -> float:
    """Return a random number above 0 and below 1, and go on to the next state."""
    state[0] = mix(state[0])
    return (float(state[0] >> np.uint64(11)) + 0.5) * 2.0**-53
