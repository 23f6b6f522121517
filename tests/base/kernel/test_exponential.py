"""The exponential function: near that of the C library, and the same bits compiled, in Python and everywhere."""

import math
from hashlib import sha256

import numpy as np
from numba import njit

from topoopt.base.arrays import Floats
from topoopt.base.kernel import exp

VALUES: Floats = np.concatenate(
    [np.arange(-7000, 7001) / 10 + 1 / 97, (np.arange(1, 10_000) - 5000.5) / 30_000]
)
"""Numbers of all sizes that only sums, products and divisions make."""


@njit(error_model="numpy")
def _compiled(values: Floats, powers: Floats) -> None:
    for i in range(len(values)):
        powers[i] = exp(values[i])


def test_it_is_that_of_the_library_but_for_the_last_bits() -> None:
    np.testing.assert_array_max_ulp(np.array([exp(value) for value in VALUES.tolist()]), np.exp(VALUES), 2)


def test_it_has_the_same_bits_in_kernels_and_on_every_processor() -> None:
    found = np.empty(len(VALUES))
    _compiled(VALUES, found)
    assert found.tolist() == [exp(value) for value in VALUES.tolist()]
    assert sha256(found.tobytes()).hexdigest()[:16] == "815979d90fc24353"


def test_the_ends_are_nothing_and_infinity() -> None:
    assert (exp(-1e4), exp(1e4), exp(0.0)) == (0.0, math.inf, 1.0)
