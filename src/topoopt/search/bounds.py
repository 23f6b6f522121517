"""How good could it be: iteration times that no degree-d topology can beat for a given strategy.

Every byte has a *release*: the earliest moment at which it can exist (:mod:`topoopt.search.earliest`). Whatever is
released at r or later leaves after r, so r + bytes ÷ bandwidth bounds the end of the iteration, for each server's own
interfaces (injection bound) and for all links together, where a byte that must travel h hops counts h times.
No graph of degree d has fewer hops than Moore's tree: d servers at one hop, d(d-1) at two (directed: d²), …
An AllReduce of M bytes over g members puts at least 2(g-1)·M on the wire, one hop each; every member sends
2(g-1)/g·M of it where it is run evenly (ring, halving-doubling, multi-ring).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from topoopt.hardware import ClusterSpec
from topoopt.plan import Bounds

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

RELEASES = 32
"""Moments at which the average-hop bound is tried; any subset of the releases gives a valid bound."""


@dataclass(frozen=True, eq=False)
class Released:
    """Bytes with the moments at which they exist, all arrays one-dimensional.

    Attributes
    ----------
    src, dst, size_bytes, release_s
        Point-to-point transfers, shape (transfers,).
    member, member_bytes, member_release_s
        What each member of each AllReduce has to send, 2(g-1)/g·M, shape (memberships,).
    """

    src: Ints
    dst: Ints
    size_bytes: Floats
    release_s: Floats
    member: Ints
    member_bytes: Floats
    member_release_s: Floats


def lower_bounds(cluster: ClusterSpec, compute_s: float, released: Released) -> Bounds:
    """Return the three bounds; ``compute_s`` is the least time of the computation with free communication."""
    return Bounds(compute_s, injection_bound_s(cluster, released), average_hop_bound_s(cluster, released))


def injection_bound_s(cluster: ClusterSpec, released: Released) -> float:
    """Return the bound of the busiest server's interfaces, outward or inward."""
    bytes_per_s = cluster.server_bandwidth_bps / 8
    sizes = np.concatenate([released.size_bytes, released.member_bytes])
    releases = np.concatenate([released.release_s, released.member_release_s])
    bound_s = 0.0
    narrow = (
        np.uint16 if cluster.servers <= 1 << 16 else np.int64
    )  # 16 bits are sorted by radix, in a tenth of the time
    latest = np.argsort(-releases, kind="stable")
    for ends in (released.src, released.dst):
        servers = np.concatenate([ends, released.member]).astype(narrow)
        order = latest[np.argsort(servers[latest], kind="stable")]
        for rows in np.split(order, np.flatnonzero(servers[order[1:]] != servers[order[:-1]]) + 1):
            if len(rows):
                later_bytes = np.cumsum(sizes[rows])
                bound_s = max(bound_s, float((releases[rows] + later_bytes / bytes_per_s).max()))
    return bound_s


def average_hop_bound_s(cluster: ClusterSpec, released: Released) -> float:
    """Return the bound of all links together, with Moore's hops for the transfers."""
    bytes_per_s = cluster.servers * cluster.server_bandwidth_bps / 8
    moments = np.unique(np.concatenate([released.release_s, released.member_release_s]))
    if len(moments) > RELEASES:
        moments = moments[np.linspace(0, len(moments) - 1, RELEASES).astype(int)]
    pairs, pair = np.unique(released.src * cluster.servers + released.dst, return_inverse=True)
    turn = np.searchsorted(moments, released.release_s, side="right") - 1
    by_turn = np.argsort(turn.astype(np.uint16), kind="stable")
    begin = np.searchsorted(turn[by_turn], np.arange(len(moments) + 1))
    demand, bound_s = np.zeros(len(pairs)), 0.0
    for index, moment in reversed(list(enumerate(moments))):
        here = by_turn[begin[index] : begin[index + 1]]
        demand += np.bincount(pair[here], released.size_bytes[here], minlength=len(pairs))
        hop_bytes = _moore_hop_bytes(cluster, pairs, demand)
        hop_bytes += released.member_bytes[released.member_release_s >= moment].sum()
        bound_s = max(bound_s, float(moment + hop_bytes / bytes_per_s))
    return bound_s


def moore_hops(servers: int, degree: int, links: str) -> Ints:
    """Return the fewest hops to the 1st, 2nd, … other server in any graph of this degree, shape (servers-1,).

    Examples
    --------
    >>> moore_hops(8, 3, "duplex").tolist()
    [1, 1, 1, 2, 2, 2, 2]
    """
    hops = np.empty(servers - 1, np.int64)
    reached, fresh, distance = 0, degree, 1
    while reached < servers - 1:
        hops[reached : reached + fresh] = distance
        reached += fresh
        fresh = max(fresh * (degree if links == "directed" else degree - 1), 1)
        distance += 1
    return hops


def _moore_hop_bytes(cluster: ClusterSpec, pairs: Ints, demand: Floats) -> float:
    """Return bytes × hops when every source reaches its heaviest destinations first; pairs go by source."""
    pairs, demand = pairs[demand > 0], demand[demand > 0]
    order = np.lexsort((-demand, pairs // cluster.servers))
    sources = (pairs // cluster.servers)[order]
    rank = np.arange(len(order)) - np.searchsorted(sources, sources)
    return float(demand[order] @ moore_hops(cluster.servers, cluster.degree, cluster.links)[rank])
