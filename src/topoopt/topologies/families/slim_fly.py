"""Slim Fly: two hops at most, near the most servers that so many interfaces can join like that."""

from collections.abc import Iterator
from math import isqrt

import numpy as np

from topoopt.topologies.direct_wiring import DirectWiring, both_ways, wiring_of_arcs
from topoopt.topologies.families.galois import Field, galois_field, prime_power

_LARGEST = 128  # the q up to which a table of the field is made: 32,768 servers


def slim_fly_exists(servers: int, degree: int, links: str) -> bool:
    """Return whether there are 2q² servers of (3q - δ)/2 interfaces, q = 4w + δ a prime power, δ in -1, 0, 1."""
    return links == "duplex" and _order(servers, degree) is not None


def slim_fly(servers: int, degree: int, links: str) -> Iterator[DirectWiring]:
    """Yield the McKay-Miller-Širáň graph of two sets of q × q servers.

    (0, x, y) and (0, x, y') are joined if y - y' is in X, (1, m, c) and (1, m, c') if c - c' is in X', and (0, x, y)
    with (1, m, c) if y = m·x + c.

    References
    ----------
    .. [1] M. Besta, T. Hoefler, "Slim Fly: a cost effective low-diameter network topology", SC 2014, section II-B.
    """
    order = _order(servers, degree)
    assert order is not None
    field = galois_field(*order)
    q, ends = field.size, list[tuple[int, int]]()
    place = np.arange(q)
    for side, generators in enumerate(_generators(field)):
        for step in generators:
            a, b = np.nonzero(field.minus == step)
            for row in range(q):
                base = (side * q + row) * q
                ends += zip((base + a).tolist(), (base + b).tolist(), strict=True)
    src = [end[0] for end in ends]
    dst = [end[1] for end in ends]
    for x in range(q):
        for m in range(q):
            c = field.minus[place, field.times[m, x]]
            joined = both_ways((x * q + place, (q + m) * q + c))
            src += joined[0].tolist()
            dst += joined[1].tolist()
    yield wiring_of_arcs("slim-fly", links, servers, degree, (np.array(src), np.array(dst)), {"q": q})


def _order(servers: int, degree: int) -> tuple[int, int] | None:
    q = isqrt(servers // 2)
    delta = {0: 0, 1: 1, 3: -1}.get(q % 4)
    if not 3 <= q <= _LARGEST or 2 * q * q != servers or delta is None or 2 * degree != 3 * q - delta:
        return None
    return prime_power(q)


def _generators(field: Field) -> tuple[list[int], list[int]]:
    """Return X and X', each with the negative of every element."""
    powers, q = field.powers(), field.size
    if q % 4 == 1:
        return powers[::2], powers[1::2]
    if q % 4 == 0:
        return powers[::2], [powers[i % (q - 1)] for i in range(1, q, 2)]
    w = (q + 1) // 4
    first = [*range(0, 2 * w - 1, 2), *range(2 * w - 1, 4 * w - 2, 2)]
    second = [*range(1, 2 * w, 2), *range(2 * w, 4 * w - 1, 2)]
    return [powers[i] for i in first], [powers[i % (q - 1)] for i in second]
