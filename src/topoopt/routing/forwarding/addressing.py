"""Addressing: addresses of servers and link ends, interface names, and MACs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from ipaddress import IPv4Network
from typing import NamedTuple, Protocol

import numpy as np

from topoopt.base.arrays import Ints
from topoopt.base.errors import InvalidInput, shown
from topoopt.topologies import Topology

IDENTITY_PREFIX = "10.99.0.0/16"
LINK_PREFIX = "10.9.0.0/16"
_PREFIX_WORDS = ("identity_prefix", "link_prefix")
_MAC_BASE = 0x02 << 40
"""MACs of a rule of ours begin with 02: locally administered, of one interface."""


class Cable(Protocol):
    """A cable, or a fiber from ``src`` to ``dst``; such as a :class:`topoopt.finder.rewiring.Patch`."""

    @property
    def src(self) -> int:
        """The server at its one end."""
        ...

    @property
    def src_interface(self) -> int:
        """Interface of the source server."""
        ...

    @property
    def dst(self) -> int:
        """The server at its other end."""
        ...

    @property
    def dst_interface(self) -> int:
        """Interface of the destination server."""
        ...


class End(NamedTuple):
    """One end of a cable, as the server sees it.

    Attributes
    ----------
    far : int
        Number of the other end.
    """

    server: int
    interface: int
    far: int


@dataclass(frozen=True, eq=False)
class Addressing:
    """IPv4 addresses, names and MACs; make one with :func:`addressed`.

    A server has a block of *identities*, /32 addresses by which others reach it whatever the link. Cable k joins the
    *ends* 2k (at its ``src``) and 2k+1; its two ends are the two addresses of a /31, so that parallel cables have one
    each.

    Attributes
    ----------
    end_server, end_interface : int64 arrays, shape (ends,)
    duplex : bool
        Whether cables are bidirectional; else they carry bytes only from end 2k to end 2k+1.
    identities : int
        Addresses in the block of a server: a power of two.
    identity_first, link_first : int
        The first address of each prefix.
    server_names : tuple of str
    interface_names : tuple of tuple of str
        Interface names per server.
    macs : tuple of tuple of str
        MAC of each interface per server.
    """

    end_server: Ints
    end_interface: Ints
    duplex: bool
    identities: int
    identity_first: int
    link_first: int
    server_names: tuple[str, ...]
    interface_names: tuple[tuple[str, ...], ...]
    macs: tuple[tuple[str, ...], ...]

    @property
    def servers(self) -> int:
        """Number of servers."""
        return len(self.server_names)

    @property
    def ends(self) -> int:
        """Two for each cable."""
        return len(self.end_server)

    def end(self, end: int) -> End:
        """Return the location of an end, and its opposite end."""
        return End(int(self.end_server[end]), int(self.end_interface[end]), end ^ 1)

    def identity(self, server: int, identity: int = 0) -> str:
        """Return an address of a server, without ``/32``."""
        return _text(self.identity_first + server * self.identities + identity)

    def server_of(self, identity: str) -> int:
        """Return the server that has an identity."""
        return self._server_of[identity]

    @cached_property
    def _server_of(self) -> dict[str, int]:
        return {
            self.identity(server, identity): server
            for server in range(self.servers)
            for identity in range(self.identities)
        }

    def block(self, server: int) -> str:
        """Return all identities of a server as one prefix; ``a.b.c.d/32`` where there is one."""
        return f"{self.identity(server)}/{33 - self.identities.bit_length()}"

    def link_address(self, end: int) -> str:
        """Return the address of an end of a cable, without ``/31``."""
        return _text(self.link_first + end)

    def interface_name(self, end: int) -> str:
        """Return the name that the server of an end has for its interface."""
        where = self.end(end)
        return self.interface_names[where.server][where.interface]

    def mac(self, end: int) -> str:
        """Return the MAC of the interface at an end."""
        where = self.end(end)
        return self.macs[where.server][where.interface]

    def transit_mac(self, end: int) -> str:
        """Return the MAC of the second function of a port that is in two, which only hands on; always of our rule."""
        where = self.end(end)
        return _mac(where.server, where.interface, 1)

    @cached_property
    def ends_of_servers(self) -> tuple[tuple[int, ...], ...]:
        """The ends at each server, in order of interfaces."""
        order = np.lexsort((self.end_interface, self.end_server))
        parts = np.searchsorted(self.end_server[order], np.arange(1, self.servers))
        return tuple(tuple(part.tolist()) for part in np.split(order, parts))

    def leaving(self, topology: Topology) -> tuple[Ints, Ints]:
        """Return the ends at which each link begins: pointers, shape (links+1,), and ends, one for each port.

        Raises
        ------
        InvalidInput
            If a link has not as many cables as ports.
        """
        end = np.arange(self.ends) if self.duplex else np.arange(0, self.ends, 2)
        link = topology.link_ids(self.end_server[end], self.end_server[end ^ 1])
        count = np.bincount(link[link >= 0], minlength=len(topology))
        wrong = np.flatnonzero(count != topology.ports)
        if len(wrong):
            one = int(wrong[0])
            raise InvalidInput(
                f"addressing: link {topology.src[one]}->{topology.dst[one]} has {topology.ports[one]} ports and "
                f"{count[one]} cables; wire the same plan"
            )
        order = np.argsort(link, kind="stable")
        return np.concatenate(([0], np.cumsum(count))), end[order[np.count_nonzero(link < 0) :]]


def addressed(
    servers: Sequence[str] | int,
    cables: Iterable[Cable],
    *,
    duplex: bool = True,
    identities: int = 1,
    prefixes: tuple[str, str] = (IDENTITY_PREFIX, LINK_PREFIX),
    interface_names: Sequence[Sequence[str]] | None = None,
    macs: Sequence[Sequence[str]] | None = None,
) -> Addressing:
    """Return addresses for servers and cables, in their order.

    Parameters
    ----------
    servers : names, or how many
        Nameless servers are called s0, s1, …
    cables
        Each takes a /31; two on one interface are a fiber out and one in.
    identities : int
        Addresses that a server needs; rounded up to a power of two.
    prefixes : of identities, of links
        Chosen so that they do not overlap the servers' existing networks.
    interface_names : of each server, optional
        eth0, eth1, … by default.
    macs : of each interface, optional
        MAC addresses; missing ones are locally administered: 02:, then the server and the interface.

    Raises
    ------
    InvalidInput
        If a prefix is none, is too small, or the two overlap.
    """
    names = tuple(f"s{server}" for server in range(servers)) if isinstance(servers, int) else tuple(servers)
    rows = [(one.src, one.src_interface, one.dst, one.dst_interface) for one in cables]
    table = np.array(rows, np.int64).reshape(-1, 2)
    width = int(table[:, 1].max(initial=-1)) + 1
    block = 1 << (identities - 1).bit_length()
    first = _first_addresses(prefixes, len(names) * block, len(table))
    if interface_names is None:
        interface_names = ((*(f"eth{interface}" for interface in range(width)),),) * len(names)
    given = macs or [[""] * width] * len(names)
    made = [
        [mac or _mac(server, interface) for interface, mac in enumerate(row)]
        for server, row in enumerate(given)
    ]
    return Addressing(
        np.ascontiguousarray(table[:, 0]),
        np.ascontiguousarray(table[:, 1]),
        duplex,
        block,
        *first,
        names,
        tuple(map(tuple, interface_names)),
        tuple(map(tuple, made)),
    )


def checked_prefixes(prefixes: tuple[str, str]) -> tuple[IPv4Network, IPv4Network]:
    """Return the prefixes of identities and of links.

    Raises
    ------
    InvalidInput
        If one is none, or they overlap.
    """
    identities, links = (_network(*pair) for pair in zip(_PREFIX_WORDS, prefixes, strict=True))
    if identities.overlaps(links):
        raise InvalidInput(f"link_prefix: {links} overlaps {identities} of identity_prefix; give another")
    return identities, links


def _first_addresses(prefixes: tuple[str, str], servers: int, ends: int) -> tuple[int, int]:
    networks = checked_prefixes(prefixes)
    for word, network, needed in zip(_PREFIX_WORDS, networks, (servers, ends), strict=True):
        if network.num_addresses < needed:
            longest = 32 - (needed - 1).bit_length()
            raise InvalidInput(
                f"{word}: {network} has {network.num_addresses} addresses, {needed} are needed; "
                f"give a /{longest} or shorter"
            )
    return int(networks[0].network_address), int(networks[1].network_address)


def _network(word: str, prefix: str) -> IPv4Network:
    try:
        return IPv4Network(prefix)
    except ValueError:
        raise InvalidInput(
            f"{word}: expected an IPv4 prefix such as {LINK_PREFIX}, got {shown(prefix)}"
        ) from None


def _text(address: int) -> str:
    return f"{address >> 24}.{address >> 16 & 255}.{address >> 8 & 255}.{address & 255}"


def _mac(server: int, interface: int, function: int = 0) -> str:
    number = _MAC_BASE | server << 16 | interface << 8 | function
    return ":".join(f"{number >> shift & 255:02x}" for shift in range(40, -8, -8))
