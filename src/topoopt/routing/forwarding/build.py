"""From routes to forwarding tables: each pair's flow, split at every server that it crosses."""

from dataclasses import dataclass

import numpy as np

from topoopt.base.arrays import Flags, Floats, Ints
from topoopt.base.errors import Infeasible, check_known
from topoopt.base.memory import refuse_too_large
from topoopt.routing.ecmp import EcmpRoutes
from topoopt.routing.fabric import Fabric
from topoopt.routing.forwarding.flows import without_circles
from topoopt.routing.forwarding.numbering import numbered_paths
from topoopt.routing.forwarding.tables import ForwardingTables, Split, Ways
from topoopt.routing.link_loads import pair_links
from topoopt.routing.pair_links import PairLinks, PathTable, path_table
from topoopt.routing.routes import Routes
from topoopt.topologies import Topology, places_of, trees_to

SPLITS: tuple[Split, ...] = ("hashed", "pinned")
_SAME = 1e-9
_BYTES_A_PAIR = 4_000  # of what is held meanwhile: measured at 432 servers


def forwarding_tables(
    topology: Topology,
    routes: Routes,
    paths: Split = "hashed",
    pairs: tuple[Ints, Ints] | None = None,
) -> ForwardingTables:
    """Return tables by which hop-by-hop forwarding puts on every link what the routes do.

    The flow of a pair over all its paths is split at each server that it crosses, by the shares of its links out of
    there; circles are taken off, so that it ends. Where a server hands on what is for another as it sends its own, the
    entry is left out: the main table says it.

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
    """Return ways, links of each, and which of parallel cables it takes."""
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
    """Return how many addresses each path has when it is pinned, so that parallel cables are taken in turn."""
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
    """How each way is split at each server that it crosses: rows in order of ways, then of servers."""

    way: Ints
    node: Ints
    first: Ints
    link: Ints
    share: Floats


def _splits(topology: Topology, flows: PairLinks) -> _Splits:
    way = np.repeat(np.arange(len(flows)), np.diff(flows.pair_first))
    node = topology.src[flows.link].astype(np.int64)
    begins = np.ones(len(way), bool)  # links are in order of where they begin
    begins[1:] = (np.diff(way) != 0) | (np.diff(node) != 0)
    row = np.cumsum(begins) - 1
    total = np.bincount(row, flows.share)
    first = np.append(np.flatnonzero(begins), len(way))
    return _Splits(way[begins], node[begins], first, flows.link.astype(np.int64), flows.share / total[row])


def _tables(
    topology: Topology, paths: Split, ways: Ways, how: tuple[PairLinks, Ints], freed: int
) -> ForwardingTables:
    flows, turn = how
    identities = int(ways.identity.max(initial=0)) + 1
    splits = _splits(topology, flows)
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
    """Return which rows split as another row does."""
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
