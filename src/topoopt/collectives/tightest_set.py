"""The set of servers whose data leave by the fewest ports: it bounds every all-gather.

References
----------
.. [1] L. Zhao et al., "ForestColl: Throughput-Optimal Collective Communications on Heterogeneous Network Fabrics",
   2024: an all-gather of M takes at least (M / N) · max over sets S of servers of |S| / (bandwidth out of S).
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from topoopt.topologies import Topology

MOST_SERVERS = 512
"""Servers up to which all sets are considered; above, only single servers, and all but one."""


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
        """Description of the set."""
        ports = "1 port" if self.ports_out == 1 else f"{self.ports_out} ports"
        return f"what {self.servers} servers have must leave by {ports}"


def tightest_set(topology: Topology) -> TightSet:
    """Return the set with most servers for a port out of it; switches may be in it, too.

    On a circulant, as on every wiring that looks alike from all servers, that is all servers but one: its ports are as
    few as any set's [2]_. Elsewhere flows to every server find it, or show that there is none tighter (Dinkelbach).

    References
    ----------
    .. [2] Y. O. Hamidoune, "Sur les atomes d'un graphe orienté", 1977, for digraphs; W. Mader, 1971, for graphs.
    """
    n = topology.servers
    into = np.bincount(topology.dst, topology.ports, n).astype(np.int64)[:n]
    out = np.bincount(topology.src, topology.ports, n).astype(np.int64)[:n]
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
    from scipy.sparse import csr_array  # noqa: PLC0415 - slow to import
    from scipy.sparse.csgraph import breadth_first_order, maximum_flow  # noqa: PLC0415 - slow to import

    n, source = topology.servers, topology.nodes
    # every server sends `ports_out` units, a port carries `servers`
    src = np.concatenate([topology.src, np.full(n, source)])
    dst = np.concatenate([topology.dst, np.arange(n)])
    room = np.concatenate([topology.ports.astype(np.int64) * best.servers, np.full(n, best.ports_out)])
    network = csr_array((room.astype(np.int32), (src, dst)), shape=(source + 1, source + 1))
    flow = maximum_flow(network, source, server)
    if flow.flow_value >= n * best.ports_out:
        return None
    left: Any = network - flow.flow  # the stubs take it for an array
    left.data = np.maximum(left.data, 0)
    left.eliminate_zeros()
    reached = breadth_first_order(left, source, return_predecessors=False)
    inside = np.zeros(source + 1, np.bool_)
    inside[reached] = True
    leaves = inside[topology.src] & ~inside[topology.dst]
    return TightSet(int(inside[:n].sum()), int(topology.ports[leaves].sum()))
