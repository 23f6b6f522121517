"""The torus: servers on a 2D or 3D grid with wrap-around, as square as their number allows."""

import numpy as np

from topoopt.errors import InvalidInput
from topoopt.topology.families.family import check_numbers
from topoopt.topology.topology import DEFAULT_LATENCY_S, Topology, topology_from_arrays


def torus(
    servers: int, server_bandwidth_bps: float, latency_s: float = DEFAULT_LATENCY_S, dimensions: int = 2
) -> Topology:
    """Return the torus; the bandwidth of a server is divided equally over its distinct neighbors.

    A server's number counts along the last axis first. An axis of length 1 is dropped (a prime number of
    servers is a ring) and on one of length 2 both directions lead to the same neighbor, which counts once.

    Raises
    ------
    InvalidInput
        If ``dimensions`` is not 1, 2 or 3.
    """
    check_numbers("torus", servers, 1, server_bandwidth_bps, latency_s)
    shape = torus_shape(servers, dimensions)
    grid = np.arange(servers).reshape(shape)
    steps = [(axis, way) for axis, size in enumerate(shape) for way in (-1, 1)[: min(size - 1, 2)]]
    dst = np.concatenate([np.roll(grid, way, axis).ravel() for axis, way in steps])
    count = len(dst)
    return topology_from_arrays(
        "torus",
        servers,
        np.tile(np.arange(servers), len(steps)),
        dst,
        np.full(count, server_bandwidth_bps / len(steps)),
        np.full(count, latency_s),
    )


def torus_shape(servers: int, dimensions: int) -> tuple[int, ...]:
    """Return the most square grid of that many servers (smallest sum of sides), longest side first.

    Examples
    --------
    >>> torus_shape(128, 2), torus_shape(128, 3), torus_shape(13, 2)
    ((16, 8), (8, 4, 4), (13,))
    """
    if dimensions not in (1, 2, 3):
        raise InvalidInput(f"torus: dimensions must be 1, 2 or 3, got {dimensions}")
    sides = _most_square(servers, dimensions)
    return tuple(sorted((side for side in sides if side > 1), reverse=True))


def _most_square(size: int, dimensions: int) -> tuple[int, ...]:
    if dimensions == 1:
        return (size,)
    splits = [
        (side, *_most_square(size // side, dimensions - 1))
        for side in range(1, int(size**0.5) + 1)
        if size % side == 0
    ]
    return min(splits, key=lambda sides: (sum(sides), sides))
