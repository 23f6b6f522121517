"""From our Fabric to FlexNet's connections, routes and ring descriptors."""

from collections.abc import Iterable
from itertools import pairwise

import numpy as np

from topoopt.errors import InvalidInput
from topoopt.routing import Fabric, path_table
from topoopt.simulate.fbuf.graph import Connections, RingDescriptor, RouteRows
from topoopt.simulate.fbuf.ring_walks import walk_ring
from topoopt.topology import Ring

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


def routes_of(fabric: Fabric, name: str) -> RouteRows:
    """Return the routes of all ordered pairs of servers; one of a server with itself has no path.

    Raises
    ------
    InvalidInput
        If there are too many servers.
    NoRoute
        If a pair cannot be reached.
    """
    topology = fabric.topology
    if topology.servers > _MOST_SERVERS:
        raise InvalidInput(
            f"{name}: {topology.servers} servers, and .fbuf lists the routes of all pairs in 2 GiB: at most "
            f"{_MOST_SERVERS}; write a smaller job"
        )
    server = np.arange(topology.servers)
    src, dst = np.repeat(server, len(server)), np.tile(server, len(server))
    found = path_table(fabric, src, dst)
    # a path's nodes are the starts of its links and the end of the last
    hop_first = found.path_first + np.arange(len(found.path_first))
    node = np.zeros(int(hop_first[-1]), np.uint32)
    ends = np.zeros(len(node), bool)
    ends[hop_first[1:] - 1] = True
    node[~ends] = topology.src[found.link]
    node[ends] = np.repeat(dst, np.diff(found.pair_first))
    chance = found.weight.astype(np.float32)
    return RouteRows(src.astype(np.uint32), dst.astype(np.uint32), found.pair_first, hop_first, node, chance)


def rings_of(
    fabric: Fabric, groups: Iterable[tuple[int, ...]], name: str, drop_rings: bool
) -> tuple[RingDescriptor, ...]:
    """Return descriptors from which the groups' rings come out as they are on the fabric.

    Rings through switches need none: along the routes they come out by themselves.

    Raises
    ------
    InvalidInput
        If there are none and ``drop_rings`` is not set.
    """
    if fabric.topology.nodes > fabric.topology.servers:
        return ()
    nnode = fabric.topology.servers
    by_size: dict[int, tuple[tuple[int, ...], ...] | None] = {}
    for group in groups:
        rings = fabric.rings.get(group, ())
        jumps = tuple(_jumps(ring, nnode) for ring in rings)
        fits = all(
            _same(walk_ring(nnode, steps, group), ring) for steps, ring in zip(jumps, rings, strict=True)
        )
        here = jumps if fits else None
        if len(group) in by_size and by_size[len(group)] != here:
            here = None
        by_size[len(group)] = here
        if here is None and not drop_rings:
            raise InvalidInput(
                f"{name}: the rings of the {len(group)} servers from {group[0]} differ from member to member or "
                "from those of another group of that size, and .fbuf has one list of jumps for all; "
                "write it with drop_rings, for one ring along the routes"
            )
    return tuple(RingDescriptor(size, jumps) for size, jumps in sorted(by_size.items()) if jumps)


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
