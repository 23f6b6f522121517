"""Conversion of a Fabric to FlexNet's connections, routes and ring descriptors, and back."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from topoopt.base.arrays import Ints, entries_of, owners, pointer
from topoopt.base.errors import InvalidInput, NoRoute
from topoopt.catalog import DEFAULT_LATENCY_S
from topoopt.routing import ROUTING, Fabric, Path, PathArrays, Routes, path_table
from topoopt.simulation.flexnet.graph import Connections, FlexNetGraph, RingDescriptor, RouteRows
from topoopt.topologies import Ring, Topology, topology_from_arrays

_LONGEST_WALK = 1 << 22
"""Steps of one ring; nothing that is wired comes near."""
_WHOLE = 1e-6
"""Relative distance within which a bandwidth is a whole multiple of another."""
_MOST_SERVERS = 4096


def cables(fabric: Fabric, name: str) -> tuple[Connections, float]:
    """Return the duplex cables of a fabric, and the bandwidth of one, in b/s.

    That is the smallest of a port; a faster link is written as several cables.

    Raises
    ------
    InvalidInput
        If a link has no equal in the other direction, or is no whole number of cables.
    """
    topology = fabric.topology
    src, dst = topology.src.astype(np.int64), topology.dst.astype(np.int64)
    back = topology.link_ids(dst, src)
    equal = (back >= 0) & np.isclose(topology.bandwidth_bps, topology.bandwidth_bps[back], rtol=_WHOLE)
    if not equal.all():
        link = int(np.argmin(equal))
        raise InvalidInput(
            f"{name}: link {src[link]}->{dst[link]} of fabric {fabric.name} has no equal in the other "
            "direction, and .fbuf knows duplex cables only; plan with the duplex link model"
        )
    cable_bps = float((topology.bandwidth_bps / topology.ports).min())
    ratio = topology.bandwidth_bps / cable_bps
    odd = np.abs(ratio - np.rint(ratio)) > _WHOLE * ratio
    if odd.any():
        link = int(np.argmax(odd))
        raise InvalidInput(
            f"{name}: link {src[link]}->{dst[link]} of fabric {fabric.name} has {ratio[link]:.4g} times the "
            f"{cable_bps:g} b/s of the slowest port, and .fbuf knows whole cables only; change one of them"
        )
    once = src > dst
    count = np.rint(ratio[once]).astype(np.uint32)
    return Connections(src[once].astype(np.uint32), dst[once].astype(np.uint32), count), cable_bps


def routes_of(fabric: Fabric, used: Ints, name: str) -> RouteRows:
    """Return the routes of all ordered pairs of servers; one of a server with itself has no path.

    Where some pairs cannot reach each other, only those in use are listed.

    Parameters
    ----------
    used : int64 array
        Pairs that have bytes, each src·servers + dst.

    Raises
    ------
    InvalidInput
        If there are too many servers.
    NoRoute
        If a pair in use cannot be reached.
    """
    servers = fabric.topology.servers
    if servers > _MOST_SERVERS:
        raise InvalidInput(
            f"{name}: {servers} servers, and .fbuf lists the routes of all pairs in 2 GiB: at most "
            f"{_MOST_SERVERS}; write a smaller job"
        )
    try:
        return _routes_of_pairs(fabric, np.arange(servers**2))
    except NoRoute:
        return _routes_of_pairs(fabric, used)


def _routes_of_pairs(fabric: Fabric, pairs: Ints) -> RouteRows:
    src, dst = np.divmod(pairs, fabric.topology.servers)
    table = path_table(fabric, src, dst)
    # a path's nodes are the starts of its links and the end of the last
    hop_first = table.path_first + np.arange(len(table.path_first))
    node = np.zeros(int(hop_first[-1]), np.uint32)
    ends = np.zeros(len(node), bool)
    ends[hop_first[1:] - 1] = True
    node[~ends] = fabric.topology.src[table.link]
    node[ends] = np.repeat(dst, np.diff(table.pair_first))
    rows = src.astype(np.uint32), dst.astype(np.uint32)
    return RouteRows(*rows, table.pair_first, hop_first, node, table.weight.astype(np.float32))


@dataclass(frozen=True, eq=False)
class RingPlan:
    """File representation of the rings of all groups.

    Attributes
    ----------
    descriptors : tuple of RingDescriptor
        Descriptors of groups of a size that all walk their rings in the same jumps.
    orders : mapping from the sorted members of a group to member orders
        Orders of groups whose rings follow the routes: an AllReduce in each order carries its part of the bytes.
    """

    descriptors: tuple[RingDescriptor, ...]
    orders: Mapping[tuple[int, ...], tuple[tuple[int, ...], ...]]


def ring_plan(fabric: Fabric, groups: Iterable[tuple[int, ...]], name: str, drop_rings: bool) -> RingPlan:
    """Return the file representation of the rings, which reads back as they are on the fabric.

    Where routes through switches spread over several paths, a ring that is laid on one of them spreads too.

    Raises
    ------
    InvalidInput
        If a group's rings can be written in neither form and ``drop_rings`` is not set.
    """
    descriptors, orders = [], {}
    by_size = sorted(groups, key=len)
    for size, several in groupby(by_size, key=len):
        same_size = tuple(several)
        jumps = _common_jumps(fabric, same_size)
        if jumps is not None:
            descriptors += [RingDescriptor(size, jumps)] if jumps else []
            continue
        for group in same_size:
            rings = fabric.rings.get(group, ())
            if all(_along_routes(fabric, ring) for ring in rings):
                orders[group] = tuple(ring.members for ring in rings)
            elif not drop_rings:
                raise InvalidInput(
                    f"{name}: the rings of the {size} servers from {group[0]} neither follow the routes nor "
                    "have the same jumps for all members and groups of that size, and .fbuf knows no others; "
                    "write it with drop_rings, for one ring along the routes"
                )
    return RingPlan(tuple(descriptors), {group: ways for group, ways in orders.items() if ways})


def _common_jumps(fabric: Fabric, groups: tuple[tuple[int, ...], ...]) -> tuple[tuple[int, ...], ...] | None:
    """Return the jumps that make the rings of every group, nothing if there are none such."""
    nnode = fabric.topology.servers
    if fabric.topology.nodes > nnode and any(fabric.rings.get(group) for group in groups):
        return None
    ways = set()
    for group in groups:
        rings = fabric.rings.get(group, ())
        jumps = tuple(tuple((b - a) % nnode for a, b in pairwise(_legs(ring)[0])) for ring in rings)
        walked = [walk_ring(nnode, steps, group) for steps in jumps]
        if not all(
            (mine is not None and sorted(_legs(mine)) == sorted(_legs(ring)))
            for mine, ring in zip(walked, rings, strict=True)
        ):
            return None
        ways.add(jumps)
    return ways.pop() if len(ways) == 1 else None


def _along_routes(fabric: Fabric, ring: Ring) -> bool:
    """Return whether routes lead from each member to the next as the ring does."""
    switched = fabric.topology.nodes > fabric.topology.servers
    for leg in _legs(ring):
        paths = [path.nodes for path in fabric.routes.paths(leg[0], leg[-1]) if path.weight > 0]
        if leg not in paths or not (switched or len(paths) == 1):
            return False
    return True


def _legs(ring: Ring) -> list[tuple[int, ...]]:
    """Return the nodes from each member to the next one, both included."""
    around = (*ring.walk, ring.walk[0])
    starts = [0]
    for member in ring.members[1:]:
        starts.append(around.index(member, starts[-1] + 1))
    return [around[a : b + 1] for a, b in pairwise([*starts, len(ring.walk)])]


def walk_ring(nnode: int, jumps: tuple[int, ...], group: tuple[int, ...]) -> Ring | None:
    """Return the ring along which jumps lead a group, or nothing where they do not go around its members.

    The same jumps lead from each member to the next, so after each pass over them the walk is at the next member.
    They fit groups whose members are evenly spaced; members of others would be skipped.

    Examples
    --------
    >>> walk_ring(12, (5, 11), (0, 4, 8))
    Ring(stride=1, walk=(0, 5, 4, 9, 8, 1), members=(0, 4, 8))
    >>> walk_ring(12, (5, 11), (0, 1, 2)) is None
    True
    """
    size = len(group)
    stride = sum(jumps) % nnode
    members = (min(group) + stride * np.arange(size)) % nnode
    if (
        sorted(members.tolist()) != sorted(group)
        or stride * size % nnode
        or size * len(jumps) > _LONGEST_WALK
    ):
        return None
    walk = (members[:, None] + np.cumsum([0, *jumps[:-1]])) % nnode
    spacing = nnode // size  # members at equal distances: the size divides the number of nodes
    return Ring(stride // spacing, tuple(walk.ravel().tolist()), tuple(members.tolist()))


def flexnet_fabric(
    flexnet: FlexNetGraph,
    groups: Iterable[tuple[int, ...]],
    latency_s: float = DEFAULT_LATENCY_S,
    bandwidth_bps: float | None = None,
) -> Fabric:
    """Return the network that the file describes.

    A file without routes gets ECMP over shortest paths. A group gets the rings of a descriptor of its size
    that really walk around its members, starting at one of them; a group without such has none here, and then
    takes one ring in member order along the routes in every simulator.

    Parameters
    ----------
    groups : members of each AllReduce group
        See :attr:`topoopt.simulation.TaskGraph.groups`.
    latency_s : float
        Latency per link; the file has none.
    bandwidth_bps : float, optional
        Bandwidth per cable and direction; by default the file's.

    Raises
    ------
    InvalidInput
        If the file has no connections or no bandwidth, or a ring steps where no cable is.
    """
    if not len(flexnet.connections):
        raise InvalidInput(
            f"{flexnet.place}: holds no connections; name a fabric to put its tasks on, e.g. ideal-switch"
        )
    bandwidth = flexnet.bandwidth_bps if bandwidth_bps is None else bandwidth_bps
    if not 0 < bandwidth < float("inf"):
        raise InvalidInput(
            f"{flexnet.place}: bandwidth of a cable must be positive, got {bandwidth:g} b/s "
            f"(netbw of the file: {flexnet.netbw:g} bytes/ms); name a bandwidth"
        )
    topology = _topology(flexnet, bandwidth, latency_s)
    routes: Routes = (
        _FileRoutes.of(flexnet, topology) if len(flexnet.routes) else ROUTING["ecmp"](topology, 0)
    )
    rings = {tuple(sorted(group)): _rings(flexnet, topology, group) for group in groups}
    name = "topoopt" if not flexnet.nswitch else topology.family
    return Fabric(name, topology, routes, {group: walks for group, walks in rings.items() if walks})


def _topology(flexnet: FlexNetGraph, bandwidth_bps: float, latency_s: float) -> Topology:
    rows = flexnet.connections
    a, b = rows.fromnode.astype(np.int64), rows.tonode.astype(np.int64)
    src, dst = np.concatenate([a, b]), np.concatenate([b, a])
    cables = np.tile(rows.nconn.astype(np.int64), 2)
    topology = topology_from_arrays(
        _family(flexnet),
        flexnet.nnode,
        src,
        dst,
        cables.astype(np.float64) * bandwidth_bps,
        np.full(len(src), latency_s),
        flexnet.nodes,
    )
    ports = np.zeros(len(topology), np.int64)
    np.add.at(ports, topology.link_ids(src, dst), cables)
    return replace(topology, ports=ports.astype(np.int32))


def _family(flexnet: FlexNetGraph) -> str:
    """Return ``direct`` without switches, ``ideal-switch`` for a star around one, otherwise ``switched``."""
    if not flexnet.nswitch:
        return "direct"
    rows = flexnet.connections
    ends = np.concatenate([rows.fromnode, rows.tonode])
    star = flexnet.nswitch == 1 and (ends >= flexnet.nnode).sum() == len(rows)
    full = len(rows) == flexnet.nnode and len(np.unique(ends)) == flexnet.nodes
    return "ideal-switch" if star and full and len(np.unique(rows.nconn)) == 1 else "switched"


@dataclass(frozen=True, eq=False)
class _FileRoutes:
    """The routes of a file; the paths of a pair share its bytes by probability.

    ``key`` are the pairs that have a path, sorted, each src·nodes + dst; ``row`` is the route of each.
    """

    flexnet: FlexNetGraph
    topology: Topology
    key: Ints
    row: Ints
    weight: NDArray[np.float64]
    method: ClassVar[str] = "explicit"

    @classmethod
    def of(cls, flexnet: FlexNetGraph, topology: Topology) -> "_FileRoutes":
        """Return the routes of a file on its topology."""
        rows = flexnet.routes
        key = rows.fromnode.astype(np.int64) * flexnet.nodes + rows.tonode
        order = np.argsort(key, kind="stable")
        order = order[np.diff(rows.path_first)[order] > 0]
        owner = owners(rows.path_first)
        chance = rows.chance.astype(np.float64)
        total = np.bincount(owner, chance, minlength=len(rows))
        return cls(flexnet, topology, key[order], order, chance / total[owner])

    def paths(self, src: int, dst: int) -> tuple[Path, ...]:
        """Return the paths of a pair; see :class:`topoopt.routing.Routes`."""
        arrays = self.path_arrays(np.array([src]), np.array([dst]))
        ends = zip(arrays.node_first[:-1].tolist(), arrays.node_first[1:].tolist(), strict=True)
        nodes = [tuple(arrays.nodes[a:b].tolist()) for a, b in ends]
        return tuple(Path(*path) for path in zip(nodes, arrays.weight.tolist(), strict=True))

    def path_arrays(self, src: NDArray[np.int64], dst: NDArray[np.int64]) -> PathArrays:
        """Return the paths of many pairs."""
        rows, away = self.flexnet.routes, src != dst
        row = self._rows(src[away], dst[away])
        count = np.zeros(len(src), np.int64)
        count[away] = np.diff(rows.path_first)[row]
        path, _ = entries_of(rows.path_first, row)
        return PathArrays(
            pointer(count),
            pointer(np.diff(rows.hop_first)[path]),
            rows.hopnode[entries_of(rows.hop_first, path)[0]].astype(np.int32),
            self.weight[path],
        )

    def _rows(self, src: NDArray[np.int64], dst: NDArray[np.int64]) -> Ints:
        key = src * self.flexnet.nodes + dst
        place = np.minimum(np.searchsorted(self.key, key), max(len(self.key) - 1, 0))
        missing = self.key[place] != key if len(self.key) else np.ones(len(key), bool)
        if missing.any():
            pair = f"{src[np.argmax(missing)]}->{dst[np.argmax(missing)]}"
            raise NoRoute(f"{self.flexnet.place}: no route {pair}; add one, or name a fabric to run on")
        return self.row[place]


def _rings(flexnet: FlexNetGraph, topology: Topology, group: tuple[int, ...]) -> tuple[Ring, ...]:
    fitting = [ring for ring in flexnet.rings if ring.ringsz == len(group)]
    walked = [walk_ring(flexnet.nnode, jumps, group) for ring in fitting for jumps in ring.ringpaths]
    rings = tuple(ring for ring in walked if ring is not None)
    for ring in rings:
        src, dst = ring.edges()
        missing = topology.link_ids(src, dst) < 0
        if missing.any():
            step = f"{src[np.argmax(missing)]}->{dst[np.argmax(missing)]}"
            raise InvalidInput(
                f"{flexnet.place}: the ring of {len(group)} servers from {group[0]} steps {step}, where the file "
                "has no connection; add it, or name a fabric to run on"
            )
    return rings
