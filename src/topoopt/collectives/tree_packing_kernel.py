"""Packing of spanning trees into a graph with capacities, compiled.

Trees grow one root after the other, in batches of equal trees. An arc out of a batch takes as many of its trees as
leave enough capacity for all others: for every set of servers, the arcs out of it must still carry all unfinished
trees that lie inside. The least surplus of the sets that the arc leaves is found by one maximum flow (Bérczi and Frank,
2010).

Arrays
------
first (nodes + 1 + batches,)  int64   first arc out of each node, -1 for none; a node behind the servers is the source
                              of the flow, and one for each batch
after, head, room (arcs,)     int64   next arc of the same node, where an arc ends, capacity left; arc ``e ^ 1`` is the
                              reverse of e; behind ``fixed`` arcs between servers is room for those of one flow
left (arcs,)                  int64   room: capacity left during a flow
level, queue, at, path (nodes + 1 + batches,)  int64  room: of one flow
units, parent, depth, dead    (batches,), (batches, nodes), (batches, nodes), (batches, arcs)  of the trees of one root:
                              trees in each batch; the server before each one, its place in the tree, -1 where it is not
                              reached; arcs that no tree of the batch can take
trees_root, trees_units, trees_parent, trees_depth  (trees,), (trees,), (trees, nodes), (trees, nodes)  the result
"""

from typing import NamedTuple

import numpy as np

from topoopt.base.arrays import Flags, Ints
from topoopt.base.kernel import compiled, entry, stamp, stamped

STAMP = stamp([])
UNLIMITED = 1 << 60


class Arcs(NamedTuple):
    """The graph, and room for a flow."""

    first: Ints
    after: Ints
    head: Ints
    room: Ints
    left: Ints
    level: Ints
    queue: Ints
    at: Ints
    path: Ints


class Batches(NamedTuple):
    """The trees of one root."""

    units: Ints
    parent: Ints
    depth: Ints
    dead: Flags


class Trees(NamedTuple):
    """The trees of all roots."""

    root: Ints
    units: Ints
    parent: Ints
    depth: Ints


@entry
@stamped(STAMP)
def pack_trees(nodes: int, fixed: int, per_root: int, arcs: Arcs, batches: Batches, trees: Trees) -> int:
    """Fill the trees, ``per_root`` of each server, and return how many batches there are; -1 for too many."""
    units, parent, depth, dead = batches
    found = 0
    for root in range(nodes):
        used = 1
        units[0] = per_root
        parent[0, :] = -1
        depth[0, :] = -1
        depth[0, root] = 0
        dead[0, :] = False
        batch = 0
        while batch < used:
            arc, x = _next_arc(nodes, batch, arcs, batches)
            if arc < 0:  # all servers are reached
                if found == len(trees.root):
                    return -1
                trees.root[found] = root
                trees.units[found] = units[batch]
                for server in range(nodes):
                    trees.parent[found, server] = parent[batch, server]
                    trees.depth[found, server] = depth[batch, server]
                found += 1
                batch += 1
                continue
            most = min(arcs.room[arc], units[batch])
            count = _surplus(
                nodes, fixed, (root, per_root), (batch, used), (x, arcs.head[arc], most), arcs, batches
            )
            if count <= 0:
                dead[batch, arc] = True
                continue
            if count < units[batch]:
                if used == len(units):
                    return -1
                units[used] = units[batch] - count
                for server in range(nodes):
                    parent[used, server] = parent[batch, server]
                    depth[used, server] = depth[batch, server]
                for one in range(fixed):
                    dead[used, one] = dead[batch, one]
                dead[used, arc] = True
                used += 1
            units[batch] = count
            arcs.room[arc] -= count
            y = arcs.head[arc]
            parent[batch, y] = x
            depth[batch, y] = depth[batch, x] + 1
    return found


@compiled
def _next_arc(nodes: int, batch: int, arcs: Arcs, batches: Batches) -> tuple[int, int]:
    """Return the arc that keeps the trees of a batch lowest, the widest one, and its server; -1 if they are whole."""
    best, at = -1, -1
    depth, dead = batches.depth[batch], batches.dead[batch]
    for x in range(nodes):
        if depth[x] < 0 or (best >= 0 and depth[x] > depth[at]):
            continue
        arc = arcs.first[x]
        while arc >= 0:
            open_ = arcs.room[arc] > 0 and depth[arcs.head[arc]] < 0 and not dead[arc]
            if open_ and (best < 0 or depth[x] < depth[at] or arcs.room[arc] > arcs.room[best]):
                best, at = arc, x
            arc = arcs.after[arc]
    return best, at


@compiled
def _surplus(
    nodes: int,
    fixed: int,
    roots: tuple[int, int],
    numbers: tuple[int, int],
    ends: tuple[int, int, int],
    arcs: Arcs,
    batches: Batches,
) -> int:
    """Return how many trees of a batch, at most ``ends[2]``, may go from server ``ends[0]`` on to ``ends[1]``."""
    (root, per_root), (batch, used), (x, y, most) = roots, numbers, ends
    first, after, head, left = arcs.first, arcs.after, arcs.head, arcs.left
    for one in range(fixed):
        left[one] = arcs.room[one]
    arc, source, others = fixed, nodes, 0
    first[source] = -1
    arc = add_arc(arcs, arc, source, x, UNLIMITED)
    for server in range(root + 1, nodes):
        others += per_root
        arc = add_arc(arcs, arc, source, server, per_root)
    for other in range(batch + 1, used):
        others += batches.units[other]
        first[nodes + 1 + other] = -1
        arc = add_arc(arcs, arc, source, nodes + 1 + other, batches.units[other])
        for server in range(nodes):
            if batches.depth[other, server] >= 0:
                arc = add_arc(arcs, arc, nodes + 1 + other, server, UNLIMITED)
    flow = max_flow(nodes + 1 + used, source, y, others + most, arcs)
    for one in range(arc - 2, fixed - 1, -2):  # the arcs of this flow go, the last one first
        first[head[one]] = after[one + 1]
    return min(most, flow - others)


@compiled
def add_arc(arcs: Arcs, arc: int, tail: int, head: int, room: int) -> int:
    """Add an arc and its reverse for one flow, and return where the next one goes."""
    arcs.head[arc], arcs.left[arc], arcs.after[arc] = head, room, arcs.first[tail]
    arcs.first[tail] = arc
    arcs.head[arc + 1], arcs.left[arc + 1], arcs.after[arc + 1] = tail, 0, arcs.first[head]
    arcs.first[head] = arc + 1
    return arc + 2


@compiled
def max_flow(count: int, source: int, sink: int, enough: int, arcs: Arcs) -> int:
    """Return a maximum flow, or one that is enough (Dinic)."""
    first, after, head, _, left, level, _, at, path = arcs
    total = 0
    while total < enough and _levels(count, source, sink, arcs):
        for node in range(count):
            at[node] = first[node]
        depth, here = 0, source
        while True:
            arc = at[here]
            while arc >= 0 and not (left[arc] > 0 and level[head[arc]] == level[here] + 1):
                arc = after[arc]
            at[here] = arc
            if arc < 0:
                if here == source:
                    break
                level[here] = -1
                depth -= 1
                here = head[path[depth] ^ 1]
                continue
            path[depth] = arc
            depth += 1
            here = head[arc]
            if here == sink:
                amount = UNLIMITED
                for place in range(depth):
                    amount = min(amount, left[path[place]])
                for place in range(depth):
                    left[path[place]] -= amount
                    left[path[place] ^ 1] += amount
                total += amount
                depth, here = 0, source
    return total


@compiled
def _levels(count: int, source: int, sink: int, arcs: Arcs) -> bool:
    """Fill the distances from the source, and return whether the sink is reached."""
    first, after, head, _, left, level, queue, _, _ = arcs
    level[:count] = -1
    level[source] = 0
    queue[0] = source
    begin, end = 0, 1
    while begin < end:
        here = queue[begin]
        begin += 1
        arc = first[here]
        while arc >= 0:
            there = head[arc]
            if left[arc] > 0 and level[there] < 0:
                level[there] = level[here] + 1
                if there == sink:
                    return True
                queue[end] = there
                end += 1
            arc = after[arc]
    return False


def packed(nodes: int, src: Ints, dst: Ints, capacity: Ints, per_root: int) -> Trees:
    """Return trees, ``per_root`` of every server, of a graph of arcs that has room for them."""
    ends = np.stack([np.minimum(src, dst), np.maximum(src, dst)])
    pairs, place = np.unique(ends, axis=1, return_inverse=True)
    fixed, most = 2 * pairs.shape[1], min(per_root, 4 * nodes)
    head, after = (np.full(fixed + 2 * (nodes + 1 + most * (nodes + 1)), -1, np.int64) for _ in range(2))
    head[:fixed:2], head[1:fixed:2] = pairs[1], pairs[0]
    room = np.zeros(len(head), np.int64)
    np.add.at(room, 2 * place.ravel() + (src > dst), capacity)
    count = nodes + 1 + most
    first = np.full(count, -1, np.int64)
    for arc in range(fixed):
        tail = head[arc ^ 1]
        after[arc], first[tail] = first[tail], arc
    level, queue, at, path = np.empty((4, count), np.int64)
    units, dead = np.empty(most, np.int64), np.empty((most, fixed), np.bool_)
    parent, depth = np.empty((2, most, nodes), np.int64)
    rows = nodes * most
    columns = np.empty((2, rows), np.int64)
    trees = Trees(*columns, *np.empty((2, rows, nodes), np.int64))
    arcs = Arcs(first, after, head, room, room.copy(), level, queue, at, path)
    found = pack_trees(nodes, fixed, per_root, arcs, Batches(units, parent, depth, dead), trees)
    assert found > 0, "trees exist where every set of servers has room for them"
    return Trees(*(column[:found].copy() for column in trees))
