"""Breadth-first trees of many roots, compiled.

Arrays
------
first_link, link_dst : int64 (nodes+1,), int32 (links,)  a graph by rows
roots : int64 (rows,)
hops, parent : int32 (rows, nodes)    links from the root; the neighbor that discovered each node; -1 where none
ways : float64 (rows, nodes)          number of shortest paths
queue : int32 (nodes,)                room to work in
"""

from topoopt.base.arrays import Floats, Ints, Ints32
from topoopt.base.kernel import entry


@entry
def breadth_first(
    first_link: Ints,
    link_dst: Ints32,
    roots: Ints,
    hops: Ints32,
    parent: Ints32,
    ways: Floats,
    queue: Ints32,
) -> None:
    """Fill the trees; ``hops`` and ``parent`` enter as -1, ``ways`` as zeros."""
    for row in range(len(roots)):
        queue[0] = roots[row]
        hops[row, roots[row]] = 0
        ways[row, roots[row]] = 1.0
        head, tail = 0, 1
        while head < tail:
            here = queue[head]
            head += 1
            for e in range(first_link[here], first_link[here + 1]):
                there = link_dst[e]
                if hops[row, there] < 0:
                    hops[row, there] = hops[row, here] + 1
                    parent[row, there] = here
                    queue[tail] = there
                    tail += 1
                if hops[row, there] == hops[row, here] + 1:
                    ways[row, there] += ways[row, here]
