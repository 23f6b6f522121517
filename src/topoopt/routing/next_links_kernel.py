"""The link that leads each node nearer to each server, compiled.

Arrays
------
first_link, link_dst, ports : int64 (nodes+1,), int32 (links,), int32 (links,)  a graph by rows
hops : int32 (rows, nodes)       links from a node to the server ``first`` + row, -1 where there is no way
table : int32 (rows or more, nodes)  the link, -1 at the server itself and where there is no way
"""

from pathlib import Path

from topoopt.base.arrays import Ints, Ints32
from topoopt.base.kernel import entry, stamp, stamped
from topoopt.routing.k_shortest_kernel import pair_hash

STAMP = stamp([Path(__file__), Path(__file__).with_name("k_shortest_kernel.py")])
"""Of all that is compiled into this kernel."""


@entry
@stamped(STAMP)
def fill_next_links(
    first_link: Ints,
    link_dst: Ints32,
    ports: Ints32,
    hops: Ints32,
    first: int,
    seed: int,
    table: Ints32,
) -> None:
    """Draw one of the ports that lead nearer, for every node and row."""
    for row in range(hops.shape[0]):
        to = hops[row]
        for node in range(hops.shape[1]):
            table[row, node] = -1
            if to[node] <= 0:
                continue
            width = 0
            for e in range(first_link[node], first_link[node + 1]):
                if to[link_dst[e]] == to[node] - 1:
                    width += ports[e]
            left = pair_hash(seed, node, first + row) % width
            for e in range(first_link[node], first_link[node + 1]):
                if to[link_dst[e]] == to[node] - 1:
                    table[row, node] = e
                    left -= ports[e]
                    if left < 0:
                        break
