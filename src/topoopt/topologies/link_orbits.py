"""Links that a turn leads to each other: where a topology is the same again some servers further."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from topoopt.base.arrays import Floats, Ints, Ints32
from topoopt.topologies.topology import Topology


@dataclass(frozen=True, eq=False, slots=True)
class LinkOrbits:
    """The links of a topology that the turn s → s + ``step`` leads to itself, by what it does with them.

    Attributes
    ----------
    step : int
        Servers further; it divides their number.
    orbits : int
        Links out of the first ``step`` servers: no turn leads one of them to another.
    code : int32 array, shape (links,)
        ``turn · orbits + orbit`` of each link; so many turns lead there from the link of the orbit that comes first.
    link : int32 array, shape (links,)
        The link of each code.
    """

    step: int
    orbits: int
    code: Ints32
    link: Ints32


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
