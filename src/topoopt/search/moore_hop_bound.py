"""The bound of all links together: bytes × hops of the best graph that there could be.

For a set of bytes, each server's heaviest destinations are its nearest ones in Moore's tree, and likewise the sources
that it hears most from. Where a cable leads both ways, so do distances, and the bytes of both ways count together.
However few the bytes are, of k destinations one is as far as the last of k in that tree, a latency for each hop.
"""

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.catalog import ClusterSpec
from topoopt.search.demands import Demands
from topoopt.search.moore_hops import moore_hops

MOST_PAIRS = 20_000_000
"""Pairs of servers, all sets together, that are put in order; the most promising sets come first."""


def average_hop_bound_s(cluster: ClusterSpec, moved: Demands) -> float:
    """Return the bound of all links together, with Moore's hops for transfers and one hop for what a group reduces."""
    bytes_per_s = link_ends(cluster) * cluster.link_bandwidth_bps / 8
    tree = moore_hops(cluster.servers, cluster.degree, cluster.links)
    keys, pair = np.unique(moved.src * cluster.servers + moved.dst, return_inverse=True)
    case = _Pairs(cluster, keys, tree)
    total = _by_pair(pair, moved.size_bytes, len(keys))
    hops = case.hops_by_weight(total)[pair]
    # the order of all bytes is one of those that a set may have, so this is at least what the set's own order gives
    most = moved.grid.summed(moved.cell, moved.size_bytes * hops)
    promised_s = moved.grid.times_s((moved.grid.sets(most) + moved.collective_sets) / bytes_per_s)
    bound_s = 0.0
    for tried, of_set in enumerate(np.argsort(-promised_s, kind="stable").tolist()):
        if promised_s[of_set] <= bound_s or tried * len(keys) > MOST_PAIRS:
            break
        here = moved.grid.within(moved.cell, of_set)
        weight = _by_pair(pair[here], moved.size_bytes[here], len(keys))
        busy_s = (case.hop_bytes(weight) + moved.collective_sets[of_set]) / bytes_per_s
        if busy_s > 0:
            busy_s = max(busy_s, (case.farthest(weight) - 1) * moved.grid.latency_s)
            bound_s = max(bound_s, float(busy_s + moved.grid.around_s[of_set]))
    return bound_s


def link_ends(cluster: ClusterSpec) -> int:
    """Return the most directed links of a wiring: a cable needs two interfaces, and of an odd number one is idle."""
    ends = cluster.servers * cluster.degree
    return ends - ends % 2 if cluster.links == "duplex" else ends


def _by_pair(pair: Ints, size_bytes: Floats, pairs: int) -> Floats:
    return np.bincount(pair, size_bytes, minlength=pairs).astype(np.float64, copy=False)


class _Pairs:
    """Ordered pairs of servers with bytes, by source, and in the orders in which their hops are counted."""

    def __init__(self, cluster: ClusterSpec, keys: Ints, tree: Ints) -> None:
        self.src, self.dst = np.divmod(keys, cluster.servers)
        self.tree, self.duplex = tree, cluster.links == "duplex"
        back = np.searchsorted(keys, self.dst * cluster.servers + self.src)
        back = np.minimum(back, max(len(keys) - 1, 0))
        self.back = (
            np.where(keys[back] == self.dst * cluster.servers + self.src, back, -1) if len(keys) else back
        )

    def hops_by_weight(self, weight: Floats, end: Ints | None = None) -> Ints:
        """Return the hops of each pair if every source reaches its heaviest destinations first."""
        end = self.src if end is None else end
        order = np.lexsort((-weight, end))
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order)) - np.searchsorted(end[order], end[order])
        return self.tree[rank]

    def farthest(self, weight: Floats) -> int:
        """Return the hops to the last destination of a server, or from the last that it hears."""
        ends = (self.src[weight > 0], self.dst[weight > 0])
        most = max((int(np.bincount(end).max(initial=0)) for end in ends), default=0)
        return int(self.tree[most - 1]) if most else 1

    def hop_bytes(self, weight: Floats) -> float:
        """Return the least bytes × hops, by sources, by destinations and by both together."""
        found = [float(weight @ self.hops_by_weight(weight, end)) for end in (self.src, self.dst)]
        if self.duplex:
            # d(u, v) = d(v, u), so twice the hops are those of both ways: a pair that has only one counts for both ends
            alone = self.back < 0
            both = weight + np.where(alone, 0.0, weight[self.back])
            end = np.concatenate([self.src, self.dst[alone]])
            everyone = np.concatenate([both, weight[alone]])
            order = np.lexsort((-everyone, end))
            rank = np.arange(len(order)) - np.searchsorted(end[order], end[order])
            found.append(float(everyone[order] @ self.tree[rank]) / 2)
        return max(found)
