"""How good could it be: iteration times that no degree-d topology can beat for a given strategy.

Every byte has a *window* (:mod:`topoopt.search.bounds.transfer_windows`): the earliest moment at which it can exist,
and what must
follow it. Whatever is released at a or later and followed by b or more has moved between a and the end less b, so
a + bytes ÷ bandwidth + b bounds the iteration (:mod:`topoopt.search.bounds.demands`): for each server's own
interfaces and
those of each group that reduces together (injection bound), and for all links together, where a byte that must travel h
hops counts h times. No graph of degree d has fewer hops than Moore's tree: d servers at one hop, d(d-1) at two
(directed: d²), … The windows themselves give a bound, the longest chain (critical path).

The bounds hold for every network of these interfaces, every order of work and exchange, and every collective algorithm
of a group's own members, with the buckets that the strategy's task graph has. They leave out packet headers.

The bound of all links together: bytes × hops of the best graph that there could be.

For a set of bytes, each server's heaviest destinations are its nearest ones in Moore's tree, and likewise the sources
that it hears most from. Where a cable leads both ways, so do distances, and the bytes of both ways count together.
However few the bytes are, of k destinations one is as far as the last of k in that tree, a latency for each hop.
"""

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.catalog import ClusterSpec
from topoopt.plans import Bounds
from topoopt.search.bounds.demands import Demands
from topoopt.search.bounds.transfer_windows import Windows, moore_hops

MOST_PAIRS = 20_000_000
"""Pairs of servers, all sets together, that are put in order; the most promising sets come first."""


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


LARGEST_TABLE = 1 << 24
"""Numbers in a table of servers by sets; of larger clusters some servers are looked at after the others."""


def lower_bounds(cluster: ClusterSpec, found: Windows, moved: Demands) -> Bounds:
    """Return the bounds of what is to be moved in these windows on the cluster."""
    bytes_per_s = np.full(cluster.servers, cluster.server_bandwidth_bps / 8)
    return Bounds(
        found.compute_s,
        injection_bound_s(moved, bytes_per_s, bytes_per_s),
        average_hop_bound_s(cluster, moved),
        found.critical_path_s,
    )


def injection_bound_s(moved: Demands, out_bytes_per_s: Floats, in_bytes_per_s: Floats) -> float:
    """Return the bound of the busiest server's interfaces, or those of a group, outward or inward.

    A collective takes from a single server what each member must send or hear, and from a group that has it alone what
    all members together must: any algorithm may spare a member, and then others have more to do.

    Parameters
    ----------
    out_bytes_per_s, in_bytes_per_s : float64 arrays, shape (servers,)
        What the interfaces of each server can send and hear.
    """
    return max(
        _one_way_s(moved, moved.src, moved.out_bytes, out_bytes_per_s),
        _one_way_s(moved, moved.dst, moved.in_bytes, in_bytes_per_s),
    )


def _one_way_s(moved: Demands, end: Ints, of_member: Floats, bytes_per_s: Floats) -> float:
    cells, servers = moved.grid.cells, len(bytes_per_s)
    members = np.diff(moved.member_first)
    at = np.concatenate([end, moved.member]) * cells
    at += np.concatenate([moved.cell, np.repeat(moved.collective_cell, members)])
    sizes = np.concatenate([moved.size_bytes, np.repeat(of_member, members)])
    bound_s, table = 0.0, np.zeros((0, cells))
    every = max(LARGEST_TABLE // cells, 1)
    for first in range(0, servers, every):
        count = min(every, servers - first)
        here = (at >= first * cells) & (at < (first + count) * cells) if count < servers else slice(None)
        flat = np.bincount(at[here] - first * cells, sizes[here], minlength=count * cells)
        table = flat.astype(np.float64, copy=False).reshape(count, cells)
        busy_s = moved.grid.sets(table) / bytes_per_s[first : first + count, None]
        bound_s = max(bound_s, float(moved.grid.times_s(busy_s).max(initial=0.0)))
    if len(table) < servers:  # then the table of all servers is too large for that of the groups, too
        return bound_s
    return max(bound_s, _groups_s(moved, table, of_member, bytes_per_s))


def _groups_s(moved: Demands, table: Floats, of_member: Floats, bytes_per_s: Floats) -> float:
    """Return the bound of the groups; ``table`` has the bytes of each server by cell, shape (servers, cells)."""
    members = np.diff(moved.member_first)
    more = moved.total_bytes - members * of_member
    bound_s = 0.0
    first = np.unique(moved.group, return_index=True)[1] if len(more) else np.zeros(0, np.int64)
    extra = np.zeros((len(first), moved.grid.cells))
    np.add.at(extra, (moved.group, moved.collective_cell), more)
    for row, one in enumerate(first.tolist()):
        group = moved.member[moved.member_first[one] : moved.member_first[one + 1]]
        busy_s = moved.grid.sets(table[group].sum(axis=0) + extra[row]) / bytes_per_s[group].sum()
        bound_s = max(bound_s, float(moved.grid.times_s(busy_s).max(initial=0.0)))
    return bound_s


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
