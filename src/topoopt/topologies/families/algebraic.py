"""Algebraic wirings of few hops: Slim Fly, Ramanujan graphs, generalized Kautz and de Bruijn, and line graphs."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from math import isqrt

import numpy as np

from topoopt.base.arrays import Ints
from topoopt.topologies.direct_wiring import DirectWiring, both_ways, wiring_of_arcs
from topoopt.topologies.families.circulant import circulants, circulants_exist

_DIAMOND = "47 02 34 05 56 17 13 26"  # out-neighbors of 0 .. 7


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


_ALGEBRAIC_LARGEST = 40  # the q up to which matrices are written out: 64,000 servers
Matrix = tuple[int, int, int, int]
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


def lps_exists(servers: int, degree: int, links: str) -> bool:
    """Return whether p = degree - 1 and some q are primes of the form 4k + 1 with as many matrices mod q as servers."""
    return links == "duplex" and _other_prime(servers, degree) is not None


def lps(servers: int, degree: int, links: str) -> Iterator[DirectWiring]:
    """Yield X^{p,q}: matrices of determinant a square (or any) mod q up to a factor, joined by p + 1 generators.

    References
    ----------
    .. [1] A. Lubotzky, R. Phillips, P. Sarnak, "Ramanujan graphs", Combinatorica 8, 1988.
    """
    p, q = degree - 1, _other_prime(servers, degree)
    assert q is not None
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
    generators = [_scaled((w % q, x % q, y % q, z % q), q) for w, x, y, z in rows]
    number: dict[Matrix, int] = {(1, 0, 0, 1): 0}
    pending, src, dst = [(1, 0, 0, 1)], list[int](), list[int]()
    while pending:
        here = pending.pop()
        for step in generators:
            (a, b, c, d), (e, f, g, h) = here, step
            times = (a * e + b * g) % q, (a * f + b * h) % q, (c * e + d * g) % q, (c * f + d * h) % q
            there = _scaled(times, q)
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
    for q in range(5, _ALGEBRAIC_LARGEST, 4):
        is_square = pow(p, (q - 1) // 2, q) == 1
        size = q * (q * q - 1) // (2 if is_square else 1)
        if is_prime(q) and q != p and size == servers and q * q > 4 * p:
            return q
    return None


def _scaled(matrix: Matrix, q: int) -> Matrix:
    """Return the multiple whose first entry other than 0 is 1: matrices count up to a factor."""
    first = next(entry for entry in matrix if entry)
    inverse = pow(first, -1, q)
    a, b, c, d = matrix
    return a * inverse % q, b * inverse % q, c * inverse % q, d * inverse % q


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


def line_graphs_exist(servers: int, degree: int, links: str) -> bool:
    """Return whether the servers are the fibers of a smaller wiring."""
    return links == "directed" and degree >= 2 and servers % degree == 0 and servers // degree > degree


def line_graphs(servers: int, degree: int, links: str) -> Iterator[DirectWiring]:
    """Yield line graphs of line graphs … of each base that fits: server uv sends to every vw.

    References
    ----------
    .. [1] L. Zhao et al., "Efficient Direct-Connect Topologies for Collective Communications", NSDI 2025.
    """
    size, times = servers, 0
    while line_graphs_exist(size, degree, links):
        size, times = size // degree, times + 1
        for name, base in _bases(size, degree):
            arcs = base
            for _ in range(times):
                arcs = _line_graph(arcs)
            yield wiring_of_arcs("line-graph", links, servers, degree, arcs, {"base": name, "times": times})


def _bases(servers: int, degree: int) -> Iterator[tuple[str, tuple[Ints, Ints]]]:
    if servers == 2 * degree:
        yield f"complete-bipartite {servers}", bipartite_arcs(degree)
    for links in ("duplex", "directed"):
        if circulants_exist(servers, degree, links):
            base = next(circulants(servers, degree, links))
            yield f"circulant {servers}, {links} strides {base.recipe['strides']}", base.arcs
    if servers % (degree + 1) == 0:  # else it has loops
        yield f"kautz {servers}", next(kautz(servers, degree, "directed")).arcs
    if (servers, degree) == (8, 2):
        ends = [(src, int(dst)) for src, row in enumerate(_DIAMOND.split()) for dst in row]
        yield "diamond 8", (np.array([src for src, _ in ends]), np.array([dst for _, dst in ends]))


def _line_graph(arcs: tuple[Ints, Ints]) -> tuple[Ints, Ints]:
    src, dst = arcs
    order = np.argsort(src, kind="stable")
    src, dst = src[order], dst[order]
    first = np.searchsorted(src, np.arange(int(src.max()) + 2))
    degree = int(first[1])
    after = (first[dst][:, None] + np.arange(degree)).ravel()
    return np.repeat(np.arange(len(src)), degree), after


def bipartite_exists(servers: int, degree: int, links: str) -> bool:
    """Return whether a server has an interface for each of the other half."""
    return servers == 2 * degree


def bipartite(servers: int, degree: int, links: str) -> Iterator[DirectWiring]:
    """Yield K_{d,d}: two hops at most."""
    yield wiring_of_arcs(
        "complete-bipartite",
        links,
        servers,
        degree,
        bipartite_arcs(degree),
        {"half": degree},
        group=2 * degree,
    )


def bipartite_arcs(half: int) -> tuple[Ints, Ints]:
    """Return both ends of every fiber: odd servers are one half, even ones the other."""
    src = np.repeat(np.arange(2 * half), half)
    return src, (src + 1 + 2 * np.tile(np.arange(half), 2 * half)) % (2 * half)


def arithmetic_exists(servers: int, degree: int, links: str) -> bool:
    """Return whether there are that many steps, at least two; with cables each takes two interfaces."""
    return degree < servers and (degree >= 2 if links == "directed" else degree % 2 == 0 and degree >= 4)


def kautz(servers: int, degree: int, links: str) -> Iterator[DirectWiring]:
    """Yield Π(d, n): server x sends to -d·x - a mod n, a = 1 .. d.

    References
    ----------
    .. [1] M. Imase, M. Itoh, "A design for directed graphs with minimum diameter", IEEE Transactions on Computers,
       1983.
    """
    ways = degree if links == "directed" else degree // 2
    yield _arithmetic("kautz", servers, degree, links, (-ways, [-a for a in range(1, ways + 1)]))


def de_bruijn(servers: int, degree: int, links: str) -> Iterator[DirectWiring]:
    """Yield the generalized de Bruijn wiring: server x sends to d·x + a mod n, a = 0 .. d - 1."""
    ways = degree if links == "directed" else degree // 2
    yield _arithmetic("de-bruijn", servers, degree, links, (ways, list(range(ways))))


def _arithmetic(
    family: str, servers: int, degree: int, links: str, rule: tuple[int, list[int]]
) -> DirectWiring:
    factor, added = rule
    src = np.repeat(np.arange(servers), len(added))
    dst = (factor * src + np.tile(added, servers)) % servers
    # join those that would be joined to themselves in a ring; where there is one only, it stays alone
    loops = np.flatnonzero(src == dst)
    if len(loops):
        most = int(np.bincount(src[loops]).max())
        dst[loops] = np.roll(src[loops], -most)
    arcs = src, dst
    if links == "duplex":
        arcs = both_ways(arcs)
    return wiring_of_arcs(family, links, servers, degree, arcs, {"factor": factor, "added": added})
