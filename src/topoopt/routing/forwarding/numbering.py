"""Which address of its destination each pinned path has: such that tables are by destination, where that can be."""

import numpy as np

from topoopt.base.arrays import Flags, Ints
from topoopt.routing.pair_links import PathTable
from topoopt.topologies import Topology


def numbered_paths(topology: Topology, dst: Ints, table: PathTable, turn: Ints) -> tuple[Ints, Ints]:
    """Return the identity of each path, and of parallel cables which it takes, both of shape (paths,).

    Paths that are to have one address must not part once they have met: together they are a tree into the
    destination. They are put into as few trees as are found, short ones first. Where as many trees do as the block of
    a server has addresses, and each source has a path in the first of them, for answers go there, the number of a
    path is that of its tree. Else paths are numbered pair by pair, and what parts has tables by source.

    Parameters
    ----------
    dst : int64 array, shape (pairs,)
    table : PathTable
        Of the pairs.
    turn : int64 array, shape (paths,)
        Of parallel cables a path takes that of this number, modulo how many they are; one by one it is its identity.
    """
    pair = np.repeat(np.arange(len(dst)), np.diff(table.pair_first))
    one_by_one = np.arange(len(pair)) - np.repeat(table.pair_first[:-1], np.diff(table.pair_first))
    most = int(one_by_one.max(initial=0)) + 1
    tree = _trees(topology, dst[pair], table, turn, 1 << (most - 1).bit_length())
    in_first = np.bincount(pair[tree == 0], minlength=len(dst)) if len(pair) else np.zeros(0)
    return (tree, turn) if (tree >= 0).all() and (in_first == 1).all() else (one_by_one, one_by_one)


def _trees(topology: Topology, dst: Ints, table: PathTable, turn: Ints, most: int) -> Ints:
    """Return the tree of each path, of so many at most; -1 where one more would be needed."""
    path = np.repeat(np.arange(len(dst)), table.hops)
    link = table.link.astype(np.int64)
    slot = dst[path] * topology.nodes + topology.src[link]
    ports = topology.ports[link].astype(np.int64)
    way_out = link * int(ports.max(initial=1)) + turn[path] % ports
    order = np.lexsort((np.arange(len(dst)), table.hops))
    rank = np.empty(len(dst), np.int64)
    rank[order] = np.arange(len(dst))
    found = np.full(len(dst), -1)
    left = np.lexsort((rank[path], slot))  # of every server's paths to a destination the short ones first
    for tree in range(most):
        if not len(left):
            break
        taken = _one_tree(left, path, slot, way_out, len(dst))
        found[taken] = tree
        left = left[~taken[path[left]]]
    return found


def _one_tree(left: Ints, path: Ints, slot: Ints, way_out: Ints, paths: int) -> Flags:
    """Return which paths are put together, of those whose steps are left, in order of slots, then of ranks."""
    chosen = np.full(int(slot.max(initial=0)) + 1, -1)
    taken = np.zeros(paths, bool)
    while len(left):
        leads = np.ones(len(left), bool)
        leads[1:] = np.diff(slot[left]) != 0
        first = left[leads]
        wanted = chosen.copy()
        free = first[chosen[slot[first]] < 0]
        wanted[slot[free]] = way_out[free]
        agrees = np.bincount(path[left], wanted[slot[left]] != way_out[left], minlength=paths) == 0
        now = left[agrees[path[left]]]
        if not len(now):
            break
        taken[path[now]] = True
        chosen[slot[now]] = way_out[now]
        left = left[~agrees[path[left]]]
        against = (chosen[slot[left]] >= 0) & (chosen[slot[left]] != way_out[left])
        left = left[np.bincount(path[left], against, minlength=paths)[path[left]] == 0]
    return taken
