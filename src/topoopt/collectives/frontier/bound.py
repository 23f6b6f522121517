"""What no schedule undercuts on a wiring: bytes that must leave a set of servers over the links that lead out of it.

References
----------
.. [1] L. Zhao et al., "ForestColl: Throughput-Optimal Collective Communications on Heterogeneous Network Fabrics",
   2024: an all-gather of M takes at least (M / N) · max over sets S of servers of |S| / (bandwidth out of S).
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, maximum_flow

from topoopt.collectives.frontier.wiring import Wiring
from topoopt.routing import optimal_max_load
from topoopt.topologies import HopMetrics, Topology, reversed_links

LARGEST_LP = 20_000
"""Servers times links up to which the best routing of an all-to-all is computed: a second."""
MOST_SERVERS = 512
"""Above, only single servers, and all but one, are looked at."""


@dataclass(frozen=True, slots=True)
class Bound:
    """No schedule takes fewer steps, or fewer bytes over the fullest ports, than these.

    Attributes
    ----------
    volume : float
        As that of a :class:`~topoopt.collectives.frontier.Way`.
    why : str
        What gives the volume, in words.
    """

    steps: int
    volume: float
    why: str

    def time_s(self, size_bytes: float, alpha_s: float, server_bps: float) -> float:
        """Return the seconds for a message of so many bytes."""
        return self.steps * alpha_s + self.volume * size_bytes * 8.0 / server_bps


def bound_of(operation: str, wiring: Wiring, hops: HopMetrics) -> Bound:
    """Return the bound of an operation; an AllReduce is a reduce-scatter and an all-gather."""
    if operation == "all-to-all":
        return Bound(hops.diameter, *_all_to_all(wiring, hops))
    gather = tightest_set(wiring.topology)
    if operation == "all-gather":
        return Bound(hops.diameter, float(_volume(wiring, gather)), gather.why)
    scatter = gather if wiring.links == "duplex" else tightest_set(reversed_links(wiring.topology))
    if operation == "reduce-scatter":
        return Bound(hops.diameter, float(_volume(wiring, scatter)), scatter.why)
    both = float(_volume(wiring, gather) + _volume(wiring, scatter))
    return Bound(hops.diameter, both, gather.why)


@dataclass(frozen=True, slots=True)
class TightSet:
    """A set of servers, and the ports that lead out of it."""

    servers: int
    ports_out: int

    @property
    def ratio(self) -> Fraction:
        """Servers a port."""
        return Fraction(self.servers, self.ports_out)

    @property
    def why(self) -> str:
        """The set in words."""
        ports = "1 port" if self.ports_out == 1 else f"{self.ports_out} ports"
        return f"what {self.servers} servers have must leave by {ports}"


def _all_to_all(wiring: Wiring, hops: HopMetrics) -> tuple[float, str]:
    """Return the bytes of the best routing, or where that takes long, those of shortest ways on even links."""
    n, topology = wiring.servers, wiring.topology
    if topology.offsets or n * len(topology) <= LARGEST_LP:
        best = optimal_max_load(topology, np.ones((n, n)) - np.eye(n))
        carried = best.lower_bound_s * wiring.port_bps / 8.0
        return carried * wiring.ports / n, "no routing loads its fullest link less"
    # every byte takes as many links as the shortest way has, and a server has so many ports
    return hops.average_hops * (n - 1) / n, "every byte takes its shortest way"


def _volume(wiring: Wiring, tight: TightSet) -> Fraction:
    return tight.ratio * wiring.ports / wiring.servers


def tightest_set(topology: Topology) -> TightSet:
    """Return the set with most servers for a port out of it.

    On a circulant, as on every wiring that looks alike from all servers, that is all servers but one: its ports are as
    few as any set's [2]_. Elsewhere flows to every server find it, or show that there is none tighter (Dinkelbach).

    References
    ----------
    .. [2] Y. O. Hamidoune, "Sur les atomes d'un graphe orienté", 1977, for digraphs; W. Mader, 1971, for graphs.
    """
    n = topology.servers
    into = np.bincount(topology.dst, topology.ports, n).astype(np.int64)
    out = np.bincount(topology.src, topology.ports, n).astype(np.int64)
    best = TightSet(n - 1, int(into.min()))
    alone = TightSet(1, int(out.min()))
    best = max(best, alone, key=lambda tight: tight.ratio)
    if topology.offsets or n > MOST_SERVERS:
        return best
    for server in range(n):
        while True:
            tighter = _cut_before(topology, server, best)
            if tighter is None:
                break
            best = tighter
    return best


def _cut_before(topology: Topology, server: int, best: TightSet) -> TightSet | None:
    """Return a tighter set without this server, from which too little can flow to it; None if there is none."""
    n, source = topology.servers, topology.servers
    # every server sends `ports_out` units, a port carries `servers`
    src = np.concatenate([topology.src, np.full(n, source)])
    dst = np.concatenate([topology.dst, np.arange(n)])
    room = np.concatenate([topology.ports.astype(np.int64) * best.servers, np.full(n, best.ports_out)])
    network = csr_array((room.astype(np.int32), (src, dst)), shape=(n + 1, n + 1))
    flow = maximum_flow(network, source, server)
    if flow.flow_value >= n * best.ports_out:
        return None
    left: Any = network - flow.flow  # the stubs take it for an array
    left.data = np.maximum(left.data, 0)
    left.eliminate_zeros()
    reached = breadth_first_order(left, source, return_predecessors=False)
    inside = np.zeros(n + 1, np.bool_)
    inside[reached] = True
    leaves = inside[topology.src] & ~inside[topology.dst]
    return TightSet(int(inside[:n].sum()), int(topology.ports[leaves].sum()))
