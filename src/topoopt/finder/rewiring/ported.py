"""The ports of a direct wiring: by its rings, else by a division among panels, else as they come."""

import numpy as np

from topoopt.finder.rewiring.wire import wire
from topoopt.topologies import DirectWiring
from topoopt.topologies.wirings import PortedLinks, ports_by_rings, ports_in_order

_MOST_LINKS_DIVIDED = 4_096  # a division among panels of links that are no rings; 3 s or so


def ported(wiring: DirectWiring) -> PortedLinks:
    """Return the port of every link end, such that as few interfaces as possible share a panel."""
    known = ports_by_rings(wiring)
    if known is not None or len(wiring.arcs[0]) > _MOST_LINKS_DIVIDED:
        return known or ports_in_order(wiring)
    wired = wire(wiring.topology(), wiring.degree, wiring.links)
    rows = [(one.src, one.src_interface, one.dst, one.dst_interface) for one in wired.patches]
    table = np.array(rows, np.int64).reshape(-1, 4)
    return PortedLinks(table[:, 0], table[:, 1], table[:, 2], table[:, 3], wired.interfaces_per_panel)
