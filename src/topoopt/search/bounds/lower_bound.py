"""Lower bounds: iteration times that no degree-d topology can beat for a strategy, from its demands in their windows.

Every byte has a *window* (:mod:`topoopt.search.bounds.transfer_windows`): the earliest moment at which it can
exist, and the work that must follow it. Bytes released at a or later and followed by b or more move between a and
the end less b, so a + bytes ÷ bandwidth + b bounds the iteration: for each server's own interfaces and those of
each group that reduces together (injection bound), and for all links together, where a byte that must travel h
hops counts h times. No graph of degree d has fewer hops than Moore's tree: d servers at one hop, d(d-1) at two
(directed: d²), … The windows themselves give a bound, the longest chain (critical path).

The bounds hold for every network of these interfaces, every order of work and exchange, and every collective algorithm
of a group's own members, with the buckets that the strategy's task graph has. They leave out packet headers.

The bound of all links together takes bytes × hops of the best graph that there could be. For a set of bytes, each
server's heaviest destinations are its nearest ones in Moore's tree, and likewise the sources of most bytes.
Where cables are bidirectional, so are distances, and the bytes of both directions add up. However few the bytes are,
of k destinations one is as far as the last of k in that tree, a latency for each hop.

``Demands`` are the transfers of a strategy's task graph, each with its window.

A ``WindowGrid`` has bytes sorted by their release and by the work that follows; its bound, over all a and b, is
that of one machine with heads and tails (Carlier 1982).
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from topoopt.base.arrays import Floats, Ints
from topoopt.catalog import ClusterSpec
from topoopt.plans import Bounds
from topoopt.search.bounds.transfer_windows import ALL_TO_ALL, PASSES, Windows, moore_hops
from topoopt.simulation import COLLECTIVE, COLLECTIVES, Folded, TaskGraph, pair_demands

HEADS, TAILS = 32, 16
"""Moments, and times after, at which sets are tried: any subset of them gives a valid bound."""
FINE = 512
"""Moments where the following work is not distinguished."""


@dataclass(frozen=True, eq=False)
class WindowGrid:
    """Moments a and times b, in rising order, that cut all windows into cells.

    Attributes
    ----------
    head_s, tail_s : float64 arrays, shapes (heads,), (tails,)
    latency_s : float
        Time from the departure of a set's last byte to its arrival.
    last_s : float64 array, shape (heads,)
        The last moment that counts as each of the heads.
    """

    head_s: Floats
    tail_s: Floats
    latency_s: float
    last_s: Floats

    @property
    def cells(self) -> int:
        """Number of sets."""
        return len(self.head_s) * len(self.tail_s)

    def cell(self, release_s: Floats, tail_s: Floats) -> Ints:
        """Return the cell of each window, earlier and with less after it than the window."""
        head = np.searchsorted(self.head_s, release_s, side="right") - 1
        tail = np.searchsorted(self.tail_s, tail_s, side="right") - 1
        return head * len(self.tail_s) + tail

    def summed(self, cell: Ints, size_bytes: Floats) -> Floats:
        """Return the bytes of each cell, shape (cells,)."""
        total: Floats = np.bincount(cell, size_bytes, minlength=self.cells).astype(np.float64, copy=False)
        return total

    def sets(self, by_cell: Floats) -> Floats:
        """Return the sums over each set: a cell with all that are released later and have more after them.

        The last axis of ``by_cell`` has the cells, and that of the answer the sets.
        """
        table = by_cell.reshape(*by_cell.shape[:-1], len(self.head_s), len(self.tail_s))
        later = np.cumsum(table[..., ::-1, ::-1], axis=-2).cumsum(axis=-1)[..., ::-1, ::-1]
        return later.reshape(by_cell.shape)

    def within(self, cell: Ints, of_set: int) -> NDArray[np.bool_]:
        """Return which cells belong to a set."""
        head, tail = np.divmod(of_set, len(self.tail_s))
        at_head, at_tail = np.divmod(cell, len(self.tail_s))
        inside: NDArray[np.bool_] = (at_head >= head) & (at_tail >= tail)
        return inside

    def reaching(self, release_s: Floats, tail_s: Floats) -> "WindowGrid":
        """Return the grid whose first cell begins early enough for these windows, too; all cells keep their numbers."""
        head_s, tails_s = self.head_s.copy(), self.tail_s.copy()
        head_s[0] = min(head_s[0], float(release_s.min(initial=np.inf)))
        tails_s[0] = min(tails_s[0], float(tail_s.min(initial=np.inf)))
        return replace(self, head_s=head_s, tail_s=tails_s)

    @property
    def undercut_by_none(self) -> "WindowGrid":
        """Grid that gives upper limits on the bounds of any set of these bytes.

        The set released at a or later is within that of the head before a, and a is not after its last. For that,
        the following work must be distinguished fully, or not at all.
        """
        return replace(self, head_s=self.last_s)

    @property
    def around_s(self) -> Floats:
        """Seconds before and after each set, shape (sets,)."""
        around: Floats = (self.head_s[:, None] + self.tail_s).ravel() + self.latency_s
        return around

    def times_s(self, busy_s: Floats) -> Floats:
        """Return the bound of each set that keeps a resource busy for this long; 0 for sets without bytes."""
        bounds_s: Floats = np.where(busy_s > 0, busy_s + self.around_s, 0.0)
        return bounds_s


@dataclass(frozen=True, eq=False)
class Demands:
    """Transfers between pairs of servers, and collectives by any algorithm; all in cells of a grid.

    Attributes
    ----------
    src, dst, size_bytes, cell
        Sources, destinations, bytes and cells of transfers, shape (transfers,).
    member_first, member, total_bytes, out_bytes, in_bytes, collective_cell
        Members of collectives as CSR; lower bounds on their total bytes, and on the bytes each sends and receives.
    all_bytes : float64 array, shape (transfers,)
        Bytes of the transfers with those of all replicas that do the same but are not in the task graph.
    """

    grid: WindowGrid
    src: Ints
    dst: Ints
    size_bytes: Floats
    cell: Ints
    member_first: Ints
    member: Ints
    total_bytes: Floats
    out_bytes: Floats
    in_bytes: Floats
    collective_cell: Ints
    all_bytes: Floats

    @cached_property
    def collective_sets(self) -> Floats:
        """Bytes of the collectives of each set, shape (sets,)."""
        return self.grid.sets(self.grid.summed(self.collective_cell, self.total_bytes))

    @cached_property
    def group(self) -> Ints:
        """Number of each collective's group: of equal members, shape (collectives,)."""
        if not len(self.total_bytes):
            return np.zeros(0, np.int64)
        drawn = np.random.default_rng(0).integers(0, 2**63, int(self.member.max()) + 1, np.uint64)
        return np.unique(np.add.reduceat(drawn[self.member], self.member_first[:-1]), return_inverse=True)[1]


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
        """Return the hops to the last destination of a server, or from its last source."""
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
"""Numbers in a table of servers by sets; larger clusters are processed in parts."""


def lower_bounds(cluster: ClusterSpec, found: Windows, moved: Demands) -> Bounds:
    """Return the bounds on the traffic in these windows on the cluster."""
    bytes_per_s = np.full(cluster.servers, cluster.server_bandwidth_bps / 8)
    return Bounds(
        found.compute_s,
        injection_bound_s(moved, bytes_per_s, bytes_per_s),
        average_hop_bound_s(cluster, moved),
        found.critical_path_s,
    )


def injection_bound_s(moved: Demands, out_bytes_per_s: Floats, in_bytes_per_s: Floats) -> float:
    """Return the bound of the busiest server's interfaces, or those of a group, outward or inward.

    From a single server, a collective takes at least the bytes that each member must send or receive; from a group
    that has it alone, at least those of all members together: an algorithm may spare a member, and then others
    have more to do.

    Parameters
    ----------
    out_bytes_per_s, in_bytes_per_s : float64 arrays, shape (servers,)
        Bandwidth of each server's interfaces, outward and inward.
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
    more = np.concatenate([moved.all_bytes - moved.size_bytes, np.zeros(len(moved.member))])
    if more.any():
        table = table + np.bincount(at, more, minlength=table.size).reshape(table.shape)
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
    """Return the bound of all links together, with Moore's hops for transfers and one hop for reductions within
    groups."""
    bytes_per_s = link_ends(cluster) * cluster.link_bandwidth_bps / 8
    tree = moore_hops(cluster.servers, cluster.degree, cluster.links)
    keys, pair = np.unique(moved.src * cluster.servers + moved.dst, return_inverse=True)
    case = _Pairs(cluster, keys, tree)
    total = _by_pair(pair, moved.all_bytes, len(keys))
    hops = case.hops_by_weight(total)[pair]
    # the order of all bytes is one of those that a set may have, so this is at least what the set's own order gives
    most = moved.grid.summed(moved.cell, moved.all_bytes * hops)
    promised_s = moved.grid.times_s((moved.grid.sets(most) + moved.collective_sets) / bytes_per_s)
    bound_s = 0.0
    for tried, of_set in enumerate(np.argsort(-promised_s, kind="stable").tolist()):
        if promised_s[of_set] <= bound_s or tried * len(keys) > MOST_PAIRS:
            break
        here = moved.grid.within(moved.cell, of_set)
        weight = _by_pair(pair[here], moved.all_bytes[here], len(keys))
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


def demands(
    graph: TaskGraph,
    cluster: ClusterSpec,
    found: Windows,
    fine: bool = False,
    folded: Folded | None = None,
) -> Demands:
    """Return the demands of a task graph whose windows on the cluster are known; see ``window_grid``.

    Parameters
    ----------
    folded : Folded, optional
        Replicas that the graph does not have.
    """
    task, src, dst, size = pair_demands(graph)
    count = np.diff(graph.member_first)
    rings = (
        (graph.kind == COLLECTIVE) & (graph.collective != ALL_TO_ALL) & (count > 1) & (graph.size_bytes > 0)
    )
    collectives, members = np.flatnonzero(rings), count[rings]
    kind, buffer = graph.collective[collectives], graph.size_bytes[collectives].astype(np.float64)
    total = PASSES[kind] * (members - 1) * buffer
    out, heard = _of_member(kind, members, buffer)
    sizes = size.astype(np.float64)
    every = sizes if folded is None else sizes * folded.copies[src]
    owner = np.concatenate([task, collectives])
    release_s, tail_s = found.release_s[owner], found.tail_s[owner]
    grid = window_grid(release_s, tail_s, np.concatenate([every, total]), cluster.link_latency_s, fine)
    cell = grid.cell(release_s, tail_s)
    return Demands(
        grid,
        src,
        dst,
        sizes,
        cell[: len(task)],
        np.concatenate(([0], np.cumsum(members))),
        graph.member[np.repeat(rings, count)],
        total,
        out,
        heard,
        cell[len(task) :],
        every,
    )


def _of_member(kind: Ints, members: Ints, buffer: Floats) -> tuple[Floats, Floats]:
    """Return the least bytes sent and received by each member.

    In an AllReduce a member's data must reach the others, and theirs must reach it: the buffer once. In a
    reduce-scatter its data for the g-1 others leaves it, and its own part arrives summed; an all-gather is the
    reverse.
    """
    part = buffer / members
    scatter = np.where(kind == COLLECTIVES.index("reduce-scatter"), buffer - part, part)
    gather = np.where(kind == COLLECTIVES.index("reduce-scatter"), part, buffer - part)
    both = kind == COLLECTIVES.index("allreduce")
    return np.where(both, buffer, scatter), np.where(both, buffer, gather)


def window_grid(
    release_s: Floats, tail_s: Floats, size_bytes: Floats, latency_s: float, fine: bool = False
) -> WindowGrid:
    """Return a grid of the windows of some bytes; a fine one has many moments, and the least following work."""
    heads, tails = (FINE, 1) if fine else (HEADS, TAILS)
    head_s = _moments(release_s, size_bytes, heads)
    sorted_s = np.append(np.sort(release_s), np.inf)
    last_s = sorted_s[np.maximum(np.searchsorted(sorted_s, np.append(head_s[1:], np.inf)) - 1, 0)]
    last_s = np.where(np.isfinite(last_s), last_s, head_s)
    return WindowGrid(head_s, _moments(tail_s, size_bytes, tails), latency_s, last_s)


def _moments(values: Floats, weights: Floats, most: int) -> Floats:
    """Return the distinct values, or the least and some others with about equal bytes in between."""
    distinct, place = np.unique(values, return_inverse=True)
    if len(distinct) <= most:
        return distinct if len(distinct) else np.zeros(1)
    total = np.cumsum(np.bincount(place, weights))
    chosen = np.searchsorted(total, np.linspace(0.0, total[-1], most, endpoint=False), side="right")
    kept: Floats = distinct[np.unique(np.concatenate(([0], np.minimum(chosen, len(distinct) - 1))))]
    return kept
