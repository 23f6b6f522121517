"""Flow that splits equally over the next ports of every node, compiled: as shares of links, and as paths.

Arrays
------
first_link, link_dst, ports : int64 (nodes+1,), int32 (links,), int32 (links,)  a graph by rows
hops : int32 (rows, nodes)       links from a node to a row's destination
row, src, dst : int64 (pairs,)   ``hops[row[k]]`` holds the hops of every node to ``dst[k]``
first : int64 (pairs+1,)         links and shares of a pair
links, shares : int32, float64 (room,)  and the part of the pair's bytes on each
queue, flow : int32, float64 (nodes,)   room to work in; ``flow`` is zero between pairs
"""

import math
from pathlib import Path
from typing import NamedTuple

from topoopt.base.arrays import Floats, Ints, Ints32
from topoopt.base.kernel import entry, stamp, stamped
from topoopt.routing.pair_links_kernel import link_to

STAMP = stamp([Path(__file__), Path(__file__).with_name("pair_links_kernel.py")])
"""Of all that is compiled into these kernels."""


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
