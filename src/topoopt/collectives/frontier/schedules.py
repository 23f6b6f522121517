"""The table of schedules: for each operation, its schedules and their construction on a wiring."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from topoopt.base.arrays import Columns, Ints, Ints32
from topoopt.collectives.algorithms.bfb import broadcast_schedule
from topoopt.collectives.algorithms.ring import all_gather, reduce_scatter, ring
from topoopt.collectives.algorithms.spanning_trees import NAME as TREES
from topoopt.collectives.algorithms.spanning_trees import packed_trees
from topoopt.collectives.frontier.wiring import Wiring
from topoopt.collectives.schedule import (
    Moves,
    Transfers,
    along,
    along_orders,
    one_after_the_other,
    transfers_of,
)
from topoopt.collectives.table import ALGORITHMS, rank_moves
from topoopt.finder import direct_rings, hamiltonian_rings, one_way_rings
from topoopt.routing import EcmpRoutes, PairLinks, balanced_routes, link_loads, pair_links
from topoopt.topologies import broadcast_steps, hops_from, reversed_links
from topoopt.workloads import RING_PASSES


@dataclass(frozen=True, eq=False)
class Routed:
    """A wiring with the shortest paths between all its servers."""

    wiring: Wiring

    @cached_property
    def hops(self) -> Ints32:
        """Links between every two servers, shape (servers, servers)."""
        return hops_from(self.wiring.topology, np.arange(self.wiring.servers))

    def links(self, src: Ints, dst: Ints) -> PairLinks:
        """Return the links that pairs cross."""
        return pair_links(self.wiring.topology, EcmpRoutes(self.wiring.topology), src, dst)

    def cost(self, moves: Moves) -> tuple[int, float]:
        """Return steps and volume of a schedule; a step takes as many links as its longest transfer."""
        n, links = self.wiring.servers, len(self.wiring.topology)
        pairs, row = np.unique(moves.src * n + moves.dst, return_inverse=True)
        crossed = self.links(*np.divmod(pairs, n))
        count = np.diff(crossed.pair_first)[row]
        entry = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
        entry += np.repeat(crossed.pair_first[row], count)
        step = np.repeat(moves.step, count)
        carried = (
            np.repeat(moves.chunks, count)
            * crossed.share[entry]
            / self.wiring.topology.ports[crossed.link[entry]]
        )
        steps = int(moves.step[-1]) + 1
        load = np.bincount(step * links + crossed.link[entry], carried, steps * links).reshape(steps, links)
        longest = np.zeros(steps, np.int64)
        np.maximum.at(longest, moves.step, self.hops[moves.src, moves.dst])
        return int(longest.sum()), float(load.max(axis=1).sum()) * self.wiring.ports / moves.pieces


@dataclass(frozen=True, eq=False)
class Way:
    """A collective takes ``steps`` · α + ``volume`` · M / B, where B is all of a server's bandwidth.

    Attributes
    ----------
    schedule : str
        Name in :data:`SCHEDULES`.
    detail : str
        Variant: number of rings or chunks.
    steps : int
        One link after the other; a transfer over three links takes three.
    volume : float
        Load of the fullest ports, summed over steps, relative to the capacity of all ports of a server.
    transfers : function
        Makes the schedule itself.
    """

    schedule: str
    detail: str
    steps: int
    volume: float
    transfers: Callable[[], Transfers]

    def time_s(self, size_bytes: float, alpha_s: float, server_bps: float) -> float:
        """Return the time for a message, seconds."""
        return self.steps * alpha_s + self.volume * size_bytes * 8.0 / server_bps


_Order = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Orders(Columns):
    """Orders of the servers, side by side.

    Attributes
    ----------
    direct : bool
        Whether neighbors in an order are joined by a link.
    share : float
        Part of a link's rate that an order has; below 1 where several cross the same link.
    """

    orders: tuple[_Order, ...]
    direct: bool
    share: float = 1.0


MOST_RANKS = 512
"""Most servers for trees, halving and doubling, and pairwise exchanges, which have millions of sends above."""
MOST_BALANCED = 160
"""Servers whose all-to-all is balanced over its paths."""
MOST_DENSE = 64
"""Servers up to which rings are searched for where most servers are joined directly."""
_RINGS = {"allreduce": ring, "reduce-scatter": reduce_scatter, "all-gather": all_gather}
PIECES = tuple(2**power for power in range(21))
"""Pieces of the parts that go along spanning trees: more are lighter and take more steps."""
MOST_PIECES = 16
"""Most pieces in which a schedule of trees is played and exported; more of them repeat its steps."""
MakeWays = Callable[[Routed, str], list[Way]]


def ring_ways(routed: Routed, operation: str) -> list[Way]:
    """Return the rings that a wiring has, all at once: n - 1 steps, twice for an AllReduce."""
    wiring, orders = routed.wiring, ring_orders(routed.wiring)
    n, passes = wiring.servers, RING_PASSES[operation]
    steps, volume = n - 1, wiring.ports / (len(orders) * orders.share) * (n - 1) / n
    rate = "" if orders.share == 1 else f", each at {orders.share:g} of a link's rate"
    detail = (f"{len(orders)} rings" if len(orders) > 1 else "1 ring") + rate
    if not orders.direct:
        order = np.array(orders.orders[0])
        around = Moves(np.zeros(n, np.int64), order, np.roll(order, -1), np.ones(n, np.int64), n)
        hops, carried = routed.cost(around)
        steps, volume, detail = hops * (n - 1), carried * (n - 1), "1 ring over several links"
    make = partial(_ring_transfers, operation, orders)
    return [Way("ring", detail, passes * steps, passes * volume, make)]


def _ring_transfers(operation: str, orders: Orders) -> Transfers:
    return along_orders(transfers_of(_RINGS[operation](len(orders.orders[0]))), orders.orders)


def broadcast_ways(routed: Routed, operation: str) -> list[Way]:
    """Return the breadth-first broadcast; a reduce-scatter is that of the reversed links. None through switches."""
    wiring = routed.wiring
    if wiring.topology.nodes > wiring.servers:
        return []
    gather = broadcast_steps(wiring.topology, wiring.ports)
    back = wiring.topology if wiring.links == "duplex" else reversed_links(wiring.topology)
    scatter = gather if wiring.links == "duplex" else broadcast_steps(back, wiring.ports)
    parts = {"all-gather": (gather,), "reduce-scatter": (scatter,), "allreduce": (scatter, gather)}[operation]
    chunks = max(part.chunks for part in parts)

    def make() -> Transfers:
        gathers = broadcast_schedule(wiring.topology, chunks)
        if operation == "all-gather":
            return gathers
        scatters = broadcast_schedule(back, chunks).backwards()
        return scatters if operation == "reduce-scatter" else one_after_the_other(scatters, gathers)

    detail = f"shards in {chunks} chunks" if chunks > 1 else "whole shards"
    steps, volume = sum(part.steps for part in parts), float(sum(part.volume for part in parts))
    return [Way("bfb", detail, steps, volume, make)]


def tree_ways(routed: Routed, operation: str) -> list[Way]:
    """Return the packed spanning trees in more and more pieces, each a step behind the one before.

    None for too many servers.
    """
    wiring = routed.wiring
    gather = scatter = packed_trees(wiring.topology)
    if wiring.links != "duplex":
        scatter = packed_trees(reversed_links(wiring.topology))
    if gather is None or scatter is None:
        return []
    parts = {"all-gather": (gather,), "reduce-scatter": (scatter,), "allreduce": (scatter, gather)}[operation]

    def make(pieces: int) -> Transfers:
        if operation == "all-gather":
            return gather.all_gather(pieces)
        scatters = scatter.all_gather(pieces).backwards()
        return (
            scatters
            if operation == "reduce-scatter"
            else one_after_the_other(scatters, gather.all_gather(pieces))
        )

    ways = []
    for pieces in PIECES:
        steps = sum(one.steps(pieces) for one in parts)
        volume = sum(one.volume(wiring.ports, pieces) for one in parts)
        detail = f"{gather.per_root} per server" + (f", in {pieces} pieces" if pieces > 1 else "")
        ways.append(Way(TREES, detail, steps, volume, partial(make, min(pieces, MOST_PIECES))))
    return ways


def _laid_ways(name: str, routed: Routed, operation: str) -> list[Way]:
    """Return an algorithm between any ranks, along the rings of the wiring and in order of the servers."""
    n = routed.wiring.servers
    if n > MOST_RANKS:
        return []
    own = Orders((tuple(range(n)),), False)
    places = {"in order of the servers": own}
    if operation == "allreduce":
        along_rings = ring_orders(routed.wiring)
        if along_rings.direct:
            places["along the rings"] = along_rings
    ways = []
    for make, moves in zip(ALGORITHMS[name].schedules, rank_moves(name, n), strict=True):
        pieces = getattr(make, "keywords", {}).get("chunks_per_tree")
        cut = "" if pieces is None else f"{2 * pieces} chunks, "
        for place, orders in places.items():
            steps, volume = routed.cost(along(moves, orders.orders))
            ways.append(Way(name, cut + place, steps, volume, partial(_laid_transfers, make, orders)))
    return ways


def _laid_transfers(make: Callable[[int], object], orders: Orders) -> Transfers:
    schedule = make(len(orders.orders[0]))
    transfers = transfers_of(schedule)  # type: ignore[arg-type]
    return transfers if len(orders) == 1 else along_orders(transfers, orders.orders)


def _at_once(wiring_servers: int) -> Transfers:
    n = wiring_servers
    src, dst = np.divmod(np.arange(n * n), n)
    src, dst = src[src != dst], dst[src != dst]
    none, one = np.zeros(len(src), np.int64), np.ones(len(src), np.int64)
    return Transfers(
        "direct", "all-to-all", n, n * n, none, src, dst, src * n + dst, one, none.astype(np.bool_)
    )


def direct_ways(routed: Routed, operation: str) -> list[Way]:
    """Return all-to-alls sent at once: over shortest paths, equally and, on fewer servers, balanced."""
    wiring = routed.wiring
    n, topology = wiring.servers, wiring.topology
    demand = np.ones((n, n)) - np.eye(n)
    ecmp = EcmpRoutes(topology)
    routes = {"shortest ways, in equal parts": ecmp}
    if n <= MOST_BALANCED:
        routes["shortest ways, balanced"] = balanced_routes(topology, demand, ecmp)  # type: ignore[assignment]
    diameter = int(routed.hops.max())
    volumes = {
        detail: float((link_loads(topology, way, demand) / topology.ports).max()) * wiring.ports / n
        for detail, way in routes.items()
    }
    return [
        Way("direct", detail, diameter, volume, partial(_at_once, n)) for detail, volume in volumes.items()
    ]


_ON_ITS_LINKS: Mapping[str, MakeWays] = {"ring": ring_ways, "bfb": broadcast_ways, TREES: tree_ways}


def _schedules(operation: str, own: Mapping[str, MakeWays]) -> Mapping[str, MakeWays]:
    """Return the schedules of an operation: schedules made for the wiring, and the algorithms between any ranks."""
    between_ranks = {
        name: partial(_laid_ways, name)
        for name, one in ALGORITHMS.items()
        if one.collective == operation and name not in own
    }
    return {**own, **between_ranks}


SCHEDULES: Mapping[str, Mapping[str, MakeWays]] = {
    "allreduce": _schedules("allreduce", _ON_ITS_LINKS),
    "all-gather": _schedules("all-gather", _ON_ITS_LINKS),
    "reduce-scatter": _schedules("reduce-scatter", _ON_ITS_LINKS),
    "all-to-all": _schedules("all-to-all", {"direct": direct_ways}),
}
"""Schedules by name, by operation."""
OPERATIONS = tuple(SCHEDULES)
BEST = "best"


def ring_orders(wiring: Wiring, seed: int = 0) -> Orders:
    """Return as many link-disjoint rings as are found, at most one per port; else one in order of the servers.

    A circulant has a ring along each stride that meets all servers. Where these leave ports idle, disjoint Hamiltonian
    cycles are searched for, each used in both directions where links are bidirectional.
    """
    if wiring.rings:
        # the rings that the wiring brings, one of twice another's share twice; of cables, both ways around
        least = min(share for _, share in wiring.rings)
        orders = []
        for walk, share in wiring.rings:
            back = ((walk[0], *walk[:0:-1]),) if wiring.links == "duplex" else ()
            orders += [walk, *back] * round(share / least)
        return Orders(tuple(orders), True, least)
    everyone = np.arange(wiring.servers)
    rings = direct_rings(wiring.topology, everyone, wiring.ports)
    sparse = len(wiring.topology) < wiring.servers**2 / 2 or wiring.servers <= MOST_DENSE
    if len(rings) < wiring.ports and sparse:
        search = hamiltonian_rings if wiring.links == "duplex" else one_way_rings
        rings = max(rings, search(wiring.topology, everyone, wiring.ports, seed), key=len)
    if rings:
        return Orders(tuple(ring.members for ring in rings), True)
    return Orders((tuple(everyone.tolist()),), False)
