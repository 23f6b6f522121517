"""Rings of any group on any fabric: short tours of the members, each edge laid along a route."""

import itertools
from collections import Counter

import numpy as np

from topoopt.base.arrays import Floats, Ints, Ints32
from topoopt.base.errors import NoRoute
from topoopt.finder.tours_kernel import short_tour
from topoopt.routing import Path, Routes
from topoopt.topologies import Ring, Topology, hops_from

_LARGEST_TABLE = 1 << 26  # entries of the hop table: above, members are visited in order
_LARGEST_TWO_OPT = 1024  # members: improving a tour is quadratic a pass


_Loads = Counter[tuple[int, int]]
"""How often each link has been walked by the rings laid so far."""


def member_order_ring(routes: Routes, members: Ints) -> Ring:
    """Return the ring in member order; right where switches join the servers and any order is as good."""
    order = tuple(members.tolist())
    walk: list[int] = []
    for src, dst in zip(order, (*order[1:], order[0]), strict=True):
        walk.extend(min(routes.paths(src, dst), key=lambda path: path.hops).nodes[:-1])
    return Ring(1, tuple(walk), order)


def tours(topology: Topology, routes: Routes, members: Ints, limit: int, seed: int) -> tuple[Ring, ...]:
    """Return up to ``limit`` short rings that share as few links as they can.

    AllReduce traffic is mutable, so the members may come in any order. Each tour starts with the nearest
    member not yet visited, over links the earlier tours left unused if it can, and is then improved by
    2-opt. Where every link has one the other way, each tour is also walked backwards.

    Raises
    ------
    NoRoute
        If the members cannot reach each other.
    """
    if len(members) * topology.nodes > _LARGEST_TABLE:
        return (member_order_ring(routes, members),)
    hops = hops_from(topology, members)[:, members]
    if (hops < 0).any():
        row, column = (int(index) for index in np.argwhere(hops < 0)[0])
        raise NoRoute(f"ring: server {members[row]} cannot reach server {members[column]} of its group")
    rng = np.random.default_rng(seed)
    both_ways = bool((topology.link_ids(topology.dst, topology.src) >= 0).all())
    two_opt = both_ways and len(members) <= _LARGEST_TWO_OPT
    cost = hops.astype(np.float64)
    loads, rings = _Loads(), list[Ring]()
    order = np.empty(len(members), np.int64)
    while len(rings) < limit:
        short_tour(cost, int(rng.integers(len(members))), two_opt, order, np.zeros(len(members), np.int64))
        ring = _lay(routes, members, order, hops, loads)
        rings += [ring, ring.backwards()][: limit - len(rings) if both_ways else 1]
        for walked in rings[-2:] if both_ways else rings[-1:]:
            loads.update(zip(*(nodes.tolist() for nodes in walked.edges()), strict=True))
        _discourage(cost, order, both_ways, 0.5 / limit)
    return tuple(rings)


def _discourage(cost: Floats, order: Ints, both_ways: bool, by: float) -> None:
    """Make a used pair cost more than an unused one of equal hops, in all less than one more hop."""
    after = np.roll(order, -1)
    cost[order, after] += by
    if both_ways:
        cost[after, order] += by


def _lay(
    routes: Routes,
    members: Ints,
    order: Ints,
    hops: Ints32,
    loads: _Loads,
) -> Ring:
    """Return the ring that visits the members in this order, over the least loaded of the shortest paths."""
    visited = members[order].tolist()
    direct = hops[order, np.roll(order, -1)] == 1
    walk: list[int] = []
    for i, (src, dst) in enumerate(zip(visited, [*visited[1:], visited[0]], strict=True)):
        walk.append(src)
        if not direct[i]:
            path = min(routes.paths(src, dst), key=lambda path: (path.hops, _most_walked(loads, path)))
            walk.extend(path.nodes[1:-1])
    return Ring(0, tuple(walk), tuple(visited))


def _most_walked(loads: _Loads, path: Path) -> int:
    return max(loads[link] for link in itertools.pairwise(path.nodes))
