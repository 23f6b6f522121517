"""Ranks on the servers of a wiring, such that those with the most bytes for each other are the nearest.

This is ours: a symmetric wiring is judged by a uniform all-to-all, and demand that is not uniform decides which of its
servers stand next to each other.
"""

from dataclasses import replace

import numpy as np

from topoopt.base.arrays import Floats, Ints, Ints32
from topoopt.finder.placement_kernel import anneal_places
from topoopt.topologies import DirectWiring, WiredRing, hops_from, wiring_of_arcs
from topoopt.workloads import Traffic

_LARGEST = 2048
"""Servers; of more the hops of all pairs take longer than a placement gains."""
_MOST_ENTRIES = 4_000_000
_VISITS = 5_000_000
"""Entries of demand that are looked at: 30 ms or so."""
_STEPS_A_SERVER = 1000
_COOLS = 1e-3
_EVEN = 0.25
"""Standard deviation over mean up to which the demand of all pairs counts as uniform."""
_WORTH = 0.01
"""Of bytes × hops, what a placement gains at least: each one costs a wiring its symmetry."""


def placed(wiring: DirectWiring, traffic: Traffic, seed: int) -> DirectWiring:
    """Return the wiring with its servers renumbered for the traffic; itself where that gains nothing.

    The recipe then says the ``place`` of each server in the wiring as it was.
    """
    demand = _demand(traffic)
    if demand is None:
        return wiring
    hops = hops_from(wiring.topology(), np.arange(wiring.servers))
    if (hops < 0).any():
        return wiring
    src, dst, size_bytes = demand
    place = _annealed(traffic.servers, src, dst, size_bytes, hops, seed)
    before, after = (float(size_bytes @ hops[at[src], at[dst]]) for at in (np.arange(len(place)), place))
    if after > before * (1 - _WORTH):
        return wiring
    rank = np.argsort(place)
    tail, head = wiring.arcs
    made = wiring_of_arcs(
        wiring.family,
        wiring.links,
        wiring.servers,
        wiring.degree,
        (rank[tail], rank[head]),
        {**wiring.recipe, "place": place.tolist()},
    )
    return replace(made, rings=tuple(WiredRing(rank[ring.walk], ring.share) for ring in wiring.rings))


def _demand(traffic: Traffic) -> tuple[Ints, Ints, Floats] | None:
    """Return who sends how much to whom, beside what all do alike; None where there is nothing else.

    An AllReduce of some counts as if they sent its bytes to each other evenly: their rings are shorter where they are
    near.
    """
    servers = traffic.servers
    parts = [(traffic.transfers.src, traffic.transfers.dst, traffic.transfers.size_bytes.astype(np.float64))]
    groups = [(group.members, float(group.bytes_per_pair)) for group in traffic.alltoall]
    groups += [
        (group.members, group.wire_bytes / len(group.members) / max(len(group.members) - 1, 1))
        for group in traffic.allreduce
    ]
    groups = [(members, each) for members, each in groups if len(members) < servers]
    entries = sum(len(members) ** 2 for members, _ in groups) + len(traffic.transfers)
    if not 0 < entries <= _MOST_ENTRIES or servers > _LARGEST:
        return None
    for members, each_bytes in groups:
        ends = np.array(members, np.int64)
        pair = np.repeat(ends, len(ends)), np.tile(ends, len(ends))
        parts.append((*pair, np.full(len(pair[0]), each_bytes)))
    src, dst, size_bytes = (np.concatenate(column) for column in zip(*parts, strict=True))
    key, row = np.unique(src * servers + dst, return_inverse=True)
    summed = np.asarray(np.bincount(row, size_bytes, minlength=len(key)), np.float64)
    summed[key // servers == key % servers] = 0.0
    pairs = servers * (servers - 1)
    mean = summed.sum() / pairs
    if (summed**2).sum() / pairs <= (1 + _EVEN**2) * mean**2:
        return None
    return key // servers, key % servers, summed


def _annealed(servers: int, src: Ints, dst: Ints, size_bytes: Floats, hops: Ints32, seed: int) -> Ints:
    """Return the place of each rank."""
    ends, others = np.concatenate([src, dst]), np.concatenate([dst, src])
    nothing = np.zeros(len(src))
    key, row = np.unique(ends * servers + others, return_inverse=True)
    there = np.asarray(np.bincount(row, np.concatenate([size_bytes, nothing]), len(key)), np.float64)
    back = np.asarray(np.bincount(row, np.concatenate([nothing, size_bytes]), len(key)), np.float64)
    first = np.searchsorted(key, np.arange(servers + 1) * servers)
    place = np.arange(servers)
    state = np.array([np.random.default_rng((seed, servers)).integers(1, 2**62)], np.uint64)
    whom, between = (key % servers).astype(np.int32), np.ascontiguousarray(hops)
    steps = max(servers, min(_STEPS_A_SERVER * servers, _VISITS * servers // (2 * len(key))))
    hot = float(size_bytes.sum()) / servers
    cooling = _COOLS ** (1 / steps)
    anneal_places(first, whom, there, back, between, place, state, steps, hot, cooling)
    anneal_places(first, whom, there, back, between, place, state, steps // 4, 0.0, 1.0)
    return place
