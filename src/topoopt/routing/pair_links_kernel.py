"""The links under node paths, those that several paths of a pair share merged, compiled.

Arrays
------
first_link, link_dst : int64 (nodes+1,), int32 (links,)  a graph by rows, each in order of link_dst
path_first, node_first, nodes, weight : the paths of pairs, see :class:`topoopt.routing.PathArrays`
pair_first, link, share : int64 (pairs+1,), int32 (steps,), float64 (steps,)  filled; both have room for all steps
amount : float64 (links,)        room to work in, zero between pairs
"""

from pathlib import Path

from topoopt.base.arrays import Floats, Ints, Ints32
from topoopt.base.kernel import concurrent_entry, stamp, stamped
from topoopt.routing.link_to_kernel import link_to

STAMP = stamp([Path(__file__), Path(__file__).with_name("link_to_kernel.py")])
"""Of all that is compiled into this kernel."""


@concurrent_entry
@stamped(STAMP)
def merge_links(
    first_link: Ints,
    link_dst: Ints32,
    path_first: Ints,
    node_first: Ints,
    nodes: Ints32,
    weight: Floats,
    pair_first: Ints,
    link: Ints32,
    share: Floats,
    amount: Floats,
) -> int:
    """Fill the links of every pair in ascending order; return the first step without a link, as its node, or -1."""
    used = pair_first[0]
    for pair in range(len(path_first) - 1):
        begin = used
        for path in range(path_first[pair], path_first[pair + 1]):
            if weight[path] <= 0.0:
                continue
            for at in range(node_first[path], node_first[path + 1] - 1):
                e = link_to(first_link, link_dst, nodes[at], nodes[at + 1])
                if e < 0:
                    return at
                if amount[e] == 0.0:
                    place = used
                    while place > begin and link[place - 1] > e:
                        link[place] = link[place - 1]
                        place -= 1
                    link[place] = e
                    used += 1
                amount[e] += weight[path]
        for place in range(begin, used):
            share[place] = amount[link[place]]
            amount[link[place]] = 0.0
        pair_first[pair + 1] = used
    return -1


@concurrent_entry
@stamped(STAMP)
def fill_steps(first_link: Ints, link_dst: Ints32, node_first: Ints, nodes: Ints32, link: Ints32) -> int:
    """Fill the link of every step of every path; return the first step without a link, as its node, or -1."""
    step = 0
    for path in range(len(node_first) - 1):
        for at in range(node_first[path], node_first[path + 1] - 1):
            link[step] = link_to(first_link, link_dst, nodes[at], nodes[at + 1])
            if link[step] < 0:
                return at
            step += 1
    return -1
