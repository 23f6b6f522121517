"""Finite fields of few elements, and the primes that they need."""

import itertools
from dataclasses import dataclass

import numpy as np

from topoopt.base.arrays import Ints


@dataclass(frozen=True, eq=False)
class Field:
    """GF(q): elements are 0 .. q-1, as polynomials over GF(p) written to base p.

    Attributes
    ----------
    minus : int64 array, shape (q, q)
        ``minus[a, b]`` is a - b.
    times : int64 array, shape (q, q)
    primitive : int
        An element whose powers are all others but 0.
    """

    size: int
    minus: Ints
    times: Ints
    primitive: int

    def powers(self) -> list[int]:
        """Return the powers 0, 1, … q-2 of the primitive element."""
        found = [1]
        while len(found) < self.size - 1:
            found.append(int(self.times[found[-1], self.primitive]))
        return found


def is_prime(number: int) -> bool:
    """Return whether a number is prime."""
    return number > 1 and all(number % factor for factor in range(2, int(number**0.5) + 1))


def prime_power(number: int) -> tuple[int, int] | None:
    """Return p and k of p^k, None for any other number."""
    for prime in range(2, number + 1):
        if number % prime == 0:
            left, times = number, 0
            while left % prime == 0:
                left, times = left // prime, times + 1
            return (prime, times) if left == 1 else None
    return None


def galois_field(prime: int, times: int) -> Field:
    """Return GF(prime^times), over the first polynomial that makes one."""
    size = prime**times
    digits = np.array([[a // prime**i % prime for i in range(times)] for a in range(size)], np.int64)
    weights = prime ** np.arange(times)
    minus = (digits[:, None, :] - digits[None, :, :]) % prime @ weights
    for low in itertools.product(range(prime), repeat=times):
        product = _products(digits, np.array(low, np.int64), prime) @ weights
        if (np.count_nonzero(product, axis=1)[1:] < size - 1).any():
            continue  # two numbers other than 0 make 0: no field
        for element in range(1, size):
            seen, here = 1, element
            while here != 1:
                here, seen = int(product[here, element]), seen + 1
            if seen == size - 1:
                return Field(size, minus, product, element)
    raise AssertionError(f"no field of {size}")


def _products(digits: Ints, low: Ints, prime: int) -> Ints:
    """Return the digits of all products modulo x^k - low, shape (q, q, k)."""
    size, times = digits.shape
    wide = np.zeros((size, size, 2 * times - 1), np.int64)
    for i in range(times):
        for j in range(times):
            wide[:, :, i + j] += digits[:, None, i] * digits[None, :, j]
    for power in range(2 * times - 2, times - 1, -1):
        wide[:, :, power - times : power] += wide[:, :, power : power + 1] * low
    return wide[:, :, :times] % prime
