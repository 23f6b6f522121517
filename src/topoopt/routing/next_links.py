"""One shortest way of every pair, as a table: over which link a node sends what is for a server."""

import numpy as np

from topoopt.base.arrays import Ints32
from topoopt.routing.next_links_kernel import fill_next_links
from topoopt.routing.path_arrays import require_reached
from topoopt.topologies import Topology, trees_to

_ROWS_AT_ONCE = 1 << 22  # entries of a block of hops: 64 MB with all that comes with them


def next_links(topology: Topology, seed: int = 0) -> Ints32:
    """Return the link out of each node towards each server, shape (servers, nodes); -1 at the server itself.

    Of several links that lead nearer one is drawn by a hash of node and server, a link of two ports as often as two
    of one. It takes 4 bytes a pair, where the links of all pairs take a hundred and more.

    Raises
    ------
    NoRoute
        If a server cannot reach another.
    """
    servers = topology.servers
    table = np.empty((servers, topology.nodes), np.int32)
    for block in np.array_split(np.arange(servers), 1 + servers * topology.nodes // _ROWS_AT_ONCE):
        hops = trees_to(topology, block).hops
        lost = np.argwhere(hops[:, :servers] < 0)[:1]
        require_reached(hops[lost[:, 0], lost[:, 1]], lost[:, 1], block[lost[:, 0]])
        fill_next_links(
            topology.first_link, topology.dst, topology.ports, hops, int(block[0]), seed, table[block[0] :]
        )
    return table
