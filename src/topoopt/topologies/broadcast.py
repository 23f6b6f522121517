"""Breadth-first broadcast: every shard reaches every server over shortest paths, with the most even load of its links.

In step t of an all-gather a server gets the shards of all servers t links away, from those neighbors that got them in
step t - 1, split over them at will. So it takes as many steps as the diameter, on any wiring.

References
----------
.. [1] L. Zhao et al., "Efficient Direct-Connect Topologies for Collective Communications", NSDI 2025: breadth-first
   broadcast, T_L and T_B.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import lcm

import numpy as np

from topoopt.base.arrays import Ints, Ints32
from topoopt.base.errors import InvalidInput, NoRoute
from topoopt.topologies.breadth_first_kernel import Flow, InLinks, Seen, fullest_by_flow, fullest_by_subsets
from topoopt.topologies.topology import Topology, topology_from_arrays

MOST_LINKS_OF_SUBSETS = 10
"""Links into a server up to which all their sets are enumerated; above, a flow finds the critical one."""
MOST_LINKS = 62
"""Links into a server; their sets are the bits of an integer."""
MOST_CHUNKS = 64
"""Parts of a shard; where the exact schedule needs more, the best with fewer is used."""


@dataclass(frozen=True, slots=True)
class BroadcastSteps:
    """Steps of an all-gather; a reduce-scatter takes the same steps in reverse.

    Attributes
    ----------
    ports : int
        Ports per server and direction.
    fullest : tuple of Fraction
        Shards that the fullest port carries in each step.
    """

    servers: int
    ports: int
    fullest: tuple[Fraction, ...]

    @property
    def steps(self) -> int:
        """The diameter: T_L."""
        return len(self.fullest)

    @property
    def volume(self) -> Fraction:
        """T_B: the time of the bytes over that of the whole message at all of a server's bandwidth.

        At least (n - 1) / n.
        """
        return Fraction(self.ports, self.servers) * sum(self.fullest, Fraction(0))

    @property
    def chunks(self) -> int:
        """Parts of a shard with which a schedule of whole chunks is as fast, at most :data:`MOST_CHUNKS`."""
        exact = lcm(*(share.denominator for share in self.fullest))
        if exact <= MOST_CHUNKS:
            return exact

        def rounded(chunks: int) -> Fraction:
            return sum((Fraction(-(-chunks * share // 1), chunks) for share in self.fullest), Fraction(0))

        return min(range(1, MOST_CHUNKS + 1), key=rounded)


def broadcast_steps(topology: Topology, ports: int | None = None) -> BroadcastSteps:
    """Return steps and bytes of a breadth-first broadcast from all to all.

    Parameters
    ----------
    ports : int, optional
        Ports per server, some of which may be idle. By default, every server must have the same number.

    Raises
    ------
    InvalidInput
        If there are switches, or servers differ in ports or ports in bandwidth.
    NoRoute
        If a server cannot reach another.

    Examples
    --------
    >>> from topoopt.topologies import circulant
    >>> steps = broadcast_steps(circulant(128, (1, 15), 100e9))
    >>> steps.steps, steps.volume
    (8, Fraction(127, 128))
    """
    ports = ports_of_all(topology, ports)
    if all_joined(topology):
        return BroadcastSteps(topology.servers, ports, (Fraction(1, int(topology.ports.min())),))
    roots = np.arange(1 if topology.offsets else topology.servers)
    wiring = WiringInLinks.of(topology)
    most, per = np.zeros(topology.servers, np.int64), np.ones(topology.servers, np.int64)
    reached = np.zeros(len(roots), np.int64)
    if wiring.widest <= MOST_LINKS_OF_SUBSETS:
        sets = np.empty((2, 1 << wiring.widest), np.int64)
        count = fullest_by_subsets(*wiring.rows, roots, *wiring.room(), sets[0], sets[1], most, per, reached)
    else:
        count = fullest_by_flow(wiring.rows, roots, *wiring.flow_room(), most, per, reached)
    for row in np.flatnonzero(reached < topology.servers)[:1]:
        raise NoRoute(
            f"{topology.family} of {topology.servers} servers: server {roots[row]} is reached by "
            f"{reached[row] - 1} others; a collective needs all of them connected"
        )
    fullest = tuple(Fraction(int(p), int(q)) for p, q in zip(most[:count], per[:count], strict=True))
    return BroadcastSteps(topology.servers, ports, fullest)


def reversed_links(topology: Topology) -> Topology:
    """Return the wiring with every link reversed: its reversed all-gather is our reduce-scatter."""
    return topology_from_arrays(
        topology.family,
        topology.servers,
        np.repeat(topology.dst.astype(np.int64), topology.ports),
        np.repeat(topology.src.astype(np.int64), topology.ports),
        np.repeat(topology.bandwidth_bps / topology.ports, topology.ports),
        np.repeat(topology.latency_s, topology.ports),
        topology.nodes,
        offsets=tuple(sorted(topology.servers - step for step in topology.offsets)),
    )


def links_among(topology: Topology, members: tuple[int, ...]) -> Topology | None:
    """Return the links with both ends in a group, whose members are numbered from 0; None where there are none."""
    place = np.full(topology.nodes, -1)
    place[list(members)] = np.arange(len(members))
    src, dst = place[topology.src], place[topology.dst]
    own = (src >= 0) & (dst >= 0)
    if not own.any():
        return None
    ports = topology.ports[own]
    return topology_from_arrays(
        topology.family,
        len(members),
        np.repeat(src[own], ports),
        np.repeat(dst[own], ports),
        np.repeat(topology.bandwidth_bps[own] / ports, ports),
        np.repeat(topology.latency_s[own], ports),
    )


def ports_of_all(topology: Topology, given: int | None = None) -> int:
    """Return the ports of a server, out and in, which must be those of all; of a given number some may be idle.

    Raises
    ------
    InvalidInput
        Naming the first server or link that differs.
    """
    n, ports = topology.servers, topology.ports
    if topology.nodes > n:
        raise InvalidInput(
            f"{topology.family}: servers hang on switches; give a wiring from server to server"
        )
    out = np.bincount(topology.src, ports, n).astype(np.int64)
    into = np.bincount(topology.dst, ports, n).astype(np.int64)
    usual = int(np.bincount(np.concatenate([out, into])).argmax()) if given is None else given
    for way, count in (("out", out), ("in", into)):
        for server in np.flatnonzero(count > usual if given else count != usual)[:1]:
            most = f"got degree={given}" if given else f"most have {usual}"
            raise InvalidInput(
                f"wiring: not regular: server {server} has {count[server]} ports {way}, {most}; give every server "
                f"as many, or degree={max(out.max(), into.max())} to leave ports idle"
            )
    each_bps = topology.bandwidth_bps / ports
    for link in np.flatnonzero(~np.isclose(each_bps, each_bps[0]))[:1]:
        raise InvalidInput(
            f"wiring: link {topology.src[link]}->{topology.dst[link]} has {each_bps[link]:g} b/s a port, others "
            f"{each_bps[0]:g}; give all ports the same bandwidth"
        )
    return usual


def all_joined(topology: Topology) -> bool:
    """Return whether every server has a link to every other one."""
    return len(topology) == topology.servers * (topology.servers - 1)


@dataclass(frozen=True, eq=False)
class WiringInLinks:
    """The links of a wiring by where they end, as the kernels have them."""

    first: Ints
    src: Ints32
    dst: Ints32
    ports: Ints
    widest: int

    @classmethod
    def of(cls, topology: Topology) -> "WiringInLinks":
        """Sort the links of a wiring by where they end."""
        order = np.lexsort((topology.src, topology.dst))
        dst = topology.dst[order]
        first = np.searchsorted(dst, np.arange(topology.servers + 1))
        widest = int(np.diff(first).max())
        if widest > MOST_LINKS:
            raise InvalidInput(
                f"{topology.family}: a server has {widest} neighbors; breadth-first broadcast takes "
                f"at most {MOST_LINKS}"
            )
        return cls(first, topology.src[order], dst, topology.ports[order].astype(np.int64), widest)

    @property
    def rows(self) -> InLinks:
        """The links as kernels take them."""
        return InLinks(self.first, self.src, self.ports)

    def room(self) -> tuple[Ints32, Ints, Ints32]:
        """Allocate scratch arrays, one entry per server."""
        servers = len(self.first) - 1
        return np.empty(servers, np.int32), np.empty(servers, np.int64), np.empty(servers, np.int32)

    def flow_room(self) -> tuple[Seen, Flow]:
        """Allocate scratch arrays of the flow kernel."""
        servers = len(self.first) - 1
        classes = np.empty((3, servers), np.int64)
        on_links = np.empty((4, self.widest), np.int64)
        return Seen(*self.room(), *classes), Flow(np.empty((servers, self.widest), np.int64), *on_links)
