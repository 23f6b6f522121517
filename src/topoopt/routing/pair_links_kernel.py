"""The links of node paths, merged where paths of a pair share them, and equal-cost multi-path, compiled.

Arrays of equal-cost multi-path, as shares of links and as paths
----------------------------------------------------------------
first_link, link_dst, ports : int64 (nodes+1,), int32 (links,), int32 (links,)  a graph by rows
hops : int32 (rows, nodes)       links from a node to a row's destination
row, src, dst : int64 (pairs,)   ``hops[row[k]]`` holds the hops of every node to ``dst[k]``
first : int64 (pairs+1,)         links and shares of a pair
links, shares : int32, float64 (room,)  and the part of the pair's bytes on each
queue, flow : int32, float64 (nodes,)   room to work in; ``flow`` is zero between pairs

Arrays of node paths
--------------------
first_link, link_dst : int64 (nodes+1,), int32 (links,)  a graph by rows, each in order of link_dst
path_first, node_first, nodes, weight : the paths of pairs, see :class:`topoopt.routing.PathArrays`
pair_first, link, share : int64 (pairs+1,), int32 (steps,), float64 (steps,)  filled; both have room for all steps
amount : float64 (links,)        room to work in, zero between pairs

Arrays of pairs whose links are those of other pairs, turned
------------------------------------------------------------
row, turn : int32 (pairs,)       the row of each pair, and the offset of its turn in link codes
row_first : int64 (rows+1,)      links of a row, as codes
row_code, row_share : int32, float64 (steps,)
link_of : int32 (links,)         link of a code
first : int64 (pairs+1,)         where the links of each pair begin
link, share : int32, float64 (entries,)  filled
"""

import math
from typing import NamedTuple

from topoopt.base.arrays import Floats, Ints, Ints32
from topoopt.base.kernel import compiled, concurrent_entry, entry, stamp, stamped

STAMP = stamp([])
"""Stamp of everything that is compiled into this kernel."""


@entry
@stamped(STAMP)
def ecmp_shares(
    first_link: Ints,
    link_dst: Ints32,
    ports: Ints32,
    hops: Ints32,
    row: Ints,
    src: Ints,
    dst: Ints,
    first: Ints,
    links: Ints32,
    shares: Floats,
    queue: Ints32,
    flow: Floats,
    pair: int,
) -> int:
    """Fill links and shares from a pair on, as long as there is room for whatever one needs; return the next pair."""
    used = first[pair]
    while pair < len(src) and used + len(link_dst) <= len(links):
        to = hops[row[pair]]
        head, tail = 0, 0
        if src[pair] != dst[pair]:
            queue[0] = src[pair]
            flow[src[pair]] = 1.0
            tail = 1
        while head < tail:
            here = queue[head]
            head += 1
            begin, end = first_link[here], first_link[here + 1]
            if to[here] == 1:  # a switch has a link to every server
                begin = link_to(first_link, link_dst, here, dst[pair])
                end = begin + 1
            width = 0
            for e in range(begin, end):
                if to[link_dst[e]] == to[here] - 1:
                    width += ports[e]
            for e in range(begin, end):
                there = link_dst[e]
                if to[there] != to[here] - 1:
                    continue
                share = flow[here] * ports[e] / width
                links[used] = e
                shares[used] = share
                used += 1
                if flow[there] == 0.0:
                    queue[tail] = there
                    tail += 1
                flow[there] += share
        for i in range(tail):
            flow[queue[i]] = 0.0
        pair += 1
        first[pair] = used
    return pair


class Walk(NamedTuple):
    """The nodes of a path that is being listed, in order from its source.

    ========= ======= ======== ======================================================================
    array     dtype   shape    meaning
    ========= ======= ======== ======================================================================
    node      int32   (depth,)
    cursor    int64   (depth,) the next link to try, -1 before the first
    width     int64   (depth,) ports over which the node splits, and those of links already passed
    passed    int64   (depth,)
    share     float64 (depth,) of the pair's bytes
    low, high float64 (depth,) the interval of [0, 1) that the paths through here share
    ========= ======= ======== ======================================================================
    """

    node: Ints32
    cursor: Ints
    width: Ints
    passed: Ints
    share: Floats
    low: Floats
    high: Floats


@entry
def equal_paths(
    first_link: Ints,
    link_dst: Ints32,
    ports: Ints32,
    hops: Ints32,
    row: Ints,
    src: Ints,
    dst: Ints,
    paths: Ints,
    points: Ints,
    offset: Floats,
    path_first: Ints,
    node_first: Ints,
    nodes: Ints32,
    weight: Floats,
    walk: Walk,
) -> int:
    """Fill paths and weights when every node splits equally over its next ports; return how many paths.

    The paths of a pair, in order of node ids, share the interval [0, 1) by weight. With ``points[k]`` = 0
    all of them are listed; else those that hold one of the points (j + offset[k]) / points[k], each with
    the share of the points that it holds. ``paths[k]`` is the most that pair k can have; the arrays of the
    answer have room for all, and the walk for the longest path.
    """
    node, cursor, width, passed = walk.node, walk.cursor, walk.width, walk.passed
    share, low, high = walk.share, walk.low, walk.high
    path, used = 0, 0
    for k in range(len(src)):
        to, n, u = hops[row[k]], points[k], offset[k]
        path_first[k] = path
        depth = -1
        if paths[k] > 0:
            depth = 0
            node[0], cursor[0], share[0], low[0], high[0] = src[k], -1, 1.0, 0.0, 1.0
        while depth >= 0:
            here = node[depth]
            if here == dst[k]:
                for i in range(depth + 1):
                    nodes[used + i] = node[i]
                used += depth + 1
                weight[path] = share[depth]
                if n > 0:
                    weight[path] = (math.ceil(high[depth] * n - u) - math.ceil(low[depth] * n - u)) / n
                path += 1
                node_first[path] = used
                depth -= 1
                continue
            if cursor[depth] < 0:
                cursor[depth], width[depth], passed[depth] = first_link[here], 0, 0
                for e in range(first_link[here], first_link[here + 1]):
                    if to[link_dst[e]] == to[here] - 1:
                        width[depth] += ports[e]
            e = cursor[depth]
            while e < first_link[here + 1] and to[link_dst[e]] != to[here] - 1:
                e += 1
            cursor[depth] = e + 1
            if e >= first_link[here + 1]:
                depth -= 1
                continue
            size = high[depth] - low[depth]
            begin = low[depth] + size * passed[depth] / width[depth]
            passed[depth] += ports[e]
            end = high[depth]  # exactly, so that no point is lost between neighbors
            if passed[depth] < width[depth]:
                end = low[depth] + size * passed[depth] / width[depth]
            if n > 0 and math.ceil(end * n - u) == math.ceil(begin * n - u):
                continue
            share[depth + 1] = share[depth] * (ports[e] / width[depth])
            depth += 1
            node[depth], cursor[depth], low[depth], high[depth] = link_dst[e], -1, begin, end
    path_first[len(src)] = path
    return path


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
