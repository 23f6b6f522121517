"""Elementary functions: near those of the C library, and the same bits compiled, in Python and everywhere."""

import math
from hashlib import sha256

import numpy as np
import pytest
from numba import njit

from topoopt.base.arrays import Floats
from topoopt.base.kernel import cbrt, cos, exp, geometric, log


@njit(error_model="numpy")
def _compiled(values: Floats, powers: Floats, logs: Floats, cosines: Floats, roots: Floats) -> None:
    for i in range(len(values)):
        powers[i] = exp(values[i])
        logs[i] = log(abs(values[i]))
        cosines[i] = cos(0.01 * values[i])
        roots[i] = cbrt(abs(values[i]))


def _values() -> Floats:
    """Return numbers of all sizes that only sums, products and divisions make."""
    return np.concatenate([np.arange(-7000, 7001) / 10 + 1 / 97, (np.arange(1, 10_000) - 5000.5) / 30_000])


def _in_python() -> list[list[float]]:
    return [
        [exp(value), log(abs(value)), cos(0.01 * value), cbrt(abs(value))] for value in _values().tolist()
    ]


def test_they_are_those_of_the_library_but_for_the_last_bits() -> None:
    values, (powers, logs, cosines, roots) = _values(), np.array(_in_python()).T
    np.testing.assert_array_max_ulp(powers, np.exp(values), 4)
    np.testing.assert_array_max_ulp(logs, np.log(np.abs(values)), 4)
    np.testing.assert_array_max_ulp(roots, np.cbrt(np.abs(values)), 4)
    assert cosines == pytest.approx(np.cos(0.01 * values), abs=1e-15)


def test_they_have_the_same_bits_in_kernels_and_on_every_processor() -> None:
    values = _values()
    found = np.empty((4, len(values)))
    _compiled(values, *found)
    assert found.T.tolist() == _in_python()
    assert sha256(found.tobytes()).hexdigest()[:16] == "320f39e4c49f1a1b"


def test_the_ends_are_nothing_and_infinity() -> None:
    assert (exp(-1e4), exp(1e4), exp(0.0), log(1.0), cos(0.0)) == (0.0, math.inf, 1.0, 0.0, 1.0)


def test_numbers_in_a_constant_ratio_are_those_of_numpy() -> None:
    found = geometric(4.0, 4000.0, 40)
    assert (found[0], found[-1]) == (4.0, 4000.0)
    assert found == pytest.approx(np.geomspace(4.0, 4000.0, 40), rel=1e-13)
