"""How well rings use the links of a fabric: what part of an AllReduce the busiest link carries."""

from collections.abc import Sequence

import numpy as np

from topoopt.topologies import Ring, Topology


def busiest_share(topology: Topology, rings: Sequence[Ring]) -> float:
    """Return the largest, over all links, of crossings / (rings × ports of the link).

    An AllReduce is split equally over its rings and goes at the pace of the busiest link, so its time is
    proportional to this where all ports are equally fast. With d ports a server it is at least 1/d.
    """
    return best_start(topology, rings, len(rings))[0]


def best_start(topology: Topology, rings: Sequence[Ring], fewest: int = 1) -> tuple[float, tuple[Ring, ...]]:
    """Return the smallest busiest share of the first ``fewest`` or more rings, and these; of equals the most."""
    crossings = np.zeros(len(topology))
    best, count = float("inf"), 0
    for laid, ring in enumerate(rings, 1):
        crossings += np.bincount(topology.link_ids(*ring.edges()), minlength=len(topology))
        share = float((crossings / topology.ports).max()) / laid
        if laid >= fewest and share <= best:
            best, count = share, laid
    return best, tuple(rings[:count])
