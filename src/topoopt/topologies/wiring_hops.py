"""How far apart a direct wiring leaves its servers, by a bit for each server that was reached."""

import numpy as np

from topoopt.base.errors import NoRoute
from topoopt.base.memory import refuse_too_large
from topoopt.topologies.direct_wiring import DirectWiring
from topoopt.topologies.families.lifted_kernel import hops_of_levels
from topoopt.topologies.metrics import HopMetrics


def wiring_hops(wiring: DirectWiring) -> HopMetrics:
    """Return diameter, average hops and histogram; a search from one server of each orbit says all.

    Raises
    ------
    NoRoute
        If the wiring falls into parts, or some server cannot reach another.
    """
    servers, orbits = wiring.servers, wiring.orbits
    words = servers * -(-orbits // 64)
    refuse_too_large(f"servers {servers}", 16.0 * words, "ask for fewer servers")
    reached = np.zeros(servers + 1, np.int64)
    old, new = np.empty((2, words), np.uint64)
    diameter = hops_of_levels(wiring.near, wiring.shift, old, new, wiring.group, reached)
    if diameter < 0:
        raise NoRoute(
            f"{wiring.family} of {servers} servers: falls into parts; some server cannot reach another"
        )
    pairs = np.diff(reached[: diameter + 1]) * wiring.group
    average = float(pairs @ np.arange(1, diameter + 1)) / (servers * (servers - 1))
    return HopMetrics(diameter, average, (0, *pairs.tolist()))
