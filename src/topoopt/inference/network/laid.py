"""What crosses which link of a fabric, and how long: shares of links of every pair, as arrays that are added up."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.routing import Fabric, PairLinks, Routes, all_pair_links
from topoopt.topologies import Topology
from topoopt.workloads import AllReduceGroup


@dataclass(frozen=True, eq=False)
class LaidRoutes:
    """Routes of all pairs of servers over the links of a topology.

    Attributes
    ----------
    rows : PairLinks
        Of the pair (src, dst) row ``src * servers + dst``.
    """

    topology: Topology
    rows: PairLinks

    @cached_property
    def link_s_per_byte(self) -> Floats:
        """Seconds of each link for a byte, shape (links,)."""
        return 8.0 / self.topology.bandwidth_bps

    @cached_property
    def pair_s_per_byte(self) -> Floats:
        """Seconds of the fullest link for a byte of each pair that has the network alone, shape (servers, servers)."""
        return self._most(self.link_s_per_byte[self.rows.link] * self.rows.share)

    @cached_property
    def hops(self) -> Floats:
        """Mean links of a byte of each pair; through a switch two links are one hop. Shape (servers, servers)."""
        links = self.rows.mean_hops().reshape(self._square)
        if self.topology.nodes == self.topology.servers:
            return links
        return np.asarray(np.minimum(links, 1.0))

    @cached_property
    def latency_s(self) -> Floats:
        """Latency of the links that a byte of each pair crosses, shape (servers, servers)."""
        owner = np.repeat(np.arange(len(self.rows)), np.diff(self.rows.pair_first))
        crossing = self.topology.latency_s[self.rows.link] * self.rows.share
        total = np.bincount(owner, crossing, minlength=len(self.rows))
        return np.asarray(total.reshape(self._square), np.float64)

    def loads(self, pair_bytes: Floats) -> Floats:
        """Return the bytes on each link, shape (links,)."""
        return self.rows.loads(pair_bytes.ravel(), len(self.topology))

    def busiest_on_way(self, busy: Floats) -> Floats:
        """Return how busy the busiest link on the way of each pair is, shape (servers, servers).

        Parameters
        ----------
        busy : float64 array, shape (links,)
        """
        return self._most(busy[self.rows.link])

    @property
    def _square(self) -> tuple[int, int]:
        return self.topology.servers, self.topology.servers

    def _most(self, values: Floats) -> Floats:
        """Return the largest of the values of each pair's links, 0 of a server with itself."""
        first = self.rows.pair_first
        used = np.flatnonzero(np.diff(first))
        most = np.zeros(len(self.rows))
        if len(used):
            most[used] = np.maximum.reduceat(values, first[used])
        return most.reshape(self._square)


def laid_routes(topology: Topology, routes: Routes) -> LaidRoutes:
    """Return the links of all pairs."""
    return LaidRoutes(topology, all_pair_links(topology, routes))


def ring_loads(fabric: Fabric, reduces: tuple[AllReduceGroup, ...]) -> Floats:
    """Return the bytes that AllReduces along the fabric's rings put on each link, shape (links,)."""
    load = np.zeros(len(fabric.topology))
    for group in reduces:
        rings = fabric.rings[group.members]
        share = group.wire_bytes / len(group.members) / len(rings)
        for ring in rings:
            np.add.at(load, fabric.topology.link_ids(*ring.edges()), share)
    return load
