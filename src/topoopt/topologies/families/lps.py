"""Ramanujan graphs of Lubotzky, Phillips and Sarnak: the largest spectral gap that a wiring can have."""

import itertools
from collections.abc import Iterator

import numpy as np

from topoopt.base.arrays import Ints
from topoopt.topologies.direct_wiring import DirectWiring, wiring_of_arcs
from topoopt.topologies.families.galois import is_prime

_LARGEST = 40  # the q up to which matrices are written out: 64,000 servers
Matrix = tuple[int, int, int, int]


def lps_exists(servers: int, degree: int, links: str) -> bool:
    """Return whether p = degree - 1 and some q are primes of the form 4k + 1 with so many matrices mod q."""
    return links == "duplex" and _other_prime(servers, degree) is not None


def lps(servers: int, degree: int, links: str) -> Iterator[DirectWiring]:
    """Yield X^{p,q}: matrices of determinant a square (or any) mod q up to a factor, joined by p + 1 generators.

    References
    ----------
    .. [1] A. Lubotzky, R. Phillips, P. Sarnak, "Ramanujan graphs", Combinatorica 8, 1988.
    """
    p, q = degree - 1, _other_prime(servers, degree)
    assert q is not None
    generators = _generators(p, q)
    number: dict[Matrix, int] = {(1, 0, 0, 1): 0}
    pending, src, dst = [(1, 0, 0, 1)], list[int](), list[int]()
    while pending:
        here = pending.pop()
        for step in generators:
            there = _scaled(_times(here, step, q), q)
            if there not in number:
                number[there] = len(number)
                pending.append(there)
            src.append(number[here])
            dst.append(number[there])
    arcs: tuple[Ints, Ints] = (np.array(src), np.array(dst))
    yield wiring_of_arcs("lps", links, servers, degree, arcs, {"p": p, "q": q})


def _other_prime(servers: int, degree: int) -> int | None:
    p = degree - 1
    if p % 4 != 1 or not is_prime(p):
        return None
    for q in range(5, _LARGEST, 4):
        is_square = pow(p, (q - 1) // 2, q) == 1
        size = q * (q * q - 1) // (2 if is_square else 1)
        if is_prime(q) and q != p and size == servers and q * q > 4 * p:
            return q
    return None


def _generators(p: int, q: int) -> list[Matrix]:
    """Return the p + 1 matrices of a² + b² + c² + d² = p, a > 0 odd, the others even."""
    root = next(x for x in range(2, q) if x * x % q == q - 1)
    most = int(p**0.5) + 1
    even = [x for x in range(-most, most + 1) if x % 2 == 0]
    fours = [
        (a, b, c, d)
        for a in range(1, most + 1, 2)
        for b, c, d in itertools.product(even, repeat=3)
        if a * a + b * b + c * c + d * d == p
    ]
    rows = [(a + root * b, c + root * d, -c + root * d, a - root * b) for a, b, c, d in fours]
    return [_scaled((w % q, x % q, y % q, z % q), q) for w, x, y, z in rows]


def _times(one: Matrix, other: Matrix, q: int) -> Matrix:
    (a, b, c, d), (e, f, g, h) = one, other
    return (a * e + b * g) % q, (a * f + b * h) % q, (c * e + d * g) % q, (c * f + d * h) % q


def _scaled(matrix: Matrix, q: int) -> Matrix:
    """Return the multiple whose first entry other than 0 is 1: matrices count up to a factor."""
    first = next(entry for entry in matrix if entry)
    inverse = pow(first, -1, q)
    a, b, c, d = matrix
    return a * inverse % q, b * inverse % q, c * inverse % q, d * inverse % q
