"""The link between two nodes of a graph by rows, found by halving: a switch has one to every server."""

from topoopt.base.arrays import Ints, Ints32
from topoopt.base.kernel import compiled


@compiled
def link_to(first_link: Ints, link_dst: Ints32, src: int, dst: int) -> int:
    """Return the link from one node to another, -1 where there is none."""
    low, high = first_link[src], first_link[src + 1]
    while low < high:
        middle = (low + high) // 2
        if link_dst[middle] < dst:
            low = middle + 1
        else:
            high = middle
    return low if low < first_link[src + 1] and link_dst[low] == dst else -1
