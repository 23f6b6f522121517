"""FabricRequest, and the split of a server's interfaces between AllReduce rings and other traffic."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from topoopt.base.errors import InvalidInput
from topoopt.catalog import DEFAULT_LATENCY_S
from topoopt.finder.select_permutations import ring_interfaces
from topoopt.workloads import AllReduceGroup, Traffic


@dataclass(frozen=True, slots=True)
class FabricShape:
    """Settings of a fabric; values left at their defaults are chosen by the fabric.

    Attributes
    ----------
    switches : bool
        Every switch is a node, as the packet simulator needs it; else parallel switches are merged into
        trunks, which is faster and, where traffic is spread over all paths, the same. Any fabric takes it.
    routing : str, optional
        Name in the table of routing methods, for all fabrics of fixed links.
    arity : int, optional
        The k of a k-ary fat-tree.
    oversubscription : float, optional
        Bandwidth into the first switch over bandwidth out of it; for fat-trees and rails.
    leaf_ports : int, optional
        Ports of a switch of a rail.
    strides : tuple of int
        Strides of the circulant ``topoopt``.
    wiring : str
        Family of wirings or wiring file, in place of strides, for ``topoopt``.
    twisted : bool
        Twisted wrap-around links; for a torus.
    delay_s : float, optional
        Duration of a change of circuits; for reconfigurable fabrics.
    host_forwarding : bool, optional
        Whether servers relay between changes of circuits; for reconfigurable fabrics.
    electrical_ports, region_servers : int, optional
        Ports of a server on the electrical fabric, and servers that circuits can join; for regional circuits.
    circuits, hiding : str, optional
        Choice of regional circuits, and the part of a change that is waited for; see
        :class:`topoopt.routing.RegionalReconfiguration`.
    """

    switches: bool = False
    routing: str | None = None
    arity: int | None = None
    oversubscription: float | None = None
    leaf_ports: int | None = None
    strides: tuple[int, ...] = ()
    twisted: bool = False
    delay_s: float | None = None
    host_forwarding: bool | None = None
    electrical_ports: int | None = None
    region_servers: int | None = None
    circuits: str | None = None
    hiding: str | None = None
    wiring: str = ""

    def chosen(self, fabric: str, known: frozenset[str]) -> dict[str, Any]:
        """Return the settings that are given, by name; all of them must be known to the fabric.

        Raises
        ------
        InvalidInput
            Naming the first setting that does not apply; switches are skipped.
        """
        values = ((one.name, getattr(self, one.name), one.default) for one in fields(self))
        chosen = {name: value for name, value, usual in values if value != usual}
        for name, value in chosen.items():
            if name not in known | {"switches"}:
                takes = ", ".join(sorted(known - {"switches"})) or "none"
                raise InvalidInput(
                    f"fabric {fabric}: does not accept {name}, got {value}; accepted here: {takes}"
                )
        return {name: value for name, value in chosen.items() if name in known}


AS_USUAL = FabricShape()
"""Everything the fabric's own choice, switches merged into trunks."""


@dataclass(frozen=True, slots=True)
class FabricRequest:
    """Arguments common to all fabric builders.

    Attributes
    ----------
    servers : int
    degree, bandwidth_bps : int, float
        Interfaces of a server, and the bandwidth of one per direction.
    groups : sequence of tuple of int
        Members of each AllReduce group, as :attr:`topoopt.simulation.TaskGraph.groups` gives them: they get rings.
    latency_s : float
        Latency per link.
    server_bandwidth_bps : float, optional
        All interfaces of a server together, in place of the fabric's default.
    seed : int
    shape : FabricShape
        Settings that only some fabrics accept.
    """

    servers: int
    degree: int
    bandwidth_bps: float
    groups: Sequence[tuple[int, ...]] = ()
    latency_s: float = DEFAULT_LATENCY_S
    server_bandwidth_bps: float | None = None
    seed: int = 0
    shape: FabricShape = AS_USUAL

    def __post_init__(self) -> None:
        if self.degree < 1:
            raise InvalidInput(f"degree: must be at least 1, got {self.degree}")

    def each_bps(self, share: float = 1.0) -> float:
        """Return the bandwidth of an interface; ``share`` of d·B is the default of all of them together."""
        together_bps = self.server_bandwidth_bps
        if together_bps is None:
            together_bps = self.degree * self.bandwidth_bps * share
        return together_bps / self.degree


Shares = dict[tuple[int, ...], int]
"""Interfaces of every member, by the members of the group."""


def proportional(traffic: Traffic, degree: int, links: str) -> Shares:
    """Divide the degree in proportion to AllReduce and model-parallel bytes on the wire.

    d_A = max(1, ceil(d · AllReduce / (AllReduce + MP))), rounded up to whole rings but not above the degree; then
    group by group, the largest first: ceil(d_A · its share), until its members have none left; the rest goes
    round-robin to the groups that can still take a ring. If no group with interfaces spans all servers, the
    interfaces of one ring are first reserved for a ring of all servers, which keeps the fabric connected.

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
    """Use every interface for rings of all servers: a pure circulant, as in the authors' released code."""
    return {tuple(range(traffic.servers)): degree}


def by_group_but_one(traffic: Traffic, degree: int, links: str) -> Shares:
    """Leave one interface for model-parallel links and use the others for groups that share no server.

    This is ours, for tensor parallelism in pairs: one cable joins a pair, and the replicas of its halves have all
    other interfaces, an odd number, too. Without such groups, or model-parallel traffic, this is ``proportional``.
    """
    return _all_but(1, traffic, degree, links)


def by_group_but_two(traffic: Traffic, degree: int, links: str) -> Shares:
    """Leave two interfaces for model-parallel links; see :func:`by_group_but_one`."""
    return _all_but(2, traffic, degree, links)


def cliques(traffic: Traffic, degree: int, links: str) -> Shares:
    """Join the members of each all-to-all with each other, and leave no interface for AllReduce rings.

    This is our rule for the expert exchanges of pipeline stages: every byte takes one hop inside its stage, and
    the remaining interfaces join the stages. Without such groups (see :func:`joined_groups`) this is
    ``proportional``.
    """
    return {} if joined_groups(traffic, degree) else proportional(traffic, degree, links)


def joined_groups(traffic: Traffic, degree: int) -> list[tuple[int, ...]]:
    """Return the all-to-all groups that can be joined completely, none sharing a server with one of more bytes.

    A group has at most as many members as a server has interfaces, so that one is left for traffic out of the group.
    """
    taken: set[int] = set()
    joined = []
    for group in sorted(traffic.alltoall, key=lambda group: -group.bytes_per_pair):
        fits = 2 < len(group.members) <= degree and traffic.servers <= MOST_JOINED
        if fits and taken.isdisjoint(group.members):
            taken.update(group.members)
            joined.append(group.members)
    return joined


DEGREE_SPLITS: Mapping[str, Callable[[Traffic, int, str], Shares]] = {
    "proportional": proportional,
    "all-to-allreduce": all_to_allreduce,
    "by-group": by_group,
    "by-group-but-one": by_group_but_one,
    "by-group-but-two": by_group_but_two,
    "cliques": cliques,
}
MOST_JOINED = 512
"""Servers up to which groups are joined completely: each cable between them is chosen by the demand of all pairs."""
GROUPS_BY_FAMILY = ("by-group-but-one", "by-group-but-two")
"""Degree splits whose groups are wired by a family of wirings: strides allow even numbers only."""


def layout_splits(traffic: Traffic, degree: int) -> tuple[str, ...]:
    """Return the degree splits that are tried for a layout of a transformer; its stages keep strides."""
    left_out = GROUPS_BY_FAMILY if joined_groups(traffic, degree) else (*GROUPS_BY_FAMILY, "cliques")
    return tuple(name for name in DEGREE_SPLITS if name not in left_out)


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


def _all_but(left: int, traffic: Traffic, degree: int, links: str) -> Shares:
    taken = np.zeros(traffic.servers, bool)
    shares: Shares = {}
    for group in traffic.allreduce if traffic.mp_bytes else ():
        members = np.asarray(group.members)
        interfaces = wired_interfaces(len(members), degree - left, links)
        if len(members) < traffic.servers and interfaces and not taken[members].any():
            shares[group.members] = interfaces
            taken[members] = True
    return shares or proportional(traffic, degree, links)


def wired_interfaces(size: int, interfaces: int, links: str) -> int:
    """Return how many of these interfaces the rings of a group can fill: 0 if they are too few to join it.

    With cables three matchings fill an odd number from three on, if the group is even.
    """
    usable = min(interfaces, size - 1)
    if links == "duplex" and usable % 2 and (usable < 3 or size % 2):
        usable -= 1
    return usable if usable >= ring_interfaces(size, links) else 0


def _allreduce_degree(traffic: Traffic, degree: int) -> int:
    ring_bytes, mp_bytes = traffic.allreduce_wire_bytes, traffic.mp_bytes
    return max(1, math.ceil(degree * ring_bytes / (ring_bytes + mp_bytes))) if ring_bytes else 1


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
