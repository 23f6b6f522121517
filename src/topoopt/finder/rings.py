"""Lay the AllReduce rings of any group on any fabric."""

import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import islice
from math import gcd

import numpy as np

from topoopt.base.arrays import Ints, Ints32
from topoopt.base.errors import InvalidInput, NoRoute
from topoopt.finder.hamiltonian_rings import hamiltonian_rings, one_way_rings
from topoopt.finder.rings_kernel import short_tour
from topoopt.finder.totient_perms import totient_perms
from topoopt.routing import ROUTING, Path, Routes, coin_change_mod, connection_uniform, path_arrays
from topoopt.topologies import DirectWiring, Ring, Topology, hops_from
from topoopt.workloads import Traffic

Pattern = tuple[int, tuple[int, ...]]
"""A stride on positions, and the coins whose sum is that many positions."""
_MOST_STRIDES = 64
_MOST_TIES = 64
_LARGEST_TABLE = 1 << 26  # entries of the hop table: above, members are visited in order
_LARGEST_TWO_OPT = 1024  # members: improving a tour is quadratic a pass
_Loads = Counter[tuple[int, int]]
"""Number of walks of the rings laid so far over each link."""
_Way = tuple[float, Callable[[], tuple[Ring, ...]]]
"""Lower bound on the busiest link's share of a layout method, and the method."""
_WIRED_FOR_STRIDES = ("circulant", "direct")
"""Topologies wired by TopologyFinder; links that belong to no ring of the group are there for other traffic."""


def lay_rings(
    topology: Topology, routes: Routes, members: Sequence[int], rings: int, seed: int = 0
) -> tuple[Ring, ...]:
    """Return at least one and at most ``rings`` rings, over which the group's AllReduce is split equally.

    Known rings of all servers are all used as they are. A fabric with switches gets a ring in member order per
    link of a server. A topology by TopologyFinder gets the stride rings over direct links, as in the paper; a
    regular sub-group of a circulant gets rings over shortest coin sequences. Elsewhere the method with the
    smallest load of the busiest link is used: stride rings over direct links, both directions of edge-disjoint
    Hamiltonian cycles (one way where fibers have no reverse), short tours, or one ring in member order. A
    sub-group with stride rings gets no others with relays, since these load its neighbors' links.

    Parameters
    ----------
    members : sequence of int
        Servers of the group, in any order.
    rings : int
        Most rings wanted; a server can use at most its degree.
    seed : int
        Random seed of the search for cycles and of ties between tours; other rings are deterministic.

    Raises
    ------
    InvalidInput
        If the group has fewer than two members or one that is no server, or ``rings`` is below 1.
    NoRoute
        If the members cannot reach each other.
    """
    group = np.unique(np.asarray(members, np.int64))
    if len(group) < 2 or group[0] < 0 or group[-1] >= topology.servers:
        raise InvalidInput(
            f"ring: a group needs at least 2 members out of 0..{topology.servers - 1}, got {tuple(members)}"
        )
    if rings < 1:
        raise InvalidInput(f"ring: at least 1 ring must be laid, got {rings}")
    if topology.nodes > topology.servers:
        return switch_rings(topology, routes, group, rings, seed)
    everyone = len(group) == topology.servers
    if everyone and topology.rings:
        return topology.rings
    direct = direct_rings(topology, group, rings)
    if direct and topology.family in _WIRED_FOR_STRIDES:
        return direct
    if is_regular(topology, group) and not everyone:
        return coin_rings(topology, group, rings)
    least = _least_share(topology, group, rings)
    ways: list[_Way] = [
        (least, lambda: direct),
        (least, lambda: hamiltonian_rings(topology, group, rings, seed)),
    ]
    if not topology.both_ways:
        ways.append((least, lambda: one_way_rings(topology, group, rings, seed)))
    if is_regular(topology, group):
        ways.append((least, lambda: coin_rings(topology, group, rings)))
    if everyone or not direct:
        ways.append((least, lambda: tours(topology, routes, group, rings, seed)))
        ways.append((1 / int(topology.ports.max(initial=1)), lambda: (member_order_ring(routes, group),)))
    return _least_busy(topology, ways)


def _least_busy(topology: Topology, ways: Sequence[_Way]) -> tuple[Ring, ...]:
    best: tuple[Ring, ...] = ()
    best_share = float("inf")
    for least, lay in ways:
        if best_share > least:
            share, rings = best_start(topology, lay())
            if share < best_share:
                best, best_share = rings, share
    return best


def _least_share(topology: Topology, group: Ints, rings: int) -> float:
    """Return a lower bound on the busiest share: every ring leaves every member at least once.

    Rings come in pairs, there and back. Where all servers take part, pairs that fill all ports but an odd
    one leave one cable at each server, and no ring closes over single cables; so either that port is idle or
    some links are crossed twice.
    """
    ports = int(np.diff(np.concatenate([[0], np.cumsum(topology.ports)])[topology.first_link])[group].min())
    if len(group) == topology.servers > 2 and ports % 2 and 1 < ports <= rings:
        return min(1 / (ports - 1), max(1 / ports, 2 / rings))
    return 1 / max(min(rings, ports), 1)


def switch_rings(
    topology: Topology, routes: Routes, members: Ints, limit: int, seed: int
) -> tuple[Ring, ...]:
    """Return up to ``limit`` rings in member order; any order is as good, as switches are alike to all.

    Where servers have several links, ring i leaves each by its link i and arrives by link i of the next, so that all
    interfaces work at once: on a rail-optimized fabric it stays on rail i, as interface i addresses interface i. Of
    several paths that do so, each edge takes one drawn by the seed, as a switch hashes a connection that lasts.
    """
    paths = path_arrays(routes, members, np.roll(members, -1))
    hops = np.diff(paths.node_first) - 1
    edge = np.repeat(np.arange(len(members)), np.diff(paths.path_first))
    shortest = hops == np.minimum.reduceat(hops, paths.path_first[:-1])[edge]
    second, last = paths.nodes[paths.node_first[:-1] + 1], paths.nodes[paths.node_first[1:] - 2]

    links = int(np.diff(topology.first_link)[members].min())
    order = tuple(members.tolist())
    rings: list[Ring] = []
    for ring in range(max(min(links, limit), 1)):
        switch = topology.dst[topology.first_link[members] + ring]
        by_link = shortest & (second == switch[edge])
        same_rail = by_link & (last == np.roll(switch, -1)[edge])
        by_link = same_rail | by_link & (np.bincount(edge[same_rail], minlength=len(members)) == 0)[edge]
        others = np.bincount(edge[by_link], minlength=len(members)) == 0
        draw = connection_uniform(seed, ring * topology.nodes + members)
        usable = by_link | shortest & others[edge]
        rows = np.flatnonzero(usable)
        count = np.bincount(edge[rows], minlength=len(draw))
        chosen: Ints = rows[np.cumsum(count) - count + (draw * count).astype(np.int64)]
        ends = zip(paths.node_first[chosen].tolist(), paths.node_first[chosen + 1].tolist(), strict=True)
        nodes = [paths.nodes[begin : end - 1] for begin, end in ends]
        rings.append(Ring(1, tuple(np.concatenate(nodes).tolist()), order))
    return tuple(rings)


def member_order_ring(routes: Routes, members: Ints) -> Ring:
    """Return the ring in member order; right where switches join the servers and any order is as good."""
    order = tuple(members.tolist())
    walk: list[int] = []
    for src, dst in zip(order, (*order[1:], order[0]), strict=True):
        walk.extend(min(routes.paths(src, dst), key=lambda path: path.hops).nodes[:-1])
    return Ring(1, tuple(walk), order)


def tours(topology: Topology, routes: Routes, members: Ints, limit: int, seed: int) -> tuple[Ring, ...]:
    """Return up to ``limit`` short rings that share as few links as they can.

    AllReduce traffic is mutable, so the members may come in any order. Each tour starts with the nearest member not
    yet visited, over links the earlier tours left unused if it can, and is then improved by 2-opt. Where every link
    has a reverse, each tour is also used backwards.

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
        by = 0.5 / limit
        after = np.roll(order, -1)
        cost[order, after] += by
        if both_ways:
            cost[after, order] += by
    return tuple(rings)


def _lay(routes: Routes, members: Ints, order: Ints, hops: Ints32, loads: _Loads) -> Ring:
    """Return the ring that visits the members in this order, over the least loaded of the shortest paths."""
    after = np.roll(order, -1)
    visited, far = members[order].tolist(), np.flatnonzero(hops[order, after] != 1)
    rows = path_arrays(routes, members[order[far]], members[after[far]])
    paths, ends = (
        rows.listed(),
        dict(zip(far.tolist(), itertools.pairwise(rows.path_first.tolist()), strict=True)),
    )
    walk: list[int] = []
    for i, src in enumerate(visited):
        walk.append(src)
        if i in ends:
            path = min(paths[slice(*ends[i])], key=lambda path: (path.hops, _most_walked(loads, path)))
            walk.extend(path.nodes[1:-1])
    return Ring(0, tuple(walk), tuple(visited))


def _most_walked(loads: _Loads, path: Path) -> int:
    return max(loads[link] for link in itertools.pairwise(path.nodes))


def coin_rings(topology: Topology, members: Ints, limit: int) -> tuple[Ring, ...]:
    """Return up to ``limit`` rings of a circulant's group s, s + n/k, s + 2n/k, …

    The copies of the group (one for each s) load every link of a circulant equally along each offset.
    """
    size = len(members)
    return tuple(
        _coin_ring(topology.servers, members, stride, coins)
        for stride, coins in coin_patterns(topology.servers, topology.offsets, size, limit)
    )


def is_regular(topology: Topology, members: Ints) -> bool:
    """Whether the members sit on a circulant at equal distances all around."""
    step, rest = divmod(topology.servers, len(members))
    return bool(topology.offsets) and rest == 0 and bool((np.diff(members) == step).all())


@lru_cache(maxsize=1024)
def coin_patterns(servers: int, offsets: tuple[int, ...], size: int, limit: int) -> tuple[Pattern, ...]:
    """Return the patterns of the rings of a sub-group of ``size``, most balanced first.

    Among all strides, those with the fewest hops are kept, with all their shortest coin multisets. Picks are made one
    by one, each with its negation (the same path walked backwards) where all of its coins can be negated, such that
    the offsets are loaded as equally as possible; picks that would load some offset more than fewer rings do are left
    out.

    References
    ----------
    .. [1] W. Wang et al., "TopoOpt", NSDI 2023, Algorithm 4; the authors lay one shortest path and its
       negation, the balance over all ties is ours.

    Examples
    --------
    >>> coin_patterns(12, (1, 5, 7, 11), 4, 2)
    ((1, (5, 11, 11)), (3, (1, 1, 7)))
    """
    table = coin_change_mod(servers, offsets)
    step = servers // size
    strides = totient_perms(size)
    hops = table.distance[strides * step]
    fewest = strides[hops == hops.min()].tolist()
    left = {
        (p, coins): None
        for p in fewest[:_MOST_STRIDES]
        for coins in islice(table.alternatives(p * step), _MOST_TIES)
    }
    load = Counter[int]()
    picked: list[Pattern] = []
    best, best_length = float("inf"), 0
    while left and len(picked) < limit:
        pick = min(left, key=lambda pattern: _load_after(load, pattern[1]))
        stride, coins = pick
        back = tuple(sorted(servers - coin for coin in coins))
        with_negation = (
            [pick] if back == coins or not set(back) <= set(offsets) else [pick, (size - stride, back)]
        )
        for pattern in with_negation[: limit - len(picked)]:
            picked.append(pattern)
            left.pop(pattern, None)
            load.update(pattern[1])
        if max(load.values()) <= best * len(picked) * (1 + 1e-12):
            best, best_length = max(load.values()) / len(picked), len(picked)
    return tuple(picked[:best_length])


def _load_after(load: Counter[int], coins: tuple[int, ...]) -> tuple[int, int]:
    after = (load + Counter(coins)).values()
    return max(after), sum(value * value for value in after)


def _coin_ring(servers: int, members: Ints, stride: int, coins: tuple[int, ...]) -> Ring:
    order = members[np.arange(len(members)) * stride % len(members)]
    passed = np.concatenate([[0], np.cumsum(coins[:-1])]).astype(np.int64)
    walk = (order[:, None] + passed) % servers
    return Ring(stride, tuple(walk.ravel().tolist()), tuple(order.tolist()))


def rings_of_wiring(wiring: DirectWiring, traffic: Traffic, seed: int) -> tuple[Ring, ...]:
    """Return the rings over which an AllReduce of all servers is split equally; none where there is none."""
    if wiring.rings_fill_links:
        return wiring.split_rings()
    everyone = tuple(range(traffic.servers))
    reduced = any(group.members == everyone for group in traffic.allreduce)
    return _searched(wiring, seed) if reduced else ()


def all_rings(wiring: DirectWiring, seed: int) -> tuple[Ring, ...]:
    """Return the rings of all servers, also where it is not known whether they are needed."""
    return wiring.split_rings() if wiring.rings_fill_links else _searched(wiring, seed)


@lru_cache(maxsize=64)
def _searched(wiring: DirectWiring, seed: int) -> tuple[Ring, ...]:
    # As no circulant: strides that make rings are not all that there is where others make rings together.
    topology = replace(wiring.topology(), family=f"{wiring.family} wiring", offsets=())
    routes = ROUTING["k-shortest"](topology, seed)
    return lay_rings(topology, routes, range(wiring.servers), wiring.degree, seed)


def direct_rings(topology: Topology, members: Ints, limit: int) -> tuple[Ring, ...]:
    """Return the stride rings that need no relay, by ascending stride; none if there are none.

    Strides act on positions in the sorted ``members``. Parallel links carry a ring each; of these every
    stride gets its first before any gets its second, up to ``limit`` rings.
    """
    ports_along = []
    size = len(members)
    neighbors = topology.dst[topology.first_link[members[0]] : topology.first_link[members[0] + 1]]
    at = np.searchsorted(members, neighbors)
    inside = at[(at < size) & (members[np.minimum(at, size - 1)] == neighbors)]
    strides_of_first = [stride for stride in inside.tolist() if gcd(stride, size) == 1]
    for stride in strides_of_first:
        links = topology.link_ids(members, np.roll(members, -stride))
        if (links >= 0).all():
            ports_along.append((stride, int(topology.ports[links].min())))
    deepest = max((ports for _, ports in ports_along), default=0)
    chosen = [stride for layer in range(deepest) for stride, ports in ports_along if ports > layer]
    return tuple(_stride_ring(members, stride) for stride in chosen[:limit])


def _stride_ring(members: Ints, stride: int) -> Ring:
    order = tuple(members[np.arange(len(members)) * stride % len(members)].tolist())
    return Ring(stride, order, order)


def busiest_share(topology: Topology, rings: Sequence[Ring]) -> float:
    """Return the largest, over all links, of crossings / (rings × ports of the link).

    An AllReduce is split equally over its rings and goes at the pace of the busiest link, so its time is
    proportional to this where all ports are equally fast. With d ports a server it is at least 1/d.
    """
    return best_start(topology, rings, len(rings))[0]


def best_start(topology: Topology, rings: Sequence[Ring], fewest: int = 1) -> tuple[float, tuple[Ring, ...]]:
    """Return the smallest busiest share of the first ``fewest`` or more rings, and these; of equals the most."""
    crossings = np.zeros(len(topology))
    best, count = float("inf"), 0
    for laid, ring in enumerate(rings, 1):
        crossings += np.bincount(topology.link_ids(*ring.edges()), minlength=len(topology))
        share = float((crossings / topology.ports).max()) / laid
        if laid >= fewest and share <= best:
            best, count = share, laid
    return best, tuple(rings[:count])
