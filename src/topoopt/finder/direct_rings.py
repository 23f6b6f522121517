"""Rings of a group whose logical neighbors are all linked directly."""

from math import gcd

import numpy as np

from topoopt.base.arrays import Ints
from topoopt.topologies import Ring, Topology


def direct_rings(topology: Topology, members: Ints, limit: int) -> tuple[Ring, ...]:
    """Return the stride rings that need no relay, by ascending stride; none if there are none.

    Strides act on positions in the sorted ``members``. Parallel links carry a ring each; of these every
    stride gets its first before any gets its second, up to ``limit`` rings.
    """
    ports_along = []
    for stride in _strides_of_first(topology, members):
        links = topology.link_ids(members, np.roll(members, -stride))
        if (links >= 0).all():
            ports_along.append((stride, int(topology.ports[links].min())))
    deepest = max((ports for _, ports in ports_along), default=0)
    chosen = [stride for layer in range(deepest) for stride, ports in ports_along if ports > layer]
    return tuple(_stride_ring(members, stride) for stride in chosen[:limit])


def _strides_of_first(topology: Topology, members: Ints) -> list[int]:
    """Return the strides along which the first member has a link and that visit every member."""
    size = len(members)
    neighbors = topology.dst[topology.first_link[members[0]] : topology.first_link[members[0] + 1]]
    at = np.searchsorted(members, neighbors)
    inside = at[(at < size) & (members[np.minimum(at, size - 1)] == neighbors)]
    return [stride for stride in inside.tolist() if gcd(stride, size) == 1]


def _stride_ring(members: Ints, stride: int) -> Ring:
    order = tuple(members[np.arange(len(members)) * stride % len(members)].tolist())
    return Ring(stride, order, order)
