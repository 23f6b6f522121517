"""DirectWiring: servers joined fiber by fiber, as a graph of few orbits repeated by a group of rotations."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from topoopt.base.arrays import Floats, Ints, Ints32
from topoopt.catalog import DEFAULT_LATENCY_S
from topoopt.topologies.topology import Ring, Topology, topology_from_arrays


@dataclass(frozen=True, eq=False, slots=True)
class LinkOrbits:
    """The links of a topology that the rotation s → s + ``step`` maps to itself, by orbit.

    Attributes
    ----------
    step : int
        Servers further; it divides their number.
    orbits : int
        Links out of the first ``step`` servers: no turn leads one of them to another.
    code : int32 array, shape (links,)
        ``turn · orbits + orbit`` of each link; the turn leads there from the first link of the orbit.
    """

    step: int
    orbits: int
    code: Ints32
    link: Ints32


@dataclass(frozen=True, eq=False)
class WiredRing:
    """A closed walk over every server, known from how the wiring was made.

    Attributes
    ----------
    walk : int64 array, shape (servers,)
        Servers in the order of visit.
    share : float
        Share of an interface's rate that the ring has on each fiber; rings over the same fibers share it.
    """

    walk: Ints
    share: float = 1.0


@dataclass(frozen=True, eq=False)
class DirectWiring:
    """Fibers from server to server; all servers of an orbit have equal views.

    Server (o, r), orbit o < m and r in the integers mod g, has number r·m + o. A wiring without symmetry has g = 1
    and an orbit for each server; a circulant has one orbit and g = n.

    Attributes
    ----------
    family : str
    links : str
        ``duplex`` (every fiber has one back: a cable) or ``directed``.
    group : int
        The g above.
    near, shift : int64 arrays, shape (orbits, degree)
        Fiber k into (o, r) comes from (near[o, k], r + shift[o, k]); an idle interface has itself, 0.
    recipe : mapping
        Parameters that it was built with, as plain values.
    rings : tuple of WiredRing
        Rings of all servers from its construction, in duplex wirings each for both directions.
    """

    family: str
    links: str
    group: int
    near: Ints
    shift: Ints
    recipe: Mapping[str, Any] = field(default_factory=dict)
    rings: tuple[WiredRing, ...] = ()

    @property
    def orbits(self) -> int:
        """Number of orbits; servers 0 .. orbits-1 represent them."""
        return len(self.near)

    @property
    def servers(self) -> int:
        """Number of servers."""
        return self.orbits * self.group

    @property
    def degree(self) -> int:
        """Interfaces of a server."""
        return int(self.near.shape[1])

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the servers, where the recipe has them from a file of others; empty where servers are numbers."""
        names = self.recipe.get("names")
        listed = names if isinstance(names, list) and len(names) == self.servers else []
        return tuple(listed) if all(isinstance(name, str) for name in listed) else ()

    @cached_property
    def arcs(self) -> tuple[Ints, Ints]:
        """Both ends of every fiber that is in use, sender first; those into server 0 come first."""
        orbits = self.orbits
        dst = np.repeat(np.arange(self.servers), self.degree)
        turn = dst // orbits
        near, shift = (np.tile(part.ravel(), self.group) for part in (self.near, self.shift))
        src = (turn + shift) % self.group * orbits + near
        return src[src != dst], dst[src != dst]

    @property
    def idle_interfaces(self) -> int:
        """Interfaces of all servers together that nothing is plugged into; of fibers, where none comes in."""
        return self.servers * self.degree - len(self.arcs[0])

    @property
    def rings_fill_links(self) -> bool:
        """Whether the rings, in both directions of a cable, use all links except the odd cable of an odd degree."""
        ways = 2 if self.links == "duplex" else 1
        over = self.links == "duplex" and self.servers % 2 and self.degree % 2
        return sum(ring.share for ring in self.rings) * ways >= self.degree - (1 if over else 0)

    def split_rings(self) -> tuple[Ring, ...]:
        """Return the rings such that an AllReduce that is split equally over them loads them by their share.

        Both directions of each cable; where some have half an interface's rate, full ones are listed twice.
        """
        least = min((ring.share for ring in self.rings), default=1.0)
        laid: list[Ring] = []
        for ring in self.rings:
            there = _ring(ring.walk)
            ways = (there, _ring(ring.walk[::-1])) if self.links == "duplex" else (there,)
            laid += ways * round(ring.share / least)
        return tuple(laid)

    def topology(self, bandwidth_bps: float = 1.0, latency_s: float = DEFAULT_LATENCY_S) -> Topology:
        """Return the links; of a circulant with its offsets."""
        steps = np.unique(-self.shift[0] % self.servers) if self.orbits == 1 else np.empty(0, np.int64)
        offsets = tuple(int(step) for step in steps if step)
        return topology_from_arrays(
            self.family, self.servers, *self.arcs, bandwidth_bps, latency_s, offsets=offsets
        )


def _ring(walk: Ints) -> Ring:
    turned = np.roll(walk, -int(np.argmin(walk)))
    steps = np.unique((np.roll(turned, -1) - turned) % len(turned))
    order = tuple(turned.tolist())
    return Ring(int(steps[0]) if len(steps) == 1 else 0, order, order)


def wiring_of_arcs(
    family: str,
    links: str,
    servers: int,
    degree: int,
    arcs: tuple[Ints, Ints],
    recipe: Mapping[str, Any] | None = None,
    rings: Sequence[WiredRing] = (),
    group: int = 1,
) -> DirectWiring:
    """Return the wiring of fibers that are known one by one; ``group`` turns it into itself, s → s + servers/group.

    A loop from a server to itself is left out: both its interfaces are idle.
    """
    orbits = servers // group
    src, dst = (np.asarray(end, np.int64) for end in arcs)
    into = np.flatnonzero((dst < orbits) & (src != dst))
    into = into[np.argsort(dst[into], kind="stable")]
    near = np.repeat(np.arange(orbits)[:, None], degree, axis=1)
    shift = np.zeros((orbits, degree), np.int64)
    place = np.arange(len(into)) - np.searchsorted(dst[into], dst[into])
    turn, orbit = np.divmod(src[into], orbits)
    near[dst[into], place] = orbit
    shift[dst[into], place] = turn
    return DirectWiring(family, links, group, near, shift, recipe or {}, tuple(rings))


def both_ways(arcs: tuple[Ints, Ints]) -> tuple[Ints, Ints]:
    """Return the fibers and their reverses: cables."""
    src, dst = arcs
    return np.concatenate([src, dst]), np.concatenate([dst, src])


def turns(arcs: tuple[Ints, Ints], servers: int, group: int) -> bool:
    """Return whether s → s + servers/group leaves the fibers as they are."""
    if group < 2 or servers % group:
        return False
    src, dst = arcs
    moved = [(end + servers // group) % servers for end in arcs]
    return bool((np.sort(src * servers + dst) == np.sort(moved[0] * servers + moved[1])).all())


def most_turns(arcs: tuple[Ints, Ints], servers: int) -> int:
    """Return the largest group of turns that leaves the fibers as they are; 1 where there is no symmetry."""
    return next((group for group in range(servers, 1, -1) if turns(arcs, servers, group)), 1)


def link_orbits(topology: Topology, step: int) -> LinkOrbits | None:
    """Return the orbits of the turn by ``step`` servers; None where it does not lead all links to links like them."""
    servers, links = topology.servers, len(topology)
    if topology.nodes > servers or not 0 < step <= servers or servers % step:
        return None
    orbits = int(topology.first_link[step])
    if orbits * (servers // step) != links:
        return None
    turn = np.arange(0, servers, step)[:, None]
    ends = ((end[:orbits] + turn) % servers for end in (topology.src.astype(np.int64), topology.dst))
    link = topology.link_ids(*ends)
    if (link < 0).any():
        return None
    alike = topology.ports, topology.bandwidth_bps, topology.latency_s
    if any((column[link] != column[:orbits]).any() for column in alike):
        return None
    code = np.empty(links, np.int32)
    code[link.ravel()] = np.arange(links)
    return LinkOrbits(step, orbits, code, link.ravel().astype(np.int32))


def turn_of(topology: Topology, demand: Floats | None = None) -> int:
    """Return after how many servers all links, and the bytes of pairs, are the same again; all where they never are.

    Parameters
    ----------
    demand : float64 array, shape (servers, servers), optional
    """
    servers, least = topology.servers, _turn_of_links(topology)
    steps = (step for step in range(least, servers, least) if not servers % step)
    return next((step for step in steps if demand is None or _is_alike(demand, step)), servers)


def _is_alike(demand: Floats, step: int) -> bool:
    """Return whether the bytes of all pairs are the same ``step`` servers further."""
    if not np.array_equal(demand[step], np.roll(demand[0], step)):
        return False
    return np.array_equal(np.roll(demand, (step, step), (0, 1)), demand)


@lru_cache(maxsize=16)
def _turn_of_links(topology: Topology) -> int:
    servers = topology.servers
    steps: Ints = np.arange(1, servers)
    found = (
        int(step) for step in steps[servers % steps == 0] if link_orbits(topology, int(step)) is not None
    )
    return next(found, servers)
