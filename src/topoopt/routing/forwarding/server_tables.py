"""The noun ServerTables: all that one server has to be told, in addresses and names."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.routing.forwarding.addressing import Addressing
from topoopt.routing.forwarding.tables import ForwardingTables

LARGEST_WEIGHT = 256
"""Of a next hop of Linux: eight bits that count from one."""
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
        By how much a share of an entry differs at most from what the tables say.
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
    """Where a server sends what is for an address."""

    address: str
    hops: tuple[Hop, ...]


@dataclass(frozen=True, slots=True)
class ServerTables:
    """The tables of one server.

    Attributes
    ----------
    main : tuple of Route
        By destination.
    by_source : mapping
        For each source that has a table of its own, asked before the main one, its routes.
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
        The largest weight that whoever reads them takes.

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
    return NextHops(first, cable_end[cable], weight, _error(first, share, weight))


def _error(first: Ints, share: Floats, weight: Ints) -> float:
    entry = np.repeat(np.arange(len(first) - 1), np.diff(first))
    total = np.bincount(entry, weight)
    return float(np.abs(weight / total[entry] - share).max(initial=0.0))


def integer_weights(first: Ints, share: Floats, largest: int = LARGEST_WEIGHT) -> Ints:
    """Return a whole weight from 1 to ``largest`` for each next hop, such that shares differ least from what is asked.

    Of all scales the one of least error is taken, of several the smallest, so that thirds become 1 and 2. A share is
    off by at most ``(m - 1) / (largest - m / 2)`` among m next hops: rounding moves each but the largest by less than
    one, and the sum with them. That is 0.4 % of a pair's bytes for two, 0.8 % for three, and seldom so much.

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
    """Return the weights of one entry."""
    if (share == share[0]).all():
        return np.ones(len(share), np.int64)
    scales = np.arange(1, largest + 1)[:, None] / share.max()
    tried = np.clip(np.rint(scales * share), 1, largest)
    error = np.abs(tried / tried.sum(axis=1, keepdims=True) - share).max(axis=1)
    best: Ints = tried[np.argmax(error <= error.min() + 10.0**-_DIGITS)].astype(np.int64)
    return best
