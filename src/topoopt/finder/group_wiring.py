"""Groups wired by unions of Hamiltonian cycles: all interfaces that they get are in their rings, an odd number, too."""

from functools import lru_cache

import numpy as np

from topoopt.finder.degree_split import Shares
from topoopt.finder.wiring import Wiring
from topoopt.topologies import DirectWiring, LiftShape, Ring, lifted

LIFTED = "lifted"
GROUP_RINGS = (LIFTED, "strides")
"""How groups may be wired that share no server."""

_SEARCH_S = 0.05
"""Seconds of search for few hops inside a group. Most of its bytes are AllReduced, which no hops make slower."""


def wire_groups(wiring: Wiring, shares: Shares, seed: int) -> dict[tuple[int, ...], tuple[Ring, ...]]:
    """Plug in the groups and return their rings, by members.

    Groups of one size are wired alike, so that what joins them (pairs, say) makes rings of all servers, too.

    Raises
    ------
    Infeasible
        If a group of an odd number of interfaces has no three matchings.
    """
    rings: dict[tuple[int, ...], tuple[Ring, ...]] = {}
    for members, interfaces in shares.items():
        server = np.asarray(members, np.int64)
        of_group = _wired_alike(len(members), interfaces, wiring.links, seed)
        src, dst = of_group.arcs
        wiring.add_links(server[src], server[dst])
        rings[members] = tuple(_of_members(ring, members) for ring in of_group.split_rings())
    return rings


@lru_cache(maxsize=64)
def _wired_alike(size: int, interfaces: int, links: str, seed: int) -> DirectWiring:
    return lifted(LiftShape(size, interfaces, links, 1), seed, _SEARCH_S)


def _of_members(ring: Ring, members: tuple[int, ...]) -> Ring:
    walk = tuple(members[place] for place in ring.walk)
    return Ring(ring.stride, walk, walk)
