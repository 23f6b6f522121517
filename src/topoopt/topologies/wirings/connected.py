"""A wiring in one part: every server reaches every other."""

from collections.abc import Callable

import numpy as np

from topoopt.base.errors import InvalidInput
from topoopt.topologies.breadth_first import hops_from, trees_to
from topoopt.topologies.direct_wiring import DirectWiring


def refuse_parts(wiring: DirectWiring, place_of: Callable[[int], str], root_name: str = "server 0") -> None:
    """Refuse a wiring that falls into parts.

    Parameters
    ----------
    place_of : function
        From a server to where it stands.
    root_name : str
        What server 0 is called.

    Raises
    ------
    InvalidInput
        With the first server that 0 does not reach, or that does not reach 0.
    """
    topology, root = wiring.topology(), np.array([0])
    for hops, words in (
        (hops_from(topology, root), f"{root_name} does not reach it"),
        (trees_to(topology, root).hops, f"it does not reach {root_name}"),
    ):
        for server in np.flatnonzero(hops[0] < 0)[:1].tolist():
            raise InvalidInput(f"{place_of(server)}: {words}; the wiring falls into parts, join them")
