"""Forwarding tables: next links of every server by destination, and the same in addresses and names."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from topoopt.base.arrays import Columns, Floats, Ints, Ints32
from topoopt.routing.forwarding.addressing import Addressing
from topoopt.routing.pair_links import PairLinks
from topoopt.topologies import Topology, places_of

Kind = Literal["destination", "source"]
Split = Literal["hashed", "pinned"]


@dataclass(frozen=True, slots=True)
class Ways(Columns):
    """Pairs, an address of each destination, and the share of the pair's bytes that is sent to this address.

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


@dataclass(frozen=True, eq=False)
class ForwardingTables:
    """Entries of every server's tables, each with its next links and their shares.

    A server has one main table, by destination, with its own routes; and for a source whose bytes it hands on in
    another way than its own a table of that source, consulted first, for those destinations. Where the main tables say
    it all the tables are by ``destination``, else by ``source``.

    Attributes
    ----------
    split : ``hashed`` or ``pinned``
        Unit that has several paths: an address of the destination, whose bytes are hashed over next hops by their
        shares (``hashed``), or each path has its own address (``pinned``).
    identities : int
        Addresses of a server.
    node, source, dst, identity : int64 arrays, shape (entries,)
        Server of the table; its source or -1; the destination and the index of its address. Sorted in this order.
    hop_first : int64 array, shape (entries+1,)
    link : int32 array, shape (hops,)
        Index of a directed link of the topology.
    share : float64 array, shape (hops,)
        Sums to 1 over an entry.
    ways : Ways
    freed_pairs : int
        Pairs whose combined paths have cycles, which are omitted.
    turn : int64 array, shape (entries,)
        For pinned paths, the cable of its link that an entry takes, modulo the number of cables.
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
        """Whether the next hop depends on the destination alone."""
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
        """Return a server's entry for packets from a source to an address, -1 where it has none."""
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
    """Result of following the tables.

    Attributes
    ----------
    links : PairLinks
        Share of each route on each link.
    arrived : float64 array, shape (ways,)
        The share that reaches its destination.
    lost : int64 array
        Routes that reach a server without an entry for them.
    circling : int64 array
        Routes that reach a server twice, and so may loop forever.
    """

    links: PairLinks
    arrived: Floats
    lost: Ints
    circling: Ints


LARGEST_WEIGHT = 256
"""Largest weight of a next hop in Linux: eight bits that count from one."""
_DIGITS = 9


@dataclass(frozen=True, slots=True)
class NextHops:
    """The ends of cables over which each entry sends; links of several ports are as many next hops.

    Attributes
    ----------
    first : int64 array, shape (entries+1,)
    end : int64 array, shape (hops,)
        The end of a cable at the server itself; bytes go to the other.
    weight : int64 array, shape (hops,)
    error : float
        Largest deviation of a share from the tables' one.
    """

    first: Ints
    end: Ints
    weight: Ints
    error: float


class Hop(NamedTuple):
    """A next hop.

    Attributes
    ----------
    via : str
        The address of the far end of the cable.
    interface : str
        The server's own.
    end : int
        The server's own end of the cable.
    """

    via: str
    interface: str
    weight: int
    end: int


class Route(NamedTuple):
    """Next hops of a server for an address."""

    address: str
    hops: tuple[Hop, ...]


@dataclass(frozen=True, slots=True)
class ServerTables:
    """The tables of one server.

    Attributes
    ----------
    main : tuple of Route
        Routes by destination.
    by_source : mapping
        Routes by source, for sources with their own table, which is looked up before the main one.
    """

    server: int
    main: tuple[Route, ...]
    by_source: dict[int, tuple[Route, ...]]


def server_tables(tables: ForwardingTables, addressing: Addressing, hops: NextHops) -> Iterator[ServerTables]:
    """Yield the tables of every server, in order; ``hops`` are those of the tables."""
    known: dict[tuple[int, int], Hop] = {}
    identities = addressing.identities
    address = [
        addressing.identity(server, identity)
        for server in range(addressing.servers)
        for identity in range(identities)
    ]
    columns = (tables.node, tables.source, tables.dst * identities + tables.identity)
    first, ends = hops.first.tolist(), list(zip(hops.end.tolist(), hops.weight.tolist(), strict=True))
    found: list[dict[int, list[Route]]] = [{} for _ in range(addressing.servers)]
    rows = zip(*(column.tolist() for column in columns), first, first[1:], strict=False)
    for node, source, to, begin, stop in rows:
        over = []
        for end in ends[begin:stop]:
            if end not in known:
                known[end] = Hop(
                    addressing.link_address(end[0] ^ 1), addressing.interface_name(end[0]), *end[::-1]
                )
            over.append(known[end])
        found[node].setdefault(source, []).append(Route(address[to], tuple(over)))
    for server, of in enumerate(found):
        main = tuple(of.pop(-1, ()))
        yield ServerTables(server, main, {source: tuple(routes) for source, routes in of.items()})


def next_hops(tables: ForwardingTables, addressing: Addressing, largest: int = LARGEST_WEIGHT) -> NextHops:
    """Return the next hops of every entry, where paths are pinned one of each.

    Parameters
    ----------
    largest : int
        Largest weight that the consumer of the tables accepts.

    Raises
    ------
    InvalidInput
        If the cables are not those of the topology.
    """
    cable_first, cable_end = addressing.leaving(tables.topology)
    begin, ports = cable_first[tables.link], tables.topology.ports[tables.link].astype(np.int64)
    if tables.split == "pinned":  # each address has a cable of its own
        assert len(begin) == len(tables)
        one = np.ones(len(begin), np.int64)
        return NextHops(tables.hop_first, cable_end[begin + tables.turn % ports], one, 0.0)
    cable = np.repeat(begin - np.cumsum(ports) + ports, ports) + np.arange(ports.sum())
    share = np.repeat(tables.share / ports, ports)
    first = np.concatenate(([0], np.cumsum(ports)))[tables.hop_first]
    weight = integer_weights(first, share, largest)
    entry = np.repeat(np.arange(len(first) - 1), np.diff(first))
    total = np.bincount(entry, weight)
    error = float(np.abs(weight / total[entry] - share).max(initial=0.0))
    return NextHops(first, cable_end[cable], weight, error)


def integer_weights(first: Ints, share: Floats, largest: int = LARGEST_WEIGHT) -> Ints:
    """Return an integer weight from 1 to ``largest`` per next hop, such that shares deviate least from the given
    ones.

    The scale with the smallest error is chosen, and of several such scales the smallest, so that thirds become 1 and
    2. A share is off by at most ``(m - 1) / (largest - m / 2)`` among m next hops: rounding moves each but the largest
    by less than one, and the sum with them. That is 0.4 % of a pair's bytes for two next hops, 0.8 % for three, and
    rarely that much.

    Parameters
    ----------
    first : int64 array, shape (entries+1,)
        Next hops of each entry.
    share : float64 array, shape (hops,)
        Positive; sums to 1 over an entry.

    Examples
    --------
    >>> integer_weights(np.array([0, 2, 3]), np.array([1 / 3, 2 / 3, 1.0])).tolist()
    [1, 2, 1]
    """
    weight = np.ones(len(share), np.int64)
    count = np.diff(first)
    for width in np.unique(count[count > 1]).tolist():
        hops = first[:-1][count == width][:, None] + np.arange(width)
        kinds, which = np.unique(np.round(share[hops], _DIGITS), axis=0, return_inverse=True)
        best = np.array([_best(kind / kind.sum(), largest) for kind in kinds], np.int64)
        weight[hops] = best[which.ravel()]
    return weight


def _best(share: Floats, largest: int) -> Ints:
    if (share == share[0]).all():
        return np.ones(len(share), np.int64)
    scales = np.arange(1, largest + 1)[:, None] / share.max()
    tried = np.clip(np.rint(scales * share), 1, largest)
    error = np.abs(tried / tried.sum(axis=1, keepdims=True) - share).max(axis=1)
    best: Ints = tried[np.argmax(error <= error.min() + 10.0**-_DIGITS)].astype(np.int64)
    return best


def follow(tables: ForwardingTables, ways: Ints | None = None) -> Followed:
    """Follow all routes from their sources in parallel, link by link.

    Parameters
    ----------
    ways : int64 array, optional
        Rows of the tables' routes; all by default.
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
    """Sum the shares that cross a link after one hop and those after more."""
    if not crossed:
        return PairLinks(np.zeros(ways + 1, np.int64), np.zeros(0, np.int32), np.zeros(0))
    way, link, amount = (np.concatenate(columns) for columns in zip(*crossed, strict=True))
    key, inverse = np.unique(way * links + link, return_inverse=True)
    share = np.asarray(np.bincount(inverse, amount), np.float64)
    first = np.searchsorted(key, np.arange(ways + 1) * links)
    return PairLinks(first, (key % links).astype(np.int32), share)
