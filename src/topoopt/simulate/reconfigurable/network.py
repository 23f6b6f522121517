"""What the circuits of the moment give each pair of servers: links, shares of them, and overheads."""

import numpy as np

from topoopt.collectives import path_overheads
from topoopt.finder import reached
from topoopt.routing import Fabric, pair_links
from topoopt.simulate.reconfigurable.kernel import Network
from topoopt.simulate.task_graph import Ints


def network(fabric: Fabric, src: Ints, dst: Ints) -> Network:
    """Return the routes of the pairs over the fabric's present links; a pair without a route has no links.

    What it would take to open a connection over a single circuit stands for a pair that has none.
    """
    topology, rule = fabric.topology, fabric.beat
    routed = reached(fabric, src, dst)
    found = pair_links(topology, fabric.routes, src[routed], dst[routed])
    link = found.link.astype(np.int64)
    before, after = (
        np.full(len(src), 8.0 / rule.bandwidth_bps + rule.latency_s),
        np.full(len(src), rule.latency_s),
    )
    before[routed], after[routed] = path_overheads(
        topology.bandwidth_bps[link], topology.latency_s[link], found.share, found.pair_first
    )
    counts = np.zeros(len(src), np.int64)
    counts[routed] = np.diff(found.pair_first)
    first = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    return Network(first, link, found.share, topology.bandwidth_bps / 8.0, before, after)


def dark(net: Network) -> Network:
    """Return the network while circuits change: no pair has a link."""
    return net._replace(link_first=np.zeros_like(net.link_first))
