"""Turn a circulant so that the pairs with the most model-parallel bytes are the nearest."""

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.finder.totient_perms import totient_perms
from topoopt.routing import coin_change_mod
from topoopt.topologies import stride_offsets
from topoopt.workloads import Traffic

_ENTRIES_AT_ONCE = 1 << 22
_LARGEST = 8192  # servers: the search is quadratic


def demand_by_distance(traffic: Traffic) -> Floats:
    """Return the model-parallel bytes over each distance (dst - src) mod n, shape (servers,).

    An all-to-all group counts, for each distance, the pairs of members that far apart: the circular
    correlation of its membership with itself, in O(n log n) and without a matrix of pairs.
    """
    servers = traffic.servers
    total = np.zeros(servers)
    for group in traffic.alltoall:
        member = np.zeros(servers)
        member[list(group.members)] = 1.0
        pairs = np.fft.irfft(np.abs(np.fft.rfft(member)) ** 2, servers)
        total += np.rint(pairs) * group.bytes_per_pair
    distance = (traffic.transfers.dst - traffic.transfers.src) % servers
    total += np.bincount(distance, traffic.transfers.size_bytes, minlength=servers)
    total[0] = 0.0
    return total


def fit_demand(
    size: int,
    strides: tuple[int, ...],
    links: str,
    also: tuple[int, ...],
    demand_bytes: Floats,
) -> tuple[int, ...]:
    """Return the strides times the unit u (mod size) that minimize bytes × hops; u = 1 if none is better.

    Above 8,192 servers they are left as they are.

    Multiplying every stride by a u without a factor in common with ``size`` renumbers the servers, so
    diameter and average hops stay; the distance D becomes as long as D/u was.

    Parameters
    ----------
    demand_bytes : float64 array, shape (size,)
        See :func:`demand_by_distance`.
    """
    if size > _LARGEST or (demand_bytes[1:] == demand_bytes[1]).all():
        return strides
    units = totient_perms(size)
    if links == "duplex":
        units = units[2 * units <= size]
    hops = coin_change_mod(size, tuple(stride_offsets(size, strides + also, links))).distance
    distances = np.flatnonzero(hops > 1)  # what is not direct
    blocks = np.array_split(units, 1 + len(units) * size // _ENTRIES_AT_ONCE)
    extra = np.concatenate(
        [demand_bytes[block[:, None] * distances % size] @ (hops[distances] - 1.0) for block in blocks]
    )
    best = int(np.argmin(extra))
    if extra[best] >= extra[0] * (1 - 1e-9):
        return strides
    turned = np.array(strides) * units[best] % size
    return tuple(sorted((np.minimum(turned, size - turned) if links == "duplex" else turned).tolist()))
