"""Cartesian products of circulants: tori, hypercubes, Hamming graphs and all between, with few long cables."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import isqrt

import numpy as np

from topoopt.base.arrays import Ints
from topoopt.topologies.direct_wiring import DirectWiring
from topoopt.topologies.families.circulant import (
    best_of_all_strides,
    circulant_wiring,
    circulants_exist,
    stride_offsets,
)
from topoopt.topologies.metrics import moore_average_hops, wiring_hops

Factor = tuple[int, tuple[int, ...]]
"""Servers and strides of a circulant."""


def products_exist(servers: int, degree: int, links: str) -> bool:
    """Return whether servers and interfaces can be divided between two circulants."""
    return any(True for _ in _splits(servers, degree, links))


def products(servers: int, degree: int, links: str) -> Iterator[DirectWiring]:
    """Yield the product of fewest hops: hops of a product are the sum of those of its factors."""
    found = _best(servers, degree, links, False)
    if found is not None:
        yield product_wiring("product", found[1], links)


def product_wiring(family: str, factors: Sequence[Factor], links: str) -> DirectWiring:
    """Return the product of circulants; the largest of them is the group that turns it into itself."""
    ordered = sorted(factors)
    sizes = [size for size, _ in ordered]
    group = sizes[-1]
    orbits = int(np.prod(sizes[:-1]))
    columns: list[tuple[Ints, Ints]] = []
    orbit = np.arange(orbits)
    below = 1
    for index, (size, strides) in enumerate(ordered):
        for offset in stride_offsets(size, strides, links):
            if index == len(ordered) - 1:
                columns.append((orbit, np.full(orbits, -offset % group)))
            else:
                place = orbit // below % size
                columns.append(
                    (orbit + ((place - offset) % size - place) * below, np.zeros(orbits, np.int64))
                )
        below *= size
    near, shift = (np.stack([column[side] for column in columns], axis=1) for side in (0, 1))
    recipe = {"factors": [{"servers": size, "strides": list(strides)} for size, strides in ordered]}
    return DirectWiring(family, links, group, near, shift, recipe)


@lru_cache(maxsize=4096)
def _best(
    servers: int, degree: int, links: str, whole: bool = True
) -> tuple[float, tuple[Factor, ...]] | None:
    """Return mean hops, a server's way to itself counted, and factors; ``whole`` allows one factor alone."""
    found: list[tuple[float, tuple[Factor, ...]]] = []
    if whole and circulants_exist(servers, degree, links):
        strides = best_of_all_strides(servers, degree, links)
        hops = wiring_hops(circulant_wiring(servers, strides, links)).average_hops
        found.append((hops * (servers - 1) / servers, ((servers, strides),)))
    for size, ports in _splits(servers, degree, links):
        least = sum(
            moore_average_hops(n, d, links) * (n - 1) / n for n, d in _pair(servers, degree, size, ports)
        )
        if found and least >= min(found)[0]:
            continue
        parts = [_best(n, d, links) for n, d in _pair(servers, degree, size, ports)]
        if all(part is not None for part in parts):
            known = [part for part in parts if part is not None]
            found.append((sum(hops for hops, _ in known), sum((factors for _, factors in known), ())))
    return min(found, default=None)


def _pair(servers: int, degree: int, size: int, ports: int) -> tuple[tuple[int, int], tuple[int, int]]:
    return (size, ports), (servers // size, degree - ports)


def _splits(servers: int, degree: int, links: str) -> Iterator[tuple[int, int]]:
    """Yield servers and interfaces of the smaller of two factors."""
    for size in range(2, isqrt(servers) + 1):
        if servers % size:
            continue
        for ports in range(1, degree):
            if all(circulants_exist(n, d, links) for n, d in _pair(servers, degree, size, ports)[:1]) and (
                circulants_exist(servers // size, degree - ports, links)
                or any(True for _ in _splits(servers // size, degree - ports, links))
            ):
                yield size, ports
