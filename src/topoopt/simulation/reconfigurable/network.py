"""The noun Network: what the circuits of the moment give each pair of servers, links, shares of them, and overheads."""

from typing import NamedTuple

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.finder import reached
from topoopt.routing import Fabric, pair_links
from topoopt.simulation.csr import pointer
from topoopt.simulation.fluid.sharing import Links, make_links
from topoopt.simulation.fluid.state import Delays
from topoopt.simulation.link_classes import laid


class Network(NamedTuple):
    """What each pair has.

    ``link_first`` (pairs+1,) points into ``link`` and ``coefficient``, the links of a pair and its bytes on each
    per byte sent; none while a pair waits. ``capacity`` (links,) is in bytes/s, ``before`` and ``after`` (pairs,)
    are the s between opening and the first byte, and between the last byte and the end.
    """

    link_first: Ints
    link: Ints
    coefficient: Floats
    capacity: Floats
    before: Floats
    after: Floats

    def links(self) -> Links:
        """Return the links as the engine shares them; a class is a pair."""
        return make_links(self.link_first, self.link, self.coefficient, self.capacity, afresh=True)

    def delays(self, pair: Ints) -> Delays:
        """Return the delays of connections of these pairs."""
        return Delays(self.before[pair], self.after[pair])


def network(fabric: Fabric, src: Ints, dst: Ints) -> Network:
    """Return the routes of the pairs over the fabric's present links; a pair without a route has no links.

    What it would take to open a connection over a single circuit stands for a pair that has none.
    """
    topology, rule = fabric.topology, fabric.beat
    routed = reached(fabric, src, dst)
    pairs = pair_links(topology, fabric.routes, src[routed], dst[routed])
    first, link, share, *overheads = laid(fabric, pairs.pair_first, pairs.link, pairs.share)
    before = np.full(len(src), 8.0 / rule.bandwidth_bps + rule.latency_s)
    after = np.full(len(src), rule.latency_s)
    before[routed], after[routed] = overheads
    counts = np.zeros(len(src), np.int64)
    counts[routed] = np.diff(first)
    return Network(pointer(counts), link, share, topology.bandwidth_bps / 8.0, before, after)


def dark(links: Links) -> Links:
    """Return the links while circuits change: no pair has one."""
    return links._replace(class_first=np.zeros_like(links.class_first))
