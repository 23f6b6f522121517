"""A fabric while it is being cabled: free interfaces, cables so far, and links matched to the heaviest pairs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import combinations

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.finder.fabric_request import Shares
from topoopt.topologies import (
    DirectWiring,
    LiftShape,
    Ring,
    Topology,
    circulant_offsets,
    lifted,
    stride_offsets,
    topology_from_arrays,
)

_Pairs = tuple[Ints, Ints]
LARGEST_EXACT = 512
"""Servers up to which duplex matchings are exact: blossom is cubic. Above, the heaviest pairs come first, which
gives at least half of the best weight."""
DAMPING: Mapping[str, Callable[[Floats], Floats]] = {
    "halving": lambda links: np.full(len(links), 0.5),
    "c/(c+1)": lambda links: links / (links + 1),
}
"""Name to the factor for the demand of pairs which have that many links now, the new one included."""


def match_duplex(demand_bytes: Floats) -> _Pairs:
    """Return the maximum-weight matching; the weight of a pair is its bytes in both directions.

    Pairs without demand stay apart. If joining i and i + n/2 is as good as anything can be (as it is for a
    uniform all-to-all), that is chosen, since it keeps a circulant a circulant.

    Parameters
    ----------
    demand_bytes : float64 array, shape (servers, servers)

    Returns
    -------
    two int64 arrays, shape (pairs,)
        The ends of each cable, the lower server first.
    """
    weight = demand_bytes + demand_bytes.T
    np.fill_diagonal(weight, 0.0)
    servers = len(weight)
    half = np.arange(servers // 2)
    across = weight[half, half + servers // 2]
    if servers % 2 == 0 and across.all() and 2 * across.sum() >= weight.max(axis=1).sum() * (1 - 1e-12):
        return half, half + servers // 2
    matched = _blossom(weight) if servers <= LARGEST_EXACT else _heaviest_first(weight)
    return matched[:, 0], matched[:, 1]


def match_directed(demand_bytes: Floats) -> _Pairs:
    """Return the permutation without fixed points that serves the most bytes, as sources and destinations.

    Every server has one fiber out and one in, also those without demand; it is empty for one server.
    """
    from scipy.optimize import linear_sum_assignment  # noqa: PLC0415 - slow to import

    if len(demand_bytes) < 2:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    gain = demand_bytes.copy()
    np.fill_diagonal(gain, -1.0 - gain.sum())
    src, dst = linear_sum_assignment(gain, maximize=True)
    return src.astype(np.int64), dst.astype(np.int64)


MATCHINGS: Mapping[str, Callable[[Floats], _Pairs]] = {"duplex": match_duplex, "directed": match_directed}


def _blossom(weight: Floats) -> Ints:
    import rustworkx as rx  # noqa: PLC0415 - slow to import

    i, j = np.nonzero(np.triu(weight))
    if not len(i):
        return np.empty((0, 2), np.int64)
    # rustworkx wants integers: 40 bits keep the order of all weights that matter.
    whole = np.rint(weight[i, j] * (2.0**40 / weight.max())).astype(np.int64)
    graph = rx.PyGraph(multigraph=False)
    graph.add_nodes_from(range(len(weight)))
    graph.add_edges_from(list(zip(i.tolist(), j.tolist(), whole.tolist(), strict=True)))
    pairs = rx.max_weight_matching(graph, max_cardinality=False, weight_fn=int)
    return np.array(sorted((min(pair), max(pair)) for pair in pairs), np.int64).reshape(-1, 2)


def _heaviest_first(weight: Floats) -> Ints:
    """Match again and again all pairs that are the heaviest of both ends; near-ties are broken at random."""
    chance = np.random.default_rng(len(weight)).random(len(weight))
    free = np.arange(len(weight))
    matched = []
    while len(free) > 1:
        worth = weight[np.ix_(free, free)]
        worth *= 1 + 1e-7 * ((chance[free, None] + chance[free]) % 1.0)
        partner = worth.argmax(axis=1)
        index = np.arange(len(free))
        mutual = (partner[partner] == index) & (index < partner) & (worth[index, partner] > 0)
        if not mutual.any():
            break
        pairs = np.stack([index, partner], axis=1)[mutual]
        matched.append(free[pairs])
        free = np.delete(free, pairs.ravel())
    return np.concatenate(matched) if matched else np.empty((0, 2), np.int64)


class Wiring:
    """Servers ``0 .. servers-1``, each with ``degree`` interfaces, not yet all used.

    Attributes
    ----------
    free : int64 array, shape (servers,)
        Interfaces left. With directed links, fibers out and fibers in: always as many of each.
    rings : dict
        Rings by members, for groups that are not wired along strides.
    """

    def __init__(self, servers: int, degree: int, links: str) -> None:
        self.servers = servers
        self.links = links
        self.free: Ints = np.full(servers, degree, np.int64)
        self.rings: dict[tuple[int, ...], tuple[Ring, ...]] = {}
        self._src: list[Ints] = []
        self._dst: list[Ints] = []

    def add_rings(self, members: Ints, strides: Sequence[int]) -> None:
        """Plug in the rings of the strides, on positions in the sorted members."""
        position = np.arange(len(members))
        for offset in stride_offsets(len(members), strides, self.links):
            self._plug(members, members[(position + offset) % len(members)])

    def add_pairs(self, a: Ints, b: Ints) -> None:
        """Plug in a cable (duplex) or a fiber from ``a`` to ``b`` (directed) for each pair."""
        self._plug(a, b)
        if self.links == "duplex":
            self._plug(b, a)

    def add_links(self, src: Ints, dst: Ints) -> None:
        """Plug in a link from each ``src`` to its ``dst``; for duplex cables, both directions are given."""
        self._plug(src, dst)

    def add_idle(self) -> None:
        """Join each server with free interfaces to the one halfway around among them."""
        while len(able := np.flatnonzero(self.free > 0)) > 1:
            half = len(able) // 2
            if self.links == "directed":
                self.add_pairs(able, np.roll(able, -half))
            else:
                self.add_pairs(able[:half], able[half : 2 * half])

    def links_between(self, a: Ints, b: Ints) -> Ints:
        """Return the present number of links from each ``a`` to its ``b``."""
        if not self._src:
            return np.zeros(len(a), np.int64)
        keys = np.sort(np.concatenate(self._src) * self.servers + np.concatenate(self._dst))
        key = a * self.servers + b
        return np.searchsorted(keys, key, "right") - np.searchsorted(keys, key, "left")

    def is_connected(self) -> bool:
        """Return whether every server reaches every other over the present links."""
        from scipy.sparse import csr_matrix  # noqa: PLC0415 - slow to import
        from scipy.sparse.csgraph import connected_components  # noqa: PLC0415 - slow to import

        src, dst = np.concatenate(self._src), np.concatenate(self._dst)
        matrix = csr_matrix((np.ones(len(src), np.int8), (src, dst)), (self.servers, self.servers))
        return int(connected_components(matrix, directed=True, connection="strong")[0]) == 1

    def topology(self, bandwidth_bps: float, latency_s: float) -> Topology:
        """Return the topology; a circulant is recognized and named as one, anything else is ``direct``."""
        src, dst = np.concatenate(self._src), np.concatenate(self._dst)
        wired = topology_from_arrays("direct", self.servers, src, dst, bandwidth_bps, latency_s)
        offsets = circulant_offsets(wired)
        return replace(wired, family="circulant", offsets=offsets) if offsets else wired

    def _plug(self, src: Ints, dst: Ints) -> None:
        self._src.append(np.asarray(src, np.int64))
        self._dst.append(np.asarray(dst, np.int64))
        # Every interface is counted once, where a link starts: a cable starts at both of its ends.
        self.free -= np.bincount(src, minlength=self.servers)


LIFTED = "lifted"
GROUP_RINGS = (LIFTED, "strides")
"""Wirings for groups that share no server."""
_SEARCH_S = 0.05
"""Seconds of search for few hops inside a group. Most of its bytes are AllReduced, which no hops make slower."""


def wire_groups(wiring: Wiring, shares: Shares, seed: int) -> dict[tuple[int, ...], tuple[Ring, ...]]:
    """Plug in the groups and return their rings, by members.

    Groups of equal size are wired alike, so that the links between them (pairs, say) make rings of all servers, too.

    Raises
    ------
    Infeasible
        If a group of an odd number of interfaces has no three matchings.
    """
    rings: dict[tuple[int, ...], tuple[Ring, ...]] = {}
    for members, interfaces in shares.items():
        server = np.asarray(members, np.int64)
        of_group = _wired_alike(len(members), interfaces, wiring.links, seed)
        src, dst = of_group.arcs
        wiring.add_links(server[src], server[dst])
        rings[members] = tuple(_of_members(ring, members) for ring in of_group.split_rings())
    return rings


def wire_cliques(
    wiring: Wiring,
    groups: Sequence[tuple[int, ...]],
    demand_bytes: Floats,
    damped: Callable[[Floats], Floats],
) -> None:
    """Join the members of each group with each other, and the groups by the demand between them.

    A link between two groups lowers the demand of all their pairs, so that the next one joins others.
    """
    clique = np.arange(wiring.servers)
    for members in groups:
        clique[list(members)] = members[0]
        a, b = (np.array(ends) for ends in zip(*combinations(members, 2), strict=True))
        _join(wiring, a, b)
    left = demand_bytes + demand_bytes.T
    left[clique[:, None] == clique] = 0.0
    links = np.zeros_like(left)
    while True:
        left[wiring.free <= 0] = left[:, wiring.free <= 0] = 0.0
        a, b = (np.array([end]) for end in np.unravel_index(int(left.argmax()), left.shape))
        if not left[a, b]:
            return
        _join(wiring, a, b)
        between = np.outer(clique == clique[a], clique == clique[b])
        between |= between.T
        links[between] += 1.0
        left[between] *= damped(links[a, b])


def _join(wiring: Wiring, a: Ints, b: Ints) -> None:
    """Plug in a cable between each ``a`` and ``b``, or a fiber per direction."""
    wiring.add_pairs(a, b)
    if wiring.links == "directed":
        wiring.add_pairs(b, a)


@lru_cache(maxsize=64)
def _wired_alike(size: int, interfaces: int, links: str, seed: int) -> DirectWiring:
    return lifted(LiftShape(size, interfaces, links, 1), seed, _SEARCH_S)


def _of_members(ring: Ring, members: tuple[int, ...]) -> Ring:
    walk = tuple(members[place] for place in ring.walk)
    return Ring(ring.stride, walk, walk)
