"""How many interfaces go to AllReduce rings, and which groups get them."""

import math
from collections.abc import Callable, Mapping

import numpy as np

from topoopt.errors import InvalidInput
from topoopt.finder.select_permutations import ring_interfaces
from topoopt.traffic import AllReduceGroup, Traffic

Shares = dict[tuple[int, ...], int]
"""Interfaces of every member, by the members of the group."""


def proportional(traffic: Traffic, degree: int, links: str) -> Shares:
    """Divide the degree as AllReduce and model-parallel bytes on the wire stand to each other.

    d_A = max(1, ceil(d · AllReduce / (AllReduce + MP))), rounded up to whole rings but not above the degree;
    then group by group, the largest first: ceil(d_A · its share), until its members have none left;
    what remains goes round by round to the groups that can still take a ring. If no group that got
    interfaces spans all servers, one ring's worth is set aside first for a ring of all servers: it keeps
    the fabric connected.

    References
    ----------
    .. [1] W. Wang et al., "TopoOpt", NSDI 2023, Algorithm 1, lines 1-2.
    """
    everyone = tuple(range(traffic.servers))
    ring = ring_interfaces(traffic.servers, links)
    budget = _whole_rings(_allreduce_degree(traffic, degree), degree, ring)
    shares = _share_out(traffic, budget, links)
    if everyone not in shares:
        shares = _share_out(traffic, budget - ring, links)
        shares[everyone] = shares.get(everyone, 0) + ring
    return shares


def by_group(traffic: Traffic, degree: int, links: str) -> Shares:
    """Divide the degree as :func:`proportional` does, but without a ring of all servers.

    This is ours, for jobs in pipeline stages: the rings of the replicas of each stage and the links between stages
    connect all servers by themselves, like the two dimensions of a torus. At least one interface is left for
    model-parallel links; where there is no such traffic, or no group gets a ring, this is ``proportional``. Where the
    links do not come out connected the finder takes ``proportional``, too.
    """
    ring = ring_interfaces(traffic.servers, links)
    budget = _whole_rings(_allreduce_degree(traffic, degree), degree - 1, ring)
    shares = _share_out(traffic, budget, links) if traffic.mp_bytes else {}
    return shares or proportional(traffic, degree, links)


def all_to_allreduce(traffic: Traffic, degree: int, links: str) -> Shares:
    """Give every interface to rings of all servers: a pure circulant, as the authors' released code does."""
    return {tuple(range(traffic.servers)): degree}


DEGREE_SPLITS: Mapping[str, Callable[[Traffic, int, str], Shares]] = {
    "proportional": proportional,
    "all-to-allreduce": all_to_allreduce,
    "by-group": by_group,
}


def check_degree(servers: int, degree: int, links: str) -> None:
    """Refuse a degree that cannot connect the servers.

    Raises
    ------
    InvalidInput
        If the degree is below 1, or is 1 and duplex cables have to join more than two servers.
    """
    if degree < 1:
        raise InvalidInput(f"degree: must be at least 1, got {degree}")
    if degree < ring_interfaces(servers, links):
        raise InvalidInput(
            f"degree: {degree} duplex interface cannot connect {servers} servers; use 2 or more, or directed links"
        )


def _allreduce_degree(traffic: Traffic, degree: int) -> int:
    ring_bytes, mp_bytes = traffic.allreduce_wire_bytes, traffic.mp_bytes
    if not ring_bytes:
        return 1
    return max(1, math.ceil(degree * ring_bytes / (ring_bytes + mp_bytes)))


def _whole_rings(interfaces: int, most: int, ring: int) -> int:
    return min(-(-interfaces // ring), most // ring) * ring


def _share_out(traffic: Traffic, budget: int, links: str) -> Shares:
    free = np.full(traffic.servers, budget)
    shares: Shares = {}
    everything = traffic.allreduce_wire_bytes
    for group in traffic.allreduce:
        interfaces = math.ceil(budget * group.wire_bytes / everything)
        ring = ring_interfaces(len(group.members), links)
        _grant(shares, free, group, -(-interfaces // ring), ring)
    grew = True
    while grew:
        grew = False
        for group in traffic.allreduce:
            grew |= _grant(shares, free, group, 1, ring_interfaces(len(group.members), links))
    return shares


def _grant(shares: Shares, free: np.ndarray, group: AllReduceGroup, rings: int, ring: int) -> bool:
    members = np.asarray(group.members)
    interfaces = min(rings, int(free[members].min()) // ring) * ring
    if interfaces <= 0:
        return False
    free[members] -= interfaces
    shares[group.members] = shares.get(group.members, 0) + interfaces
    return True
