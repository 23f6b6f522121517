"""The links under node paths, those that several paths of a pair share merged, compiled.

Arrays
------
first_link, link_dst : int64 (nodes+1,), int32 (links,)  a graph by rows, each in order of link_dst
path_first, node_first, nodes, weight : the paths of pairs, see :class:`topoopt.routing.PathArrays`
pair_first, link, share : int64 (pairs+1,), int32 (steps,), float64 (steps,)  filled; both have room for all steps
amount : float64 (links,)        room to work in, zero between pairs

The links of pairs that are those of other pairs, turned: compiled.

Arrays
------
row, turn : int32 (pairs,)       the row of each pair, and what its turn adds to the codes of links
row_first : int64 (rows+1,)      links of a row, as codes
row_code, row_share : int32, float64 (steps,)
link_of : int32 (links,)         link of a code
first : int64 (pairs+1,)         where the links of each pair begin
link, share : int32, float64 (entries,)  filled
"""

from topoopt.base.arrays import Floats, Ints, Ints32
from topoopt.base.kernel import compiled, concurrent_entry, stamp, stamped

STAMP = stamp([])
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


@concurrent_entry
def turn_links(
    row: Ints32,
    turn: Ints32,
    row_first: Ints,
    row_code: Ints32,
    row_share: Floats,
    link_of: Ints32,
    first: Ints,
    link: Ints32,
    share: Floats,
) -> None:
    """Fill the links of every pair."""
    links = len(link_of)
    for pair in range(len(row)):
        place = first[pair]
        for e in range(row_first[row[pair]], row_first[row[pair] + 1]):
            code = row_code[e] + turn[pair]
            link[place] = link_of[code if code < links else code - links]
            share[place] = row_share[e]
            place += 1


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
