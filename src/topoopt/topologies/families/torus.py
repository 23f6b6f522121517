"""The torus: servers on a grid of up to three dimensions with wrap-around, as square as number and ports allow."""

from collections.abc import Iterator

import numpy as np

from topoopt.base.arrays import Ints
from topoopt.base.errors import InvalidInput
from topoopt.catalog import DEFAULT_LATENCY_S
from topoopt.topologies.direct_wiring import DirectWiring, wiring_of_arcs
from topoopt.topologies.families.product import product_wiring
from topoopt.topologies.topology import Topology, check_numbers, topology_from_arrays


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
        Who leaves a 2a × a or 2a × a × a grid over a short side comes back a steps farther along the long
        one, and farthest pairs are nearer: the rectangular and the prismatic doubly twisted torus [1]_.

    Raises
    ------
    InvalidInput
        If ``dimensions`` is not 1, 2 or 3, or no grid of so many servers can be twisted.

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
    """Return every server's neighbor along an axis."""
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
        Ports of a server: no grid in which it has more neighbors is taken. A ring of two neighbors always is.

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
        sides for sides in _grids(servers, dimensions) if _neighbors(sides) <= max(most_neighbors, 2)
    ]
    sides = min(reachable, key=lambda sides: (sum(sides), len(sides), sides))
    return tuple(sorted(sides, reverse=True))


def _grids(servers: int, dimensions: int, shortest: int = 2) -> Iterator[tuple[int, ...]]:
    """Yield the ways to write a number as a product of so many sides or fewer, ascending, none of 1."""
    yield (servers,)
    if dimensions > 1:
        for side in range(shortest, int(servers**0.5) + 1):
            if servers % side == 0:
                yield from ((side, *others) for others in _grids(servers // side, dimensions - 1, side))


def _neighbors(sides: tuple[int, ...]) -> int:
    return sum(min(side - 1, 2) for side in sides)


def tori_exist(servers: int, degree: int, links: str) -> bool:
    """Return whether there is a grid of so many axes, none of them shorter than three servers."""
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
