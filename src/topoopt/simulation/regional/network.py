"""What each pair of servers sends over at present: its circuits, or its routes on the electrical fabric.

Links are numbered electrical ones first, then a place for the circuits from each server to each of its region.
"""

from dataclasses import dataclass

import numpy as np

from topoopt.base.arrays import Ints
from topoopt.routing import Fabric, RegionalReconfiguration, pair_links
from topoopt.simulation.link_classes import laid
from topoopt.simulation.reconfigurable.connections import Connections
from topoopt.simulation.reconfigurable.network import Network


@dataclass(frozen=True, eq=False)
class Ways:
    """Both ways of every pair, by rows of the connections.

    Attributes
    ----------
    place : int64 array, shape (pairs,)
        Link of the pair's circuits, -1 if it may have none.
    electrical : Network
        Every pair on its routes; ``capacity`` is of the electrical links alone.
    """

    rule: RegionalReconfiguration
    place: Ints
    electrical: Network

    def network(self, circuits: Ints) -> Network:
        """Return the network with circuits, int64 array of shape (servers, region_servers)."""
        rule, routes = self.rule, self.electrical
        count = np.append(circuits.ravel(), 0)  # the last is that of pairs that may have none
        links = len(routes.capacity)
        own = count[np.where(self.place < 0, -1, self.place - links)]
        optical = own > 0
        each_bps = np.where(optical, own, 1) * rule.bandwidth_bps
        length = np.where(optical, 1, np.diff(routes.link_first))
        first = np.concatenate(([0], np.cumsum(length)))
        link, coefficient = np.empty(first[-1], np.int64), np.ones(first[-1])
        kept = np.repeat(~optical, np.diff(routes.link_first))
        electrical = np.repeat(~optical, length)
        link[electrical], coefficient[electrical] = routes.link[kept], routes.coefficient[kept]
        link[~electrical] = self.place[optical]
        return Network(
            first,
            link,
            coefficient,
            np.concatenate([routes.capacity, circuits.ravel() * rule.bandwidth_bps / 8.0]),
            np.where(optical, 8.0 / each_bps + rule.latency_s, routes.before),
            np.where(optical, rule.latency_s, routes.after),
        )


def make_ways(fabric: Fabric, rule: RegionalReconfiguration, connections: Connections) -> Ways:
    """Return the ways of all pairs; rows of their own take circuits where there are some."""
    src, dst = connections.src, connections.dst
    pairs = pair_links(fabric.topology, fabric.routes, src, dst)
    first, link, share, before, after = laid(fabric, pairs.pair_first, pairs.link, pairs.share)
    routes = Network(first, link, share, fabric.topology.bandwidth_bps / 8.0, before, after)
    place = len(fabric.topology) + src * rule.region_servers + dst % rule.region_servers
    return Ways(rule, np.where(connections.apart & rule.joins(src, dst), place, -1), routes)
