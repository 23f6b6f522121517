"""A wiring in one part: every server reaches every other."""

from collections.abc import Callable

import numpy as np

from topoopt.errors import InvalidInput
from topoopt.topology import DirectWiring, hops_from, trees_to


def refuse_parts(wiring: DirectWiring, place_of: Callable[[int], str]) -> None:
    """Refuse a wiring that falls into parts.

    Parameters
    ----------
    place_of : function
        From a server to where it stands.

    Raises
    ------
    InvalidInput
        With the first server that 0 does not reach, or that does not reach 0.
    """
    topology, root = wiring.topology(), np.array([0])
    for hops, words in (
        (hops_from(topology, root), "server 0 does not reach it"),
        (trees_to(topology, root).hops, "it does not reach server 0"),
    ):
        for server in np.flatnonzero(hops[0] < 0)[:1].tolist():
            raise InvalidInput(f"{place_of(server)}: {words}; the wiring falls into parts, join them")
