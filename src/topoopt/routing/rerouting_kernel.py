"""Cheapest trees and what they load, and flow moved towards them, compiled.

Arrays
------
first_link : int64 (nodes+1,)    a graph by rows
link_src, link_dst : int32 (links,)
length : float64 (links,)        positive
demand : float64 (nodes or fewer,)  bytes from the root to each node; of all sources (servers, servers)
far, via : float64, int32 (nodes,)  distance from the root, and the last link, -1 at the root and where none leads
load, capacity : float64 (links,)   in units of one another
flow : float64 (servers, links)  bytes that each source puts on each link
queue, mark : int32 (nodes,)     room to work in, as are ``through`` (nodes,), ``price`` and ``new`` (links,)
"""

from typing import NamedTuple

import numpy as np

from topoopt.base.arrays import Floats, Ints, Ints32
from topoopt.base.kernel import compiled, concurrent_entry, exp, stamp, stamped

STAMP = stamp([])


class Graph(NamedTuple):
    """A graph, and room for a tree on it."""

    first_link: Ints
    link_src: Ints32
    link_dst: Ints32
    far: Floats
    via: Ints32
    queue: Ints32
    mark: Ints32
    through: Floats


@concurrent_entry
@stamped(STAMP)
def tree_loads(graph: Graph, length: Floats, root: int, demand: Floats, load: Floats) -> None:
    """Fill the bytes on each link when ``demand[v]`` bytes go from the root to node v along its cheapest tree."""
    shortest_tree(
        graph.first_link, graph.link_dst, length, root, graph.far, graph.via, graph.queue, graph.mark
    )
    load_tree(graph.link_src, graph.via, demand, load, graph.queue, graph.mark, graph.through)


@concurrent_entry
@stamped(STAMP)
def reroute_sources(
    graph: Graph,
    demand: Floats,
    capacity: Floats,
    flow: Floats,
    load: Floats,
    sharp: float,
    price: Floats,
    new: Floats,
) -> None:
    """Move each source's flow towards its cheapest tree, by a Newton step, under prices of the load.

    ``flow[s]`` is what source s puts on each link and ``load`` the sum with the background. A link's
    price is exponential in its utilisation, ``sharp`` being the exponent of the fullest.
    """
    first_link, link_src, link_dst = graph.first_link, graph.link_src, graph.link_dst
    far, via, queue, mark, through = graph.far, graph.via, graph.queue, graph.mark, graph.through
    links = len(link_dst)
    for s in range(len(demand)):
        slope = _price_links(load, capacity, sharp, price)
        shortest_tree(first_link, link_dst, price, s, far, via, queue, mark)
        load_tree(link_src, via, demand[s], new, queue, mark, through)
        gain, bend, jolt = 0.0, 0.0, 0.0
        for e in range(links):
            change = new[e] - flow[s, e]
            gain -= price[e] * change
            bend += slope * price[e] / capacity[e] * change * change
            jolt = max(jolt, slope * change / capacity[e])
        if gain > 0.0 and bend > 0.0:
            step = min(1.0, gain / bend)
            # Beyond e-fold the second order says nothing about the exponential. Where flow only falls
            # (rounding leaves such sources) there is no jolt.
            if jolt * step > 1.0:
                step = 1.0 / jolt
            for e in range(links):
                change = step * (new[e] - flow[s, e])
                flow[s, e] += change
                load[e] += change


@concurrent_entry
@stamped(STAMP)
def price_links(load: Floats, capacity: Floats, sharp: float, price: Floats) -> None:
    """Fill the price of each link, exponential in its utilisation, ``sharp`` being the exponent of the fullest."""
    _price_links(load, capacity, sharp, price)


@compiled
def _price_links(load: Floats, capacity: Floats, sharp: float, price: Floats) -> float:
    """Fill the prices and return how steep they are."""
    peak = 0.0
    for e in range(len(load)):
        peak = max(peak, load[e] / capacity[e])
    slope = sharp / peak
    for e in range(len(load)):
        # The floor keeps lengths positive, so that no tree has a cycle.
        price[e] = (exp(slope * (load[e] / capacity[e] - peak)) + 1e-12) / capacity[e]
    return slope


@concurrent_entry
@stamped(STAMP)
def demand_distance(graph: Graph, demand: Floats, length: Floats) -> float:
    """Return the sum over pairs of bytes times distance, under the lengths."""
    first_link, link_dst, far, via = graph.first_link, graph.link_dst, graph.far, graph.via
    queue, mark = graph.queue, graph.mark
    total = 0.0
    for s in range(len(demand)):
        shortest_tree(first_link, link_dst, length, s, far, via, queue, mark)
        for v in range(len(demand)):
            if demand[s, v] > 0.0:
                total += demand[s, v] * far[v]
    return total


@compiled
def shortest_tree(
    first_link: Ints,
    link_dst: Ints32,
    length: Floats,
    root: int,
    far: Floats,
    via: Ints32,
    queue: Ints32,
    waiting: Ints32,
) -> None:
    """Fill the distance of every node from ``root`` and its last link, for links of positive length.

    Label-correcting with a first-in first-out queue: on graphs of small degree it beats a heap.
    """
    size = len(first_link) - 1
    for v in range(size):
        far[v] = np.inf
        via[v] = -1
        waiting[v] = 0
    far[root] = 0.0
    queue[0] = root
    head, waits = 0, 1
    while waits > 0:
        here = queue[head]
        head = (head + 1) % size
        waits -= 1
        waiting[here] = 0
        for e in range(first_link[here], first_link[here + 1]):
            there = link_dst[e]
            reach = far[here] + length[e]
            if reach < far[there]:
                far[there] = reach
                via[there] = e
                if waiting[there] == 0:
                    waiting[there] = 1
                    queue[(head + waits) % size] = there
                    waits += 1


@compiled
def load_tree(
    link_src: Ints32, via: Ints32, demand: Floats, load: Floats, queue: Ints32, below: Ints32, through: Floats
) -> None:
    """Fill the bytes on each link of a tree, from its leaves to its root."""
    size = len(via)
    for e in range(len(load)):
        load[e] = 0.0
    for v in range(size):
        below[v] = 0
        through[v] = demand[v] if v < len(demand) else 0.0
    for v in range(size):
        if via[v] >= 0:
            below[link_src[via[v]]] += 1
    tail = 0
    for v in range(size):
        if via[v] >= 0 and below[v] == 0:
            queue[tail] = v
            tail += 1
    head = 0
    while head < tail:
        v = queue[head]
        head += 1
        before = link_src[via[v]]
        load[via[v]] = through[v]
        through[before] += through[v]
        below[before] -= 1
        if below[before] == 0 and via[before] >= 0:
            queue[tail] = before
            tail += 1
