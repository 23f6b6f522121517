"""Lay the AllReduce rings of any group on any fabric."""

from collections.abc import Sequence

import numpy as np

from topoopt.errors import InvalidInput
from topoopt.finder.coin_rings import coin_rings, is_regular
from topoopt.finder.direct_rings import direct_rings
from topoopt.finder.tours import member_order_ring, tours
from topoopt.routing import Routes
from topoopt.topology import Ring, Topology


def lay_rings(
    topology: Topology, routes: Routes, members: Sequence[int], rings: int, seed: int = 0
) -> tuple[Ring, ...]:
    """Return at least one and at most ``rings`` rings, over which the group's AllReduce is split equally.

    In this order of preference: stride rings over direct links; on a fabric with switches one ring in member
    order; in a regular group of a circulant rings over shortest coin sequences; else short tours.

    Parameters
    ----------
    members : sequence of int
        Servers of the group, in any order.
    rings : int
        Most rings wanted; the degree of a server is what it can use at once.
    seed : int
        Decides ties of tours; the other rings need no chance.

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
        return (member_order_ring(routes, group),)
    direct = direct_rings(topology, group, rings)
    if direct:
        return direct
    if is_regular(topology, group):
        return coin_rings(topology, group, rings)
    return tours(topology, routes, group, rings, seed)
