"""Lay the AllReduce rings of any group on any fabric."""

from collections.abc import Callable, Sequence

import numpy as np

from topoopt.base.arrays import Ints
from topoopt.base.errors import InvalidInput
from topoopt.finder.busiest_share import best_start
from topoopt.finder.coin_rings import coin_rings, is_regular
from topoopt.finder.direct_rings import direct_rings
from topoopt.finder.hamiltonian_rings import hamiltonian_rings
from topoopt.finder.one_way_rings import one_way_rings
from topoopt.finder.switch_rings import switch_rings
from topoopt.finder.tours import member_order_ring, tours
from topoopt.routing import Routes
from topoopt.topologies import Ring, Topology

_Way = tuple[float, Callable[[], tuple[Ring, ...]]]
"""The least busiest share that a way to lay rings can reach, and the way."""

_WIRED_FOR_STRIDES = ("circulant", "direct")
"""What TopologyFinder wires. Its links that belong to no ring of the group are there for other traffic."""


def lay_rings(
    topology: Topology, routes: Routes, members: Sequence[int], rings: int, seed: int = 0
) -> tuple[Ring, ...]:
    """Return at least one and at most ``rings`` rings, over which the group's AllReduce is split equally.

    Rings of all servers that the topology knows are taken as they are, all of them. On a fabric with switches it
    is a ring in member order for each link of a server. On what TopologyFinder wired it is the stride rings over
    direct links, as in the paper; a regular sub-group of a circulant gets rings over shortest coin sequences.
    Everywhere else the busiest link carries as small a part as one of these can reach: stride rings over direct
    links, both ways around edge-disjoint Hamiltonian cycles (where fibers have none back, one way), short tours, one
    ring in member order. A sub-group that has stride rings gets no others with relays, for these load its neighbors'
    links.

    Parameters
    ----------
    members : sequence of int
        Servers of the group, in any order.
    rings : int
        Most rings wanted; the degree of a server is what it can use at once.
    seed : int
        Decides the search for cycles and ties of tours; the other rings need no chance.

    Raises
    ------
    InvalidInput
        If the group has fewer than two members or one that is no server, or ``rings`` is below 1.
    NoRoute
        If the members cannot reach each other.
    """
    group = np.unique(np.asarray(members, np.int64))
    if len(group) < 2 or group[0] < 0 or group[-1] >= topology.servers:
        raise InvalidInput(
            f"ring: a group needs at least 2 members out of 0..{topology.servers - 1}, got {tuple(members)}"
        )
    if rings < 1:
        raise InvalidInput(f"ring: at least 1 ring must be laid, got {rings}")
    if topology.nodes > topology.servers:
        return switch_rings(topology, routes, group, rings, seed)
    everyone = len(group) == topology.servers
    if everyone and topology.rings:
        return topology.rings
    direct = direct_rings(topology, group, rings)
    if direct and topology.family in _WIRED_FOR_STRIDES:
        return direct
    if is_regular(topology, group) and not everyone:
        return coin_rings(topology, group, rings)
    least = _least_share(topology, group, rings)
    ways: list[_Way] = [
        (least, lambda: direct),
        (least, lambda: hamiltonian_rings(topology, group, rings, seed)),
    ]
    if not topology.both_ways:
        ways.append((least, lambda: one_way_rings(topology, group, rings, seed)))
    if is_regular(topology, group):
        ways.append((least, lambda: coin_rings(topology, group, rings)))
    if everyone or not direct:
        ways.append((least, lambda: tours(topology, routes, group, rings, seed)))
        ways.append((1 / int(topology.ports.max(initial=1)), lambda: (member_order_ring(routes, group),)))
    return _least_busy(topology, ways)


def _least_busy(topology: Topology, ways: Sequence[_Way]) -> tuple[Ring, ...]:
    best: tuple[Ring, ...] = ()
    best_share = float("inf")
    for least, lay in ways:
        if best_share > least:
            share, rings = best_start(topology, lay())
            if share < best_share:
                best, best_share = rings, share
    return best


def _least_share(topology: Topology, group: Ints, rings: int) -> float:
    """Return a busiest share that no way here undercuts: every ring leaves every member at least once.

    Rings come in pairs, there and back. Where all servers take part, pairs that fill all ports but an odd
    one leave one cable at each server, and no ring closes over single cables; so either that port is idle or
    some links are crossed twice.
    """
    ports = int(np.diff(np.concatenate([[0], np.cumsum(topology.ports)])[topology.first_link])[group].min())
    if len(group) == topology.servers > 2 and ports % 2 and 1 < ports <= rings:
        return min(1 / (ports - 1), max(1 / ports, 2 / rings))
    return 1 / max(min(rings, ports), 1)
