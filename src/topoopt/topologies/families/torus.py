"""Tori, other Cartesian products of circulants (hypercubes, Hamming graphs), and the full mesh."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import isqrt

import numpy as np

from topoopt.base.arrays import Ints
from topoopt.base.errors import InvalidInput
from topoopt.catalog import DEFAULT_LATENCY_S
from topoopt.topologies.direct_wiring import DirectWiring, wiring_of_arcs
from topoopt.topologies.families.circulant import (
    best_of_all_strides,
    circulant_wiring,
    circulants_exist,
    stride_offsets,
)
from topoopt.topologies.metrics import moore_average_hops, wiring_hops
from topoopt.topologies.topology import Topology, check_numbers, topology_from_arrays

_MOST_SERVERS = 4096  # 16.8 million directed links
Factor = tuple[int, tuple[int, ...]]
"""Servers and strides of a circulant."""


def torus(
    servers: int,
    server_bandwidth_bps: float,
    latency_s: float = DEFAULT_LATENCY_S,
    dimensions: int = 2,
    most_neighbors: int = 6,
    twisted: bool = False,
) -> Topology:
    """Return the torus; the bandwidth of a server is divided equally over its distinct neighbors.

    A server's number counts along the last axis first. An axis of length 1 is dropped (a prime number of
    servers is a ring) and on one of length 2 both directions lead to the same neighbor, which counts once.

    Parameters
    ----------
    dimensions, most_neighbors : int
        See :func:`torus_shape`.
    twisted : bool
        Wrap-around links over a short side return ``a`` steps farther along the long one in a 2a × a or 2a × a × a
        grid, so that the farthest pairs are nearer: the rectangular and the prismatic doubly twisted torus [1]_.

    Raises
    ------
    InvalidInput
        If ``dimensions`` is not 1, 2 or 3, or no grid of these servers can be twisted.

    References
    ----------
    .. [1] J. Cámara et al., "Twisted torus topologies for enhanced interconnection networks", IEEE
       Transactions on Parallel and Distributed Systems, 2010.
    """
    check_numbers("torus", servers, 1, server_bandwidth_bps, latency_s)
    if twisted:
        shape = _twistable_shape(servers, dimensions, most_neighbors)
    else:
        shape = torus_shape(servers, dimensions, most_neighbors)
    grid = np.arange(servers).reshape(shape)
    steps = [
        (axis, way)
        for axis, size in enumerate(shape)
        for way in (-1, 1)[: 2 if twisted else min(size - 1, 2)]
    ]
    dst = np.concatenate([_shifted(grid, axis, way, twisted and axis > 0).ravel() for axis, way in steps])
    src = np.tile(np.arange(servers), len(steps))
    return topology_from_arrays("torus", servers, src, dst, server_bandwidth_bps / len(steps), latency_s)


def _twistable_shape(servers: int, dimensions: int, most_neighbors: int) -> tuple[int, ...]:
    for axes in (3, 2):
        side = round((servers / 2) ** (1 / axes))
        if side > 1 and 2 * side**axes == servers and axes <= dimensions and 2 * axes <= most_neighbors:
            return (2 * side,) + (side,) * (axes - 1)
    raise InvalidInput(
        "torus: a twisted one needs 2a² servers and 4 ports (8, 18, 32, …) or 2a³ and 6 ports (16, 54, 128, …), "
        f"got {servers} servers of {most_neighbors} ports in {dimensions} dimensions"
    )


def _shifted(grid: Ints, axis: int, way: int, twisted: bool) -> Ints:
    moved = np.roll(grid, way, axis)
    if twisted:
        edge = (slice(None),) * axis + (0 if way == 1 else -1,)
        moved[edge] = np.roll(moved[edge], grid.shape[0] // 2, axis=0)
    return moved


def torus_shape(servers: int, dimensions: int, most_neighbors: int = 6) -> tuple[int, ...]:
    """Return the most square grid of that many servers (smallest sum of sides), longest side first.

    Parameters
    ----------
    dimensions : int
        Most axes of the grid.
    most_neighbors : int
        Ports of a server: grids with more neighbors are excluded, except a ring of two neighbors.

    Examples
    --------
    >>> torus_shape(128, 2), torus_shape(128, 3), torus_shape(13, 2)
    ((16, 8), (8, 4, 4), (13,))
    >>> [torus_shape(128, 3, ports) for ports in (2, 3, 4, 5)]
    [(128,), (64, 2), (16, 8), (8, 8, 2)]
    """
    if dimensions not in (1, 2, 3):
        raise InvalidInput(f"torus: dimensions must be 1, 2 or 3, got {dimensions}")
    reachable = [
        sides
        for sides in _grids(servers, dimensions)
        if sum(min(side - 1, 2) for side in sides) <= max(most_neighbors, 2)
    ]
    sides = min(reachable, key=lambda sides: (sum(sides), len(sides), sides))
    return tuple(sorted(sides, reverse=True))


def _grids(servers: int, dimensions: int, shortest: int = 2) -> Iterator[tuple[int, ...]]:
    """Yield the factorizations of a number into at most this many ascending sides, none of them 1."""
    yield (servers,)
    if dimensions > 1:
        for side in range(shortest, int(servers**0.5) + 1):
            if servers % side == 0:
                yield from ((side, *others) for others in _grids(servers // side, dimensions - 1, side))


def tori_exist(servers: int, degree: int, links: str) -> bool:
    """Return whether there is a grid with this many axes, none of them shorter than three servers."""
    return links == "duplex" and degree % 2 == 0 and degree >= 4 and bool(_sides(servers, degree // 2))


def tori(servers: int, degree: int, links: str) -> Iterator[DirectWiring]:
    """Yield the most square grid with wrap-around: a product of rings."""
    yield product_wiring("torus", [(side, (1,)) for side in _sides(servers, degree // 2)], links)


def twisted_tori_exist(servers: int, degree: int, links: str) -> bool:
    """Return whether there is a grid 2a × a (4 interfaces) or 2a × a × a (6)."""
    axes = degree // 2
    side = round((servers / 2) ** (1 / axes)) if axes in (2, 3) else 0
    return links == "duplex" and degree in (4, 6) and side > 1 and 2 * side**axes == servers


def twisted_tori(servers: int, degree: int, links: str) -> Iterator[DirectWiring]:
    """Yield the torus whose long axis moves on by half where a short one is crossed."""
    made = torus(servers, float(degree), 0.0, degree // 2, degree, twisted=True)
    src, dst = (np.repeat(end, made.ports).astype(np.int64) for end in (made.src, made.dst))
    side = round((servers / 2) ** (2 / degree))
    recipe = {"sides": [2 * side] + [side] * (degree // 2 - 1)}
    yield wiring_of_arcs("twisted-torus", links, servers, degree, (src, dst), recipe)


def _sides(servers: int, axes: int, shortest: int = 3) -> tuple[int, ...]:
    """Return the sides of least sum, ascending; empty where there are none."""
    if axes == 1:
        return (servers,) if servers >= shortest else ()
    found = [
        (side, *rest)
        for side in range(shortest, round(servers ** (1 / axes)) + 1)
        if servers % side == 0 and (rest := _sides(servers // side, axes - 1, side))
    ]
    return min(found, key=sum, default=())


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
    """Return mean hops, counting a server itself, and factors; ``whole`` allows a single factor."""
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


def full_mesh(servers: int, server_bandwidth_bps: float, latency_s: float = DEFAULT_LATENCY_S) -> Topology:
    """Return the mesh; the bandwidth of a server is divided equally over the n-1 others.

    Raises
    ------
    InvalidInput
        Above 4096 servers, where the links alone would fill memory.
    """
    check_numbers("full-mesh", servers, 1, server_bandwidth_bps, latency_s)
    if servers > _MOST_SERVERS:
        raise InvalidInput(f"full-mesh: at most {_MOST_SERVERS} servers, got {servers}; use another fabric")
    src, dst = np.divmod(np.arange(servers * servers), servers)
    src, dst = src[src != dst], dst[src != dst]
    each_bps = server_bandwidth_bps / (servers - 1)
    return topology_from_arrays("full-mesh", servers, src, dst, each_bps, latency_s)
