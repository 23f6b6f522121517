"""How evenly a wiring can carry a uniform all-to-all: hops, as the fullest link would have it."""

import numpy as np

from topoopt.topologies.direct_wiring import DirectWiring
from topoopt.topologies.wirings.all_to_all_kernel import Rooms, fullest_link

_MOST_ROUNDS, _LEAST_ROUNDS = 200, 8
_LINKS_LOOKED_AT = 60_000_000  # 0.3 s or so
_LARGEST = 1 << 26  # entries of the tables of hops


def balanced_hops(wiring: DirectWiring) -> float | None:
    """Return the mean hops that a wiring without a fuller link would need to be as slow for a uniform all-to-all.

    With L the pairs whose bytes cross the fullest link, over shortest ways and split as evenly as was found, that is
    L · d / (n - 1): never below the mean of hops, and equal to it where all links are equally full. The split is one
    that can be made, not proven to be the best. None where the wiring is too large to say in a second or so.
    """
    orbits, servers, degree = wiring.orbits, wiring.servers, wiring.degree
    links = orbits * servers * degree
    if orbits * servers > _LARGEST or links * _LEAST_ROUNDS > _LINKS_LOOKED_AT:
        return None
    rounds = max(_LEAST_ROUNDS, min(_MOST_ROUNDS, _LINKS_LOOKED_AT // links))
    hops, order = np.empty((2, orbits, servers), np.int32)
    loads, aside, price = np.empty((3, orbits, degree))
    cost, flow = np.empty((2, servers))
    rooms = Rooms(hops, order, loads, aside, price, cost, flow, np.empty((servers, 2), np.int32))
    most = fullest_link(wiring.near, wiring.shift, wiring.group, rooms, rounds)
    return float(most) * degree / (servers - 1)
