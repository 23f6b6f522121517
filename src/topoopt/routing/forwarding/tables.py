"""The noun ForwardingTables: at every server, over which links goes what is from one server for another."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from topoopt.base.arrays import Floats, Ints, Ints32
from topoopt.routing.pair_links import PairLinks
from topoopt.topologies import Topology, places_of

Kind = Literal["destination", "source"]
Split = Literal["hashed", "pinned"]


@dataclass(frozen=True, slots=True)
class Ways:
    """What the tables are for: a pair, an address of its destination, and the share of the pair's bytes that takes it.

    Attributes
    ----------
    src, dst, identity : int64 arrays, shape (ways,)
    weight : float64 array, shape (ways,)
        Sums to 1 over a pair.
    """

    src: Ints
    dst: Ints
    identity: Ints
    weight: Floats

    def __len__(self) -> int:
        return len(self.src)


@dataclass(frozen=True, eq=False)
class ForwardingTables:
    """Entries of every server's tables, each with its next links and their shares.

    A server has one main table, by destination, which holds its own ways; and for a source whose bytes it hands on in
    another way than its own a table of that source, asked first, with the destinations for which that is so. Where the
    main tables say it all the tables are by ``destination``, else by ``source``.

    Attributes
    ----------
    split : ``hashed`` or ``pinned``
        What has several paths: an address of the destination whose bytes are hashed over next hops by their shares, or
        an address for each path.
    identities : int
        Addresses of a server.
    node, source, dst, identity : int64 arrays, shape (entries,)
        Whose table it is; -1 or the source that it is for; the destination and which of its addresses. In this order.
    hop_first : int64 array, shape (entries+1,)
    link : int32 array, shape (hops,)
        Index of a directed link of the topology.
    share : float64 array, shape (hops,)
        Sums to 1 over an entry.
    ways : Ways
    freed_pairs : int
        Pairs whose paths, taken together, went in circles; those are left out.
    turn : int64 array, shape (entries,)
        Where paths are pinned, which of the cables of its link an entry takes, modulo how many there are.
    """

    topology: Topology
    split: Split
    identities: int
    node: Ints
    source: Ints
    dst: Ints
    identity: Ints
    hop_first: Ints
    link: Ints32
    share: Floats
    ways: Ways
    freed_pairs: int
    turn: Ints

    @property
    def kind(self) -> Kind:
        """Whether the destination alone says where to."""
        return "source" if (self.source >= 0).any() else "destination"

    @property
    def splits(self) -> bool:
        """Whether an entry has several next links."""
        return len(self.link) > len(self.node)

    @property
    def why(self) -> str:
        """The reason for the kind of tables, in a sentence that calls servers by their numbers."""
        return self.reason([f"server {server}" for server in range(self.topology.servers)])

    def reason(self, names: Sequence[str]) -> str:
        """Return the reason for the kind of tables, in a sentence that calls servers by these names."""
        if self.kind == "destination":
            return "destination tables follow the plan: a server hands on what is for another whatever its source"
        other = np.flatnonzero(self.source >= 0)
        node, source, dst = (names[column[other[0]]] for column in (self.node, self.source, self.dst))
        return (
            f"tables by source: {len(other)} of {len(self.node)} entries are for one source only; first: {node} sends "
            f"what is from {source} for {dst} another way than its own"
        )

    def __len__(self) -> int:
        return len(self.node)

    def entries(self, node: Ints, source: Ints, dst: Ints, identity: Ints) -> Ints:
        """Return the entry by which a server sends what is from a source for an address, -1 where it has none."""
        special = places_of(self.key(node, source, dst, identity), self._keys)
        return np.where(
            special >= 0,
            special,
            places_of(self.key(node, np.full_like(node, -1), dst, identity), self._keys),
        )

    def key(self, node: Ints, source: Ints, dst: Ints, identity: Ints) -> Ints:
        """Return a number by which entries are in order."""
        servers = self.topology.servers
        return ((node * (servers + 1) + source + 1) * servers + dst) * self.identities + identity

    @cached_property
    def _keys(self) -> Ints:
        return self.key(self.node, self.source, self.dst, self.identity)


@dataclass(frozen=True, slots=True)
class Followed:
    """Where the tables lead.

    Attributes
    ----------
    links : PairLinks
        What share of each way crosses each link.
    arrived : float64 array, shape (ways,)
        The share that reaches its destination.
    lost : int64 array
        Ways of which a part comes to a server that has no entry for it.
    circling : int64 array
        Ways of which a part comes to a server twice, and so may go round for ever.
    """

    links: PairLinks
    arrived: Floats
    lost: Ints
    circling: Ints


def follow(tables: ForwardingTables, ways: Ints | None = None) -> Followed:
    """Follow ways from their sources, one link of all of them at a time.

    Parameters
    ----------
    ways : int64 array, optional
        Rows of the tables' ways; all by default.
    """
    topology, rows = tables.topology, np.arange(len(tables.ways)) if ways is None else ways
    src, dst, identity = (column[rows] for column in (tables.ways.src, tables.ways.dst, tables.ways.identity))
    arrived, lost = np.zeros(len(rows)), np.zeros(len(rows), bool)
    way, node, amount = np.arange(len(rows)), src, np.ones(len(rows))
    crossed: list[tuple[Ints, Ints, Floats]] = []
    for _ in range(topology.nodes):  # a longer walk has been somewhere twice
        there = node == dst[way]
        arrived += np.bincount(way[there], amount[there], minlength=len(rows))
        way, node, amount = way[~there], node[~there], amount[~there]
        entry = tables.entries(node, src[way], dst[way], identity[way])
        lost[way[entry < 0]] = True
        way, amount, entry = way[entry >= 0], amount[entry >= 0], entry[entry >= 0]
        if not len(way):
            break
        begin, count = tables.hop_first[entry], tables.hop_first[entry + 1] - tables.hop_first[entry]
        hop = np.repeat(begin - np.cumsum(count) + count, count) + np.arange(count.sum())
        way, amount = np.repeat(way, count), np.repeat(amount, count) * tables.share[hop]
        link = tables.link[hop].astype(np.int64)
        crossed.append((way, link, amount))
        key, inverse = np.unique(way * topology.nodes + topology.dst[link], return_inverse=True)
        way, node = np.divmod(key, topology.nodes)
        amount = np.asarray(np.bincount(inverse, amount), np.float64)
    circling = np.unique(way[node != dst[way]])
    return Followed(_links(len(rows), len(topology), crossed), arrived, rows[lost], rows[circling])


def _links(ways: int, links: int, crossed: list[tuple[Ints, Ints, Floats]]) -> PairLinks:
    """Sum what crosses a link after one hop and what crosses it after more."""
    if not crossed:
        return PairLinks(np.zeros(ways + 1, np.int64), np.zeros(0, np.int32), np.zeros(0))
    way, link, amount = (np.concatenate(columns) for columns in zip(*crossed, strict=True))
    key, inverse = np.unique(way * links + link, return_inverse=True)
    share = np.asarray(np.bincount(inverse, amount), np.float64)
    first = np.searchsorted(key, np.arange(ways + 1) * links)
    return PairLinks(first, (key % links).astype(np.int32), share)
