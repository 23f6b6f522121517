"""A few short paths of many pairs, compiled.

Arrays
------
first_link, link_dst : int64 (nodes+1,), int32 (links,)  a graph by rows
hops, ways : int32, float64 (rows, nodes)   links and number of shortest paths from a node to a row's destination
row, src, dst : int64 (pairs,)   ``hops[row[k]]`` holds the hops of every node to ``dst[k]``
path_first : int64 (pairs+1,)    paths of a pair
ends : int64 (room+1,)           path p has the nodes ``nodes[ends[p] : ends[p+1]]``
nodes : int32 (room,)
stack, tried, on_path : int32 (nodes+1,)    room to work in; ``on_path`` is zero between pairs

The link that leads each node nearer to each server, compiled.

Arrays
------
first_link, link_dst, ports : int64 (nodes+1,), int32 (links,), int32 (links,)  a graph by rows
hops : int32 (rows, nodes)       links from a node to the server ``first`` + row, -1 where there is no path
table : int32 (rows or more, nodes)  the link, -1 at the server itself and where there is no path
"""

import math

import numpy as np

from topoopt.base.arrays import Floats, Ints, Ints32
from topoopt.base.kernel import compiled, concurrent_entry, entry, stamp, stamped


@concurrent_entry
def shortest_few(
    first_link: Ints,
    link_dst: Ints32,
    hops: Ints32,
    ways: Floats,
    row: Ints,
    src: Ints,
    dst: Ints,
    most: int,
    slack: int,
    seed: int,
    path_first: Ints,
    ends: Ints,
    nodes: Ints32,
    stack: Ints32,
    tried: Ints32,
    on_path: Ints32,
) -> None:
    """Fill up to ``most`` simple paths of each pair, none longer than the shortest + ``slack``.

    If there are more shortest paths than wanted, those at even spacing in the order of node ids are taken, the start
    of the spacing drawn from the pair. Longer ones are searched depth first, length by length. The arrays of the
    answer have room for all.
    """
    ends[0] = 0
    paths = int(np.int64(0))  # not a literal, for which another copy would be compiled
    for pair in range(len(src)):
        to, count = hops[row[pair]], ways[row[pair]]
        a, b = src[pair], dst[pair]
        begin = paths
        turn = pair_hash(seed, a, b)
        take = 0 if a == b else int(min(float(most), count[a]))
        for j in range(take):
            rank = math.floor((j + turn / 2147483648.0) * count[a] / take)
            ends[paths + 1] = _walk(first_link, link_dst, to, count, a, b, rank, nodes, ends[paths])
            paths += 1
        if a != b:
            for length in range(to[a] + 1, to[a] + slack + 1):
                paths = _detours(
                    first_link, link_dst, to, a, b, length, turn, begin + most,
                    stack, tried, on_path, ends, nodes, paths,
                )  # fmt: skip
        path_first[pair + 1] = paths


@compiled
def _walk(
    first_link: Ints,
    link_dst: Ints32,
    to: Ints32,
    count: Floats,
    a: int,
    b: int,
    rank: float,
    nodes: Ints32,
    used: int,
) -> int:
    """Write down the shortest path of this rank in the order of node ids; return where it ends."""
    here = a
    nodes[used] = here
    while here != b:
        following = -1
        for e in range(first_link[here], first_link[here + 1]):
            there = link_dst[e]
            if to[there] != to[here] - 1:
                continue
            following = there
            if rank < count[there]:
                break
            rank -= count[there]
        here = following
        used += 1
        nodes[used] = here
    return used + 1


@compiled
def _detours(
    first_link: Ints,
    link_dst: Ints32,
    to: Ints32,
    a: int,
    b: int,
    length: int,
    turn: int,
    most: int,
    stack: Ints32,
    tried: Ints32,
    on_path: Ints32,
    ends: Ints,
    nodes: Ints32,
    paths: int,
) -> int:
    """Write down simple paths of this length until there are ``most`` in all; return how many there are."""
    depth = 0
    stack[0] = a
    tried[0] = 0
    on_path[a] = 1
    while depth >= 0 and paths < most:
        here = stack[depth]
        degree = first_link[here + 1] - first_link[here]
        if tried[depth] == degree or depth == length:
            on_path[here] = 0
            depth -= 1
            continue
        there = link_dst[first_link[here] + (tried[depth] + turn) % degree]
        tried[depth] += 1
        if there == b and depth + 1 == length:
            used = ends[paths]
            for i in range(depth + 1):
                nodes[used + i] = stack[i]
            nodes[used + depth + 1] = b
            paths += 1
            ends[paths] = used + depth + 2
        elif there != b and on_path[there] == 0 and 0 <= to[there] <= length - depth - 1:
            depth += 1
            stack[depth] = there
            tried[depth] = 0
            on_path[there] = 1
    while depth >= 0:
        on_path[stack[depth]] = 0
        depth -= 1
    return paths


@compiled
def pair_hash(seed: int, src: int, dst: int) -> int:
    """Return 31 well-mixed bits of a pair (a xorshift-multiply mix; not for cryptography)."""
    mixed = (seed * 1_000_003 + src) * 8_191 + dst + 1
    for _ in range(3):
        mixed = (mixed ^ (mixed >> 15)) * 739_982_445 & 0x7FFFFFFF
    return mixed


STAMP = stamp([])
"""Stamp of everything that is compiled into this kernel."""


@entry
@stamped(STAMP)
def fill_next_links(
    first_link: Ints, link_dst: Ints32, ports: Ints32, hops: Ints32, first: int, seed: int, table: Ints32
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
