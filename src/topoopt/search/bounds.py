"""How good could it be: iteration times that no degree-d topology can beat for a given strategy.

Every byte has a *window* (:mod:`topoopt.search.windows`): the earliest moment at which it can exist, and what must
follow it. Whatever is released at a or later and followed by b or more has moved between a and the end less b, so
a + bytes ÷ bandwidth + b bounds the iteration (:mod:`topoopt.search.window_grid`): for each server's own interfaces and
those of each group that reduces together (injection bound), and for all links together, where a byte that must travel h
hops counts h times. No graph of degree d has fewer hops than Moore's tree: d servers at one hop, d(d-1) at two
(directed: d²), … The windows themselves give a bound, the longest chain (critical path).

The bounds hold for every network of these interfaces, every order of work and exchange, and every collective algorithm
of a group's own members, with the buckets that the strategy's task graph has. They leave out packet headers.
"""

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.catalog import ClusterSpec
from topoopt.plans import Bounds
from topoopt.search.demands import Demands
from topoopt.search.moore_hop_bound import average_hop_bound_s
from topoopt.search.windows import Windows

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
