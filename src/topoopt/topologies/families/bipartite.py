"""The complete bipartite wiring: two halves, every server of one joined to every server of the other."""

from collections.abc import Iterator

import numpy as np

from topoopt.base.arrays import Ints
from topoopt.topologies.direct_wiring import DirectWiring, wiring_of_arcs


def bipartite_exists(servers: int, degree: int, links: str) -> bool:
    """Return whether a server has an interface for each of the other half."""
    return servers == 2 * degree


def bipartite(servers: int, degree: int, links: str) -> Iterator[DirectWiring]:
    """Yield K_{d,d}: two hops at most."""
    yield wiring_of_arcs(
        "complete-bipartite",
        links,
        servers,
        degree,
        bipartite_arcs(degree),
        {"half": degree},
        group=2 * degree,
    )


def bipartite_arcs(half: int) -> tuple[Ints, Ints]:
    """Return both ends of every fiber: odd servers are one half, even ones the other."""
    src = np.repeat(np.arange(2 * half), half)
    return src, (src + 1 + 2 * np.tile(np.arange(half), 2 * half)) % (2 * half)
