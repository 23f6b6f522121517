"""Arithmetic with the same bits on every processor: the exponential function, and random numbers (SplitMix64).

The exponential of the C library differs in the last bit between processors that fuse a multiplication with an
addition and those that do not, and that of NumPy between widths of registers. Where prices of links decide between
paths of equal length, the last bit decides, and answers differ in their seventh digit. This one consists of
operations that IEEE 754 rounds exactly. Its error is at most 1 ulp. One value takes as long as with the C library;
loops over arrays are vectorized.

A random number of SplitMix64 follows from its seed and its place alone, in any process and order.

References
----------
.. [1] P. T. P. Tang, "Table-driven implementation of the exponential function in IEEE floating-point arithmetic", ACM
   Transactions on Mathematical Software 15(2), 1989.
.. [2] G. Steele, D. Lea and C. Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
"""

from decimal import Decimal
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from topoopt.base.kernel.compilation import compiled, shared

_SPLITMIX64_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
Words = TypeVar("Words", np.uint64, NDArray[np.uint64])
_LARGEST = 709.0
_STEPS = 128
"""Powers of two in the table, from 1 to 2."""
_STEP = Decimal(2) ** (Decimal(1) / _STEPS)
_POWERS = np.array([float(_STEP**step) for step in range(_STEPS)])
_LN2 = 0.6931471805599453
_STEP_HIGH = int(_LN2 / _STEPS * 2**40) / 2**40
"""ln 2 / 128 in so few bits that its product with a number of steps is exact; the rest is in ``_STEP_LOW``."""
_STEP_LOW = float(Decimal(2).ln() / _STEPS - Decimal(_STEP_HIGH))
_ROUNDING = 1.5 * 2.0**52
"""A number plus this has the nearest integer in its last bits."""


@shared
def exp(x: float) -> float:
    """Return e to the power of x: 0 below -708, infinity above 709.

    Examples
    --------
    >>> float(exp(0.0)), round(float(exp(1.0)), 12)
    (1.0, 2.718281828459)
    """
    if x > _LARGEST:
        return np.inf
    if x < 1.0 - _LARGEST:
        return 0.0
    shifted = x * (_STEPS / _LN2) + _ROUNDING
    steps = shifted - _ROUNDING
    r = (x - steps * _STEP_HIGH) - steps * _STEP_LOW
    less_1 = r + r * r * (1 / 2 + r * (1 / 6)) + r * r * (r * r) * (1 / 24 + r * (1 / 120))
    bits = np.float64(shifted).view(np.int64)
    whole = np.int64(((bits >> np.int64(7)) + np.int64(1023)) << np.int64(52)).view(np.float64)
    power = _POWERS[np.uint64(bits & np.int64(_STEPS - 1))] * whole
    return power + power * less_1


@shared
def mix(x: Words) -> Words:
    """Return the words, uint64, hashed; for a scalar in a kernel and an array in Python."""
    z = x + _SPLITMIX64_STEP
    z = (z ^ (z >> np.uint64(30))) * _FIRST
    z = (z ^ (z >> np.uint64(27))) * _SECOND
    return z ^ (z >> np.uint64(31))


@compiled
def uniform(state: NDArray[np.uint64]) -> float:
    """Return a random number above 0 and below 1, and go on to the next state."""
    state[0] = mix(state[0])
    return (float(state[0] >> np.uint64(11)) + 0.5) * 2.0**-53
