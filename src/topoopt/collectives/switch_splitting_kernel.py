"""Switches taken out of a graph with capacities without loss for spanning trees, compiled.

An arc into a switch and one out of it become an arc past the switch, as much of them as leaves every set of servers
with enough capacity to reach every server (Bang-Jensen, Frank and Jackson, 1995; ForestColl). In the end no arc meets a
switch.

Arrays
------
capacity (nodes, nodes)  int64   of each arc; nodes from ``servers`` on are switches
splits (rows, 4)         int64   node before the switch, switch, node behind it, capacity, in order
arcs                     room for a flow; see :mod:`topoopt.collectives.tree_packing_kernel`
"""

import numpy as np

from topoopt.base.arrays import Ints
from topoopt.base.kernel import compiled, entry, stamp, stamped
from topoopt.collectives.tree_packing_kernel import UNLIMITED, Arcs, add_arc, max_flow

STAMP = stamp([])


@entry
@stamped(STAMP)
def split_switches(nodes: int, servers: int, per_root: int, capacity: Ints, arcs: Arcs, splits: Ints) -> int:
    """Fill the splits, and return how many there are; -1 for too many."""
    found = 0
    for switch in range(servers, nodes):
        neighbors = 0
        for node in range(nodes):
            neighbors += capacity[node, switch] > 0
        for even in range(1, -1, -1):  # an equal share to each neighbor, for low trees; then what is left
            for behind in range(nodes):
                share = max(capacity[switch, behind] // max(neighbors - 1, 1), 1)
                for turn in range(nodes):  # back to where it came from last
                    before = (behind + 1 + turn) % nodes
                    most = min(capacity[before, switch], capacity[switch, behind])
                    if even:
                        most = min(most, share)
                    if most == 0 or (even and before == behind):
                        continue
                    count = _splittable(servers, per_root, (before, switch, behind), most, capacity, arcs)
                    if count <= 0:
                        continue
                    capacity[before, switch] -= count
                    capacity[switch, behind] -= count
                    if before != behind:
                        capacity[before, behind] += count
                    if found == len(splits):
                        return -1
                    splits[found, 0], splits[found, 1] = before, switch
                    splits[found, 2], splits[found, 3] = behind, count
                    found += 1
    return found


@compiled
def _splittable(
    servers: int, per_root: int, ends: tuple[int, int, int], most: int, capacity: Ints, arcs: Arcs
) -> int:
    """Return how much of the two arcs may be split, at most ``most``."""
    before, switch, behind = ends
    nodes, need = len(capacity), servers * per_root
    source, arc = nodes, 0
    for node in range(nodes + 1):
        arcs.first[node] = -1
    for tail in range(nodes):
        for head in range(tail):
            if capacity[tail, head] > 0 or capacity[head, tail] > 0:
                arc = add_arc(arcs, arc, tail, head, capacity[tail, head])
                arcs.left[arc - 1] = capacity[head, tail]
    for server in range(servers):
        arc = add_arc(arcs, arc, source, server, per_root)
    fixed = arc
    for one in range(fixed):
        arcs.room[one] = arcs.left[one]
    for server in range(servers):
        for side in range(2):
            if side == 0 and server in (before, behind):
                continue
            for one in range(fixed):
                arcs.left[one] = arcs.room[one]
            # sets with both ends and without the switch; then those with the switch and without both ends
            origin, sink = (before, switch) if side == 0 else (switch, behind)
            arc = add_arc(arcs, fixed, origin, source, UNLIMITED)
            if before != behind:
                arc = add_arc(arcs, arc, before, behind, UNLIMITED)
            if server != sink:
                arc = add_arc(arcs, arc, server, sink, UNLIMITED)
            most = min(most, max_flow(nodes + 1, origin, sink, need + most, arcs) - need)
            for one in range(arc - 2, fixed - 1, -2):
                arcs.first[arcs.head[one]] = arcs.after[one + 1]
                arcs.first[arcs.head[one + 1]] = arcs.after[one]
            if most <= 0:
                return 0
    return most


def past_switches(servers: int, capacity: Ints, per_root: int) -> tuple[Ints, Ints]:
    """Return the capacities between servers, shape (servers, servers), and the splits that made them.

    Parameters
    ----------
    capacity : int64 array, shape (nodes, nodes)
        Room for ``per_root`` spanning trees of every server; at every switch as much enters as leaves.
    """
    nodes = len(capacity)
    capacity = capacity.copy()
    count = nodes * nodes + 2 * (servers + 4)
    first, level, queue, at, path = np.empty((5, nodes + 1), np.int64)
    after, head, room, left = np.empty((4, count), np.int64)
    splits = np.empty((8 * nodes * nodes, 4), np.int64)
    arcs = Arcs(first, after, head, room, left, level, queue, at, path)
    found = split_switches(nodes, servers, per_root, capacity, arcs, splits)
    assert found >= 0, "there is room for all splits"
    assert not capacity[servers:].any()
    assert not capacity[:, servers:].any()
    return capacity[:servers, :servers], splits[:found]
