"""From our Fabric to FlexNet's connections, routes and ring descriptors."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby, pairwise

import numpy as np

from topoopt.base.arrays import Ints
from topoopt.base.errors import InvalidInput, NoRoute
from topoopt.routing import Fabric, path_table
from topoopt.simulation.fbuf.graph import Connections, RingDescriptor, RouteRows
from topoopt.simulation.fbuf.ring_walks import walk_ring
from topoopt.topologies import Ring

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
    """How the rings of all groups are written.

    Attributes
    ----------
    descriptors : tuple of RingDescriptor
        For groups of a size that all walk their rings in the same jumps.
    orders : mapping from the sorted members of a group to member orders
        For groups whose rings go along the routes: an AllReduce of each order carries its part of the bytes.
    """

    descriptors: tuple[RingDescriptor, ...]
    orders: Mapping[tuple[int, ...], tuple[tuple[int, ...], ...]]


def ring_plan(fabric: Fabric, groups: Iterable[tuple[int, ...]], name: str, drop_rings: bool) -> RingPlan:
    """Return how to write the rings so that they come out as they are on the fabric.

    Where routes through switches spread over several paths, a ring that is laid on one of them spreads too.

    Raises
    ------
    InvalidInput
        If a group's rings can be written in neither way and ``drop_rings`` is not set.
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
        jumps = tuple(_jumps(ring, nnode) for ring in rings)
        walked = [walk_ring(nnode, steps, group) for steps in jumps]
        if not all(_same(mine, ring) for mine, ring in zip(walked, rings, strict=True)):
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


def _jumps(ring: Ring, nnode: int) -> tuple[int, ...]:
    """Return the steps from the first member to the next."""
    return tuple((b - a) % nnode for a, b in pairwise(_legs(ring)[0]))


def _same(ring: Ring | None, other: Ring) -> bool:
    """Return whether two rings go the same way from each member to the next."""
    return ring is not None and sorted(_legs(ring)) == sorted(_legs(other))


def _legs(ring: Ring) -> list[tuple[int, ...]]:
    """Return the nodes from each member to the next one, both included."""
    around = (*ring.walk, ring.walk[0])
    starts = [0]
    for member in ring.members[1:]:
        starts.append(around.index(member, starts[-1] + 1))
    return [around[a : b + 1] for a, b in pairwise([*starts, len(ring.walk)])]
