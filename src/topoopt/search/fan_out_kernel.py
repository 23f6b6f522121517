"""What a byte from a server to every other one, and back, puts on the links of their one ways, compiled.

Arrays
------
next_link : int32 (servers, nodes)  link out of a node towards a server
link_dst : int32 (links,)
table : float64 (servers, 2, links)  bytes on each link: sent by the server, and sent to it; zero at first
"""

from topoopt.base.arrays import Floats, Ints32
from topoopt.base.kernel import entry


@entry
def walk_fan_out(next_link: Ints32, link_dst: Ints32, table: Floats) -> None:
    """Walk between all servers."""
    for target in range(len(next_link)):
        for source in range(len(next_link)):
            node = source
            while node != target:
                link = next_link[target, node]
                table[source, 0, link] += 1.0
                table[target, 1, link] += 1.0
                node = link_dst[link]
