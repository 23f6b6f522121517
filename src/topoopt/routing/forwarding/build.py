"""Forwarding tables from routes: each pair's flow, split at every server that it crosses."""

from dataclasses import dataclass

import numpy as np

from topoopt.base.arrays import Flags, Floats, Ints
from topoopt.base.errors import Infeasible, check_known
from topoopt.base.limits import refuse_too_large
from topoopt.routing.ecmp import EcmpRoutes
from topoopt.routing.fabric import Fabric
from topoopt.routing.forwarding.tables import ForwardingTables, Split, Ways
from topoopt.routing.link_loads import pair_links
from topoopt.routing.pair_links import PairLinks, PathTable, path_table
from topoopt.routing.routes import Routes
from topoopt.topologies import Topology, places_of, trees_to

SPLITS: tuple[Split, ...] = ("hashed", "pinned")
_SAME = 1e-9
_BYTES_A_PAIR = 4_000  # of what is held meanwhile: measured at 432 servers


def forwarding_tables(
    topology: Topology, routes: Routes, paths: Split = "hashed", pairs: tuple[Ints, Ints] | None = None
) -> ForwardingTables:
    """Return tables for hop-by-hop forwarding with the same link loads as the routes.

    The flow of a pair over all its paths is split at each server that it crosses, by the shares of its links out
    of there; cycles are removed, so that it ends. If a server relays a pair's traffic as it sends its own, the
    entry is omitted: the main table covers it.

    Parameters
    ----------
    paths : ``hashed`` or ``pinned``
        Whether a kernel hashes the connections of a pair over its paths, by shares that hold on average; or every path
        has an address of the destination, so that who sends decides, exactly; over parallel cables
        as many as there are.
    pairs : sources and destinations, int64 arrays of shape (pairs,), optional
        All ordered pairs by default. Each once.

    Raises
    ------
    Infeasible
        If servers hang on switches, a pair has more paths than can have an address each, or there is not the memory.
    NoRoute
        If a pair cannot be reached.
    """
    check_known("paths", paths, SPLITS)
    if topology.nodes > topology.servers:
        raise Infeasible(
            f"forwarding: the servers of a {topology.family} hang on switches, which forward themselves; expected "
            "links from server to server"
        )
    src, dst = all_pairs(topology.servers) if pairs is None else pairs
    refuse_too_large(
        f"forwarding tables of {len(src)} pairs", len(src) * _BYTES_A_PAIR, "export fewer servers"
    )
    ways, flows, turn = _WAYS[paths](topology, routes, src, dst)
    flows, freed = without_circles(topology, flows, ways.dst)
    return _tables(topology, paths, ways, (flows, turn), freed)


def all_pairs(servers: int) -> tuple[Ints, Ints]:
    """Return sources and destinations of all ordered pairs of different servers."""
    src, dst = np.divmod(np.arange(servers**2), servers)
    return src[src != dst], dst[src != dst]


def _hashed(topology: Topology, routes: Routes, src: Ints, dst: Ints) -> tuple[Ways, PairLinks, Ints]:
    none = np.zeros_like(src)
    return Ways(src, dst, none, np.ones(len(src))), pair_links(topology, routes, src, dst), none


def _pinned(topology: Topology, routes: Routes, src: Ints, dst: Ints) -> tuple[Ways, PairLinks, Ints]:
    """Return routes, their links, and the index among parallel cables."""
    _refuse_too_many(topology, routes, dst)
    table = path_table(Fabric("", topology, routes, {}), src, dst)
    copies = cables_in_turn(topology, table)
    pair = np.repeat(np.repeat(np.arange(len(src)), np.diff(table.pair_first)), copies)
    path = np.repeat(np.arange(len(copies)), copies)
    weight = (table.weight / copies)[path]
    size = table.hops[path]
    first = np.concatenate(([0], np.cumsum(size)))
    step = np.repeat(table.path_first[path] - first[:-1], size) + np.arange(first[-1])
    each = PathTable(np.searchsorted(pair, np.arange(len(src) + 1)), weight, first, table.link[step])
    identity, turn = numbered_paths(topology, dst, each, np.arange(len(path)) - np.searchsorted(path, path))
    return Ways(src[pair], dst[pair], identity, weight), PairLinks(first, each.link, np.ones(len(step))), turn


def cables_in_turn(topology: Topology, table: PathTable) -> Ints:
    """Return the number of addresses of each pinned path, such that parallel cables are used in turn."""
    ports = topology.ports[table.link].astype(np.int64)
    return np.asarray(np.lcm.reduceat(ports, table.path_first[:-1]), np.int64)


def _refuse_too_many(topology: Topology, routes: Routes, dst: Ints) -> None:
    """Refuse routes that list some paths only."""
    if not isinstance(routes, EcmpRoutes):
        return
    ends = np.unique(dst)
    ways = trees_to(topology, ends).ways
    if (ways > routes.limit).any():
        row, src = np.unravel_index(int(ways.argmax()), ways.shape)
        raise Infeasible(
            f"forwarding: pair {src}->{ends[row]} has {ways[row, src]:.0f} shortest paths and can have no address for "
            f"each, {routes.limit} at most; use paths=hashed"
        )


_WAYS = {"hashed": _hashed, "pinned": _pinned}


@dataclass(frozen=True, slots=True)
class _Splits:
    """Split of each route at each server that it crosses: rows in order of routes, then of servers."""

    way: Ints
    node: Ints
    first: Ints
    link: Ints
    share: Floats


def _tables(
    topology: Topology, paths: Split, ways: Ways, how: tuple[PairLinks, Ints], freed: int
) -> ForwardingTables:
    flows, turn = how
    identities = int(ways.identity.max(initial=0)) + 1
    way = np.repeat(np.arange(len(flows)), np.diff(flows.pair_first))
    node = topology.src[flows.link].astype(np.int64)
    begins = np.ones(len(way), bool)  # links are in order of where they begin
    begins[1:] = (np.diff(way) != 0) | (np.diff(node) != 0)
    row = np.cumsum(begins) - 1
    total = np.bincount(row, flows.share)
    first = np.append(np.flatnonzero(begins), len(way))
    splits = _Splits(way[begins], node[begins], first, flows.link.astype(np.int64), flows.share / total[row])
    address = ways.dst[splits.way] * identities + ways.identity[splits.way]
    source = ways.src[splits.way]
    # a server's own way comes first, and where it has none that of the lowest source
    where = splits.node * (topology.servers * identities) + address
    order = np.lexsort((source, source != splits.node, where))
    leads = np.ones(len(order), bool)
    leads[1:] = np.diff(where[order]) != 0
    main = order[leads]
    same = _alike(splits, main[places_of(where, where[main])])
    same[main] = True
    kept = np.concatenate((main, np.flatnonzero(~same)))
    of = np.where(np.arange(len(kept)) < len(main), -1, source[kept])
    order = np.lexsort((address[kept], of, splits.node[kept]))
    kept, of = kept[order], of[order]
    count = np.diff(splits.first)[kept]
    hop = np.repeat(splits.first[:-1][kept] - np.cumsum(count) + count, count) + np.arange(count.sum())
    dst, identity = np.divmod(address[kept], identities)
    return ForwardingTables(
        topology,
        paths,
        identities,
        splits.node[kept],
        of,
        dst,
        identity,
        np.concatenate(([0], np.cumsum(count))),
        splits.link[hop].astype(np.int32),
        splits.share[hop],
        ways,
        freed,
        turn[splits.way[kept]],
    )


def _alike(splits: _Splits, other: Ints) -> Flags:
    """Return which rows split like another row."""
    count = np.diff(splits.first)
    same = count == count[other]
    rows = np.flatnonzero(same)
    row = np.repeat(np.arange(len(rows)), count[rows])
    place = np.arange(len(row)) - np.repeat(np.cumsum(count[rows]) - count[rows], count[rows])
    mine, its = splits.first[rows][row] + place, splits.first[other[rows]][row] + place
    differs = (splits.link[mine] != splits.link[its]) | (
        np.abs(splits.share[mine] - splits.share[its]) > _SAME
    )
    same[rows] = np.bincount(row, differs, minlength=len(rows)) == 0
    found: Flags = same
    return found


def numbered_paths(topology: Topology, dst: Ints, table: PathTable, turn: Ints) -> tuple[Ints, Ints]:
    """Return the identity of each path, and of parallel cables which it takes, both of shape (paths,).

    Paths that share an address must not diverge once they have met: together they are a tree into the destination.
    They are packed into as few trees as possible, short ones first. If as many trees as a server's address block
    suffice, and each source has a path in the first of them (for replies), the number of a path is that of its
    tree. Otherwise paths are numbered pair by pair, and diverging ones have tables by source.

    Parameters
    ----------
    dst : int64 array, shape (pairs,)
    table : PathTable
        Paths of the pairs.
    turn : int64 array, shape (paths,)
        Number of the parallel cable that a path takes, modulo their count; for single cables it is the path's
        identity.
    """
    pair = np.repeat(np.arange(len(dst)), np.diff(table.pair_first))
    one_by_one = np.arange(len(pair)) - np.repeat(table.pair_first[:-1], np.diff(table.pair_first))
    most = int(one_by_one.max(initial=0)) + 1
    tree = _trees(topology, dst[pair], table, turn, 1 << (most - 1).bit_length())
    in_first = np.bincount(pair[tree == 0], minlength=len(dst)) if len(pair) else np.zeros(0)
    return (tree, turn) if (tree >= 0).all() and (in_first == 1).all() else (one_by_one, one_by_one)


def _trees(topology: Topology, dst: Ints, table: PathTable, turn: Ints, most: int) -> Ints:
    """Return the tree of each path, among at most ``most``; -1 where one more would be needed."""
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
    """Return the paths to merge, among those with remaining steps, in order of slots, then of ranks."""
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


def without_circles(topology: Topology, flows: PairLinks, dst: Ints) -> tuple[PairLinks, int]:
    """Return the flows without their common cycles, sorted by link, and the number of flows with any.

    Two paths of a pair may cross a cable in opposite directions, or form a cycle. Flow along a cycle does not
    come nearer, so that its share is taken off all links of the circle: no link has more than before.
    """
    pair = np.repeat(np.arange(len(flows)), np.diff(flows.pair_first))
    link, share = flows.link.astype(np.int64), flows.share.copy()
    key = pair * len(topology) + link
    if (np.diff(key) < 0).any():
        order = np.argsort(key, kind="stable")
        link, share = link[order], share[order]
    # the rows of which a link does not lead nearer: only they can go in circles
    ends, row = np.unique(dst, return_inverse=True)
    hops, row = trees_to(topology, ends).hops, row[pair]
    not_always_nearer = np.unique(pair[hops[row, topology.src[link]] <= hops[row, topology.dst[link]]])
    suspect = np.isin(pair, not_always_nearer)
    circling = _circling(topology, pair[suspect], link[suspect])
    for one in circling.tolist():
        rows = slice(int(flows.pair_first[one]), int(flows.pair_first[one + 1]))
        _take_circles_off(topology, link[rows], share[rows])
    kept = share > 0
    first = np.searchsorted(pair[kept], np.arange(len(flows) + 1))
    return PairLinks(first, link[kept].astype(np.int32), share[kept]), len(circling)


def _circling(topology: Topology, pair: Ints, link: Ints) -> Ints:
    """Return the rows whose links are on cycles: the rest after repeatedly removing rows without a predecessor."""
    at = pair * topology.nodes
    known, slot = np.unique(
        np.concatenate((at + topology.src[link], at + topology.dst[link])), return_inverse=True
    )
    begin, end = slot.reshape(2, -1)
    left = np.arange(len(link))
    while len(left):
        entered = np.zeros(len(known), bool)
        entered[end[left]] = True
        staying = entered[begin[left]]
        if staying.all():
            break
        left = left[staying]
    return np.unique(pair[left])


def _take_circles_off(topology: Topology, link: Ints, share: Floats) -> None:
    """Subtract the least share of a cycle from its links until there is none; at least one link ends each time."""
    while circle := _circle(topology, link, share):
        share[circle] -= share[circle].min()
        share[share < 1e-12] = 0.0


def _circle(topology: Topology, link: Ints, share: Floats) -> list[int]:
    """Return the entries of a cycle, empty if there is none: if every entry has a predecessor, walking back finds
    one."""
    begin, end = topology.src[link].tolist(), topology.dst[link].tolist()
    left = np.flatnonzero(share > 0).tolist()
    while left:
        entered = {end[row]: row for row in left}
        staying = [row for row in left if begin[row] in entered]
        if len(staying) == len(left):
            break
        left = staying
    if not left:
        return []
    walk, row, place = list[int](), left[0], dict[int, int]()
    while end[row] not in place:
        place[end[row]] = len(walk)
        walk.append(row)
        row = entered[begin[row]]
    return walk[place[end[row]] :]
