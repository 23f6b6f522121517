"""The noun ServerTables: all that one server has to be told, in addresses and names."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from topoopt.routing.forwarding.addressing import Addressing
from topoopt.routing.forwarding.next_hops import NextHops
from topoopt.routing.forwarding.tables import ForwardingTables


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
