"""Layout of an emulated network: nodes, cables between their interfaces, and forwarding at each node.

Bandwidths become token buckets, and kernel settings make rates and counts exact.

Packets have their size on the wire: segmentation offload is off on all cables (at most one segment per buffer), so
that a bucket and a counter see every header, and a packet of 9,000 bytes counts 9,014. A bucket holds two packets,
or two milliseconds of the link's rate if that is more: timers of a busy host are late by that much. A queue holds
more than all windows that meet in it, so that nothing is lost and no byte counted twice.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from types import MappingProxyType

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.base.errors import InvalidInput
from topoopt.finder.rewiring import Patch, Wiring
from topoopt.routing import ExplicitRoutes, Fabric, Path, Routes, explicit_routes
from topoopt.routing.forwarding import forwarding_tables
from topoopt.topologies import Topology

_MOST_ROUNDS = 50
HEADER_BYTES = 14
"""Ethernet header, which interfaces count."""
QUEUE_BYTES = 4 << 20
"""Longest queue before a link: 16 windows."""
_WINDOW_BYTES = 1 << 18
_LATE_S = 2e-3
SETTINGS = MappingProxyType(
    {
        "net.ipv4.ip_forward": "1",
        "net.ipv4.conf.all.rp_filter": "0",  # packets may come by another link than answers go
        "net.ipv4.conf.default.rp_filter": "0",
        "net.ipv4.conf.all.send_redirects": "0",
        "net.ipv4.conf.default.send_redirects": "0",
        "net.ipv4.fib_multipath_hash_policy": "1",  # parallel links share connections, not servers
        "net.ipv4.tcp_slow_start_after_idle": "0",  # a ring waits for its neighbors at every step
        "net.ipv4.tcp_no_metrics_save": "1",  # no run learns from the one before
        "net.ipv4.tcp_rmem": f"4096 131072 {2 * _WINDOW_BYTES}",  # half of it is window
        "net.ipv4.tcp_wmem": f"4096 65536 {2 * _WINDOW_BYTES}",
        "net.ipv6.conf.all.disable_ipv6": "1",  # nothing speaks but the programs
        "net.ipv6.conf.default.disable_ipv6": "1",
    }
)
"""Kernel settings of every server."""


@dataclass(frozen=True, slots=True)
class Shaping:
    """Packet size, queue length, and kernel settings.

    Attributes
    ----------
    mtu_bytes : int
        Largest IP packet on every cable.
    queue_bytes : int
        Longest queue before a link; more is dropped.
    settings : mapping
        Values by the name of the kernel setting.
    """

    mtu_bytes: int
    queue_bytes: int
    settings: Mapping[str, str]

    @property
    def frame_bytes(self) -> int:
        """A full packet, as interfaces count it."""
        return self.mtu_bytes + HEADER_BYTES

    def bucket_bytes(self, bandwidth_bps: float) -> int:
        """Return the bytes that a link may send at once after it was idle."""
        return max(2 * self.frame_bytes, int(bandwidth_bps / 8 * _LATE_S))


LOSSLESS = Shaping(9000, QUEUE_BYTES, SETTINGS)
"""Shaping of a plan's network: large packets, and queues that hold all windows that meet in them."""
MOST_SERVERS = 254
"""Servers of a testbed: an identity is 10.255.0.(server + 1)."""
_MOST_INTERFACES = 256


@dataclass(frozen=True, slots=True)
class Port:
    """One end of a cable.

    Attributes
    ----------
    node : int
        The server, or ``servers`` for the switch.
    name : str
        The interface: ``nic2``; of the switch ``port7``.
    address : str
        Own address, one of two of a /31; empty at a switch and the ports connected to it.
    bandwidth_bps : float
        Sending rate, before scaling.
    """

    node: int
    name: str
    mac: str
    address: str
    bandwidth_bps: float


@dataclass(frozen=True, slots=True)
class Cable:
    """Two ports that are joined, as a veth pair."""

    a: Port
    b: Port

    @property
    def ends(self) -> tuple[tuple[Port, Port], tuple[Port, Port]]:
        """Each port with the one that it sends to."""
        return (self.a, self.b), (self.b, self.a)


@dataclass(frozen=True, slots=True)
class ServerRoute:
    """Forwarding by a server to another one.

    Attributes
    ----------
    source : int, optional
        Only packets sent by this server; None: all.
    ports : tuple of (Port, Port)
        Through which port, and the one at the other end; parallel links share the connections.
    """

    server: int
    destination: int
    source: int | None
    ports: tuple[tuple[Port, Port], ...]


@dataclass(frozen=True)
class Layout:
    """Contents of a testbed in the plan's numbers; the testbed's ``scale`` converts them.

    Attributes
    ----------
    servers : int
    cables : tuple of Cable
    routes : tuple of ServerRoute
    switch : bool
        Whether the last node is a switch, on which all servers hang; there are no routes then.
    forwarding : str
        Basis of forwarding: ``destination``, ``source`` or ``switch``.
    why : str
        Reason for that choice.
    shaping : Shaping
        Packets and queues.
    """

    servers: int
    cables: tuple[Cable, ...]
    routes: tuple[ServerRoute, ...]
    switch: bool
    forwarding: str
    why: str
    shaping: Shaping = LOSSLESS

    def __post_init__(self) -> None:
        if not 2 <= self.servers <= MOST_SERVERS:
            raise InvalidInput(f"testbed: must have 2..{MOST_SERVERS} servers, got {self.servers}")

    @cached_property
    def ports_of(self) -> Mapping[int, tuple[tuple[Port, Port], ...]]:
        """The ports of each node, with the one at the other end."""
        found: dict[int, list[tuple[Port, Port]]] = {node: [] for node in range(self.nodes)}
        for cable in self.cables:
            for near, far in cable.ends:
                found[near.node].append((near, far))
        return {node: tuple(ports) for node, ports in found.items()}

    @property
    def nodes(self) -> int:
        """Servers, and the switch where there is one."""
        return self.servers + self.switch

    @cached_property
    def senders(self) -> tuple[Port, ...]:
        """The ports that packets leave by; those at which a directed fiber ends are none."""
        if self.switch:
            return tuple(near for cable in self.cables for near, _ in cable.ends)
        return tuple(dict.fromkeys(near for route in self.routes for near, _ in route.ports))

    @property
    def largest_bandwidth_bps(self) -> float:
        """Largest bandwidth of a port, before scaling."""
        return max(port.bandwidth_bps for port in self.senders)

    @property
    def total_bandwidth_bps(self) -> float:
        """Bandwidth of all ports together, before scaling: the kernel's load when all links are full."""
        return sum(port.bandwidth_bps for port in self.senders)


def identity(server: int) -> str:
    """Return the address that a server is known by, whatever its links: a /32 on its loopback."""
    return f"10.255.0.{server + 1}"


def node_name(layout: Layout, node: int) -> str:
    """Return ``s3``, or ``switch``."""
    return "switch" if node >= layout.servers else f"s{node}"


def direct_layout(fabric: Fabric, wiring: Wiring, bandwidth_bps: float) -> Layout:
    """Return the layout of servers joined by their own links, as they are patched.

    Parameters
    ----------
    fabric : Fabric
        Fabric of fixed direct links, with one path per pair, as returned by :func:`single_paths`.
    wiring : Wiring
        Interfaces that the links take.
    bandwidth_bps : float
        Bandwidth of one link.

    Raises
    ------
    InvalidInput
        If there are switches, or circuits that change.
    """
    topology = fabric.topology
    if topology.nodes > topology.servers or fabric.reconfiguration is not None:
        raise InvalidInput(f"testbed: {fabric.name}: expected links from server to server that stay")
    cables = tuple(_cable(patch, wiring, bandwidth_bps) for patch in wiring.patches)
    tables = forwarding_tables(topology, fabric.routes)
    assert not tables.splits, "a connection is on one path"
    joined: dict[tuple[int, int], list[tuple[Port, Port]]] = {}
    for cable in cables:
        for near, far in cable.ends if wiring.links == "duplex" else cable.ends[:1]:
            joined.setdefault((near.node, far.node), []).append((near, far))
    neighbor = tables.topology.dst[tables.link[tables.hop_first[:-1]]]
    rows = zip(
        tables.node.tolist(), tables.dst.tolist(), tables.source.tolist(), neighbor.tolist(), strict=True
    )
    server_routes = tuple(
        ServerRoute(server, dst, None if source < 0 else source, tuple(joined[server, to]))
        for server, dst, source, to in rows
    )
    return Layout(topology.servers, cables, server_routes, False, tables.kind, tables.why)


def switch_layout(servers: int, bandwidth_bps: float) -> Layout:
    """Return the layout of servers that hang on one switch, each at that bandwidth."""
    cables = tuple(
        Cable(
            Port(server, "nic0", _mac(2 * server), "", bandwidth_bps),
            Port(servers, f"port{server}", _mac(2 * server + 1), "", bandwidth_bps),
        )
        for server in range(servers)
    )
    return Layout(servers, cables, (), True, "switch", "one switch joins all servers")


def _cable(patch: Patch, wiring: Wiring, bandwidth_bps: float) -> Cable:
    """Return a cable; its addresses are those of its first port, so that other cables may come and go."""
    out, into = ("nic", "nic") if wiring.links == "duplex" else ("tx", "rx")
    number = 2 * (patch.src * _MOST_INTERFACES + patch.src_interface)
    one, other = (f"10.{n >> 16}.{n >> 8 & 255}.{n & 255}" for n in (number, number + 1))
    return Cable(
        Port(patch.src, f"{out}{patch.src_interface}", _mac(number), one, bandwidth_bps),
        Port(patch.dst, f"{into}{patch.dst_interface}", _mac(number + 1), other, bandwidth_bps),
    )


def _mac(number: int) -> str:
    return "02:70:" + ":".join(f"{number >> shift & 255:02x}" for shift in (24, 16, 8, 0))


def single_paths(topology: Topology, routes: Routes) -> ExplicitRoutes:
    """Return routes of one path a pair, out of the paths that the pair has.

    In a kernel a connection is on one path, and programs such as gloo open one a pair, so that shares of a pair's
    bytes could not be held. Every pair counts alike. The path of the largest weight is taken first; then pair after
    pair moves to the path that makes the sum of all links' squared loads smallest, until none gains.
    """
    pairs = [(src, dst) for src in range(topology.servers) for dst in range(topology.servers) if src != dst]
    options = [sorted(routes.paths(*pair), key=lambda path: -path.weight) for pair in pairs]
    links = [
        [np.array([topology.link_id(a, b) for a, b in pairwise(path.nodes)]) for path in some]
        for some in options
    ]
    chosen = [0] * len(pairs)
    load: Floats = np.zeros(len(topology))
    for some in links:
        load[some[0]] += 1
    weight = topology.bandwidth_bps.max() / topology.bandwidth_bps
    for _ in range(_MOST_ROUNDS):
        moved = False
        for pair, some in enumerate(links):
            now = chosen[pair]
            load[some[now]] -= 1
            cost = [float((weight[one] * (2 * load[one] + 1)).sum()) for one in some]
            best = min(range(len(some)), key=lambda k: (round(cost[k], 9), k != now, k))
            load[some[best]] += 1
            moved |= best != now
            chosen[pair] = best
        if not moved:
            break
    return explicit_routes(
        topology, (Path(some[best].nodes) for some, best in zip(options, chosen, strict=True))
    )
