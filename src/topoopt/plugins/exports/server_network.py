"""The noun ServerNetwork: all that one server has to be told to play its part, before any tool's own words."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from topoopt.base.errors import Infeasible
from topoopt.plans.inventory import Inventory
from topoopt.routing.forwarding import Addressing, ForwardingTables, NextHops, Route, server_tables

MTU_BYTES = 9000
"""Of every interface: what the largest frames of usual cards carry."""
FIRST_TABLE = 1000
"""The table of the source with the lowest number."""
LONGEST_NAME = 15
"""Of an interface of Linux."""
_HOST_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_INTERFACE_NAME = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._+-]{{0,{LONGEST_NAME - 1}}}")


@dataclass(frozen=True, slots=True)
class Neighbor:
    """Who is at the far end of a fiber, which cannot be asked for its MAC."""

    address: str
    mac: str


@dataclass(frozen=True, slots=True)
class ServerInterface:
    """An interface that a cable is on.

    Attributes
    ----------
    addresses : tuple of str
        With ``/31``: one of a cable, of two fibers two.
    neighbors : tuple of Neighbor
        Only of directed links.
    mac : str
        What has to be set, for others to know it; empty where nobody has to, or where the inventory says what it is.
    """

    name: str
    addresses: tuple[str, ...]
    neighbors: tuple[Neighbor, ...]
    mac: str


@dataclass(frozen=True, slots=True)
class SourceTable:
    """Routes for what is from one source only.

    Attributes
    ----------
    number : int
        Of the table.
    source : str
        The prefix of the source's addresses.
    """

    number: int
    source: str
    routes: tuple[Route, ...]


@dataclass(frozen=True, slots=True)
class ServerNetwork:
    """Addresses and routes of one server.

    Attributes
    ----------
    identities : tuple of str
        Its own addresses, without ``/32``; the first is that of what it sends.
    """

    name: str
    identities: tuple[str, ...]
    interfaces: tuple[ServerInterface, ...]
    main: tuple[Route, ...]
    tables: tuple[SourceTable, ...]


def server_networks(
    tables: ForwardingTables, addressing: Addressing, hops: NextHops, inventory: Inventory
) -> Iterator[ServerNetwork]:
    """Yield what every server is told, in order; ``hops`` are those of the tables.

    Raises
    ------
    Infeasible
        If a server or an interface has a name that a system cannot have.
    """
    _check_names(addressing)
    for told in server_tables(tables, addressing, hops):
        server = told.server
        yield ServerNetwork(
            addressing.server_names[server],
            tuple(addressing.identity(server, identity) for identity in range(tables.identities)),
            tuple(_interfaces(addressing, inventory, server)),
            told.main,
            tuple(
                SourceTable(FIRST_TABLE + source, addressing.block(source), routes)
                for source, routes in sorted(told.by_source.items())
            ),
        )


def _check_names(addressing: Addressing) -> None:
    for server in addressing.server_names:
        if not _HOST_NAME.fullmatch(server):
            raise Infeasible(
                f'inventory: server "{server}": no host name; expected letters, digits and ._- only'
            )
    for server, names in zip(addressing.server_names, addressing.interface_names, strict=True):
        for name in names:
            if not _INTERFACE_NAME.fullmatch(name):
                raise Infeasible(
                    f'inventory: {server}: interface "{name}": no name that Linux takes; expected {LONGEST_NAME} '
                    "characters at most, no blank, colon or slash"
                )


def _interfaces(addressing: Addressing, inventory: Inventory, server: int) -> Iterator[ServerInterface]:
    ends: dict[int, list[int]] = {}
    for end in addressing.ends_of_servers[server]:
        ends.setdefault(addressing.end(end).interface, []).append(end)
    for interface, here in ends.items():
        known = inventory.servers[server].interfaces[interface].mac
        yield ServerInterface(
            addressing.interface_name(here[0]),
            tuple(f"{addressing.link_address(end)}/31" for end in here),
            tuple(
                Neighbor(addressing.link_address(end ^ 1), addressing.mac(end ^ 1))
                for end in here
                if not addressing.duplex and end % 2 == 0
            ),
            "" if addressing.duplex or known else addressing.mac(here[0]),
        )
