"""The odd interface of an odd number of servers: a matching of all but one, on top of a wiring without it."""

from dataclasses import replace

import numpy as np

from topoopt.topologies.direct_wiring import DirectWiring, wiring_of_arcs
from topoopt.topologies.wiring_hops import wiring_hops

_DRAWS, _MANY = 8, 512  # matchings to choose from; servers from which on one is enough


def with_odd_interface(wiring: DirectWiring, seed: int) -> DirectWiring:
    """Return the wiring with one interface more of every server but one, joined at random; of some the fewest hops.

    Servers and interfaces are both odd, so that there is one end too many: one interface of one server is idle. The
    matching has no symmetry, but all rings stay.
    """
    rng = np.random.default_rng((seed, wiring.servers, wiring.degree))
    src, dst = wiring.arcs
    drawn = []
    for _ in range(_DRAWS if wiring.servers < _MANY else 1):
        order = rng.permutation(wiring.servers)[: wiring.servers - 1]
        a, b = order[::2], order[1::2]
        arcs = np.concatenate([src, a, b]), np.concatenate([dst, b, a])
        recipe = {**wiring.recipe, "matching": np.stack([a, b], axis=1).tolist()}
        drawn.append(
            wiring_of_arcs(wiring.family, wiring.links, wiring.servers, wiring.degree + 1, arcs, recipe)
        )
    best = min(drawn, key=lambda one: wiring_hops(one).average_hops)
    return replace(best, rings=wiring.rings)
