"""Weights and flow moved from expensive paths to cheap ones under exponential prices, compiled.

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

Arrays of options
-----------------
A group is a pair of servers with its paths over links, or a distance with its coins.

option_first : int64 (groups+1,) options of a group; their weights sum to 1
entry_first : int64 (options+1,) entries of an option
resource : int32 (entries,)      loaded resource: a link, a class of coins
amount : float64                 load at weight 1: (entries,), or (groups,) where those of a group are alike
capacity, load : float64 (resources,)  in units of one another: utilization = load / capacity
weight : float64 (options,)
sharpness : float64 (sweeps,)    exponent of the fullest resource's price
price : float64 (resources,)     room to work in; so are ``best_load`` and ``best_weight``
"""

from typing import Literal, NamedTuple

import numpy as np

from topoopt.base.arrays import Floats, Ints, Ints32
from topoopt.base.kernel import compiled, concurrent_entry, exp, stamp, stamped


class Options(NamedTuple):
    """Options of the choice of weights, and the links that each loads."""

    option_first: Ints
    entry_first: Ints
    resource: Ints32
    amount: Floats
    capacity: Floats


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

    ``flow[s]`` is the load of source s on each link and ``load`` the sum with the background. A link's price is
    exponential in its utilization, ``sharp`` being the exponent of the fullest.
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


@concurrent_entry
@stamped(STAMP)
def shift_weights(
    o: Options,
    by_entry: Literal[True] | None,
    load: Floats,
    weight: Floats,
    sharpness: Floats,
    price: Floats,
    best_load: Floats,
    best_weight: Floats,
) -> float:
    """Sweep over all groups, ever more sharply; return the highest utilization, load and weights at their best.

    ``load`` initially has the background. ``by_entry``: ``amount`` is by entry; without it the compiler drops the
    other branch (Numba drops branches on None), so that neither costs time.
    """
    option_first, entry_first, resource = o.option_first, o.entry_first, o.resource
    amount, capacity = o.amount, o.capacity
    for group in range(len(option_first) - 1):
        for option in range(option_first[group], option_first[group + 1]):
            if weight[option] > 0.0:
                for e in range(entry_first[option], entry_first[option + 1]):
                    if by_entry is None:
                        load[resource[e]] += weight[option] * amount[group]
                    else:
                        load[resource[e]] += weight[option] * amount[e]
    best = highest(load, capacity)
    copy(weight, best_weight)
    copy(load, best_load)
    peak = best
    for sweep in range(len(sharpness)):
        if peak <= 0.0:
            break
        slope = sharpness[sweep] / peak
        for r in range(len(load)):
            price[r] = exp(slope * (load[r] / capacity[r] - peak)) / capacity[r]
        _sweep(o, by_entry, load, weight, price, slope, peak)
        peak = highest(load, capacity)
        if peak < best:
            best = peak
            copy(weight, best_weight)
            copy(load, best_load)
    copy(best_weight, weight)
    copy(best_load, load)
    return best


@compiled
def _sweep(
    o: Options,
    by_entry: Literal[True] | None,
    load: Floats,
    weight: Floats,
    price: Floats,
    slope: float,
    peak: float,
) -> None:
    """Move weight from the most expensive option of each group to its cheapest, one Newton step."""
    option_first, entry_first, resource = o.option_first, o.entry_first, o.resource
    amount, capacity = o.amount, o.capacity
    for group in range(len(option_first) - 1):
        low, high = -1, -1
        low_cost, high_cost = np.inf, -np.inf
        if option_first[group + 1] - option_first[group] < 2:
            continue
        for option in range(option_first[group], option_first[group + 1]):
            cost = 0.0
            for e in range(entry_first[option], entry_first[option + 1]):
                if by_entry is None:
                    cost += price[resource[e]]
                else:
                    cost += price[resource[e]] * amount[e]
            if cost < low_cost:
                low, low_cost = option, cost
            if weight[option] > 0.0 and cost > high_cost:
                high, high_cost = option, cost
        if high < 0 or low == high or high_cost - low_cost <= 1e-12 * high_cost:
            continue
        bend, jolt = 0.0, 0.0
        for side in range(2):
            option = low if side == 0 else high
            for e in range(entry_first[option], entry_first[option + 1]):
                r = resource[e]
                if by_entry is None:
                    change = slope * amount[group] / capacity[r]
                    bend += change * price[r]
                else:
                    change = slope * amount[e] / capacity[r]
                    bend += change * amount[e] * price[r]
                jolt = max(jolt, change)
        # Beyond e-fold the second order says nothing about the exponential.
        move = min(weight[high], (high_cost - low_cost) / bend, 1.0 / jolt)
        weight[high] -= move
        weight[low] += move
        for side in range(2):
            option = low if side == 0 else high
            signed = move if side == 0 else -move
            for e in range(entry_first[option], entry_first[option + 1]):
                r = resource[e]
                if by_entry is None:
                    load[r] += signed * amount[group]
                else:
                    load[r] += signed * amount[e]
                price[r] = exp(slope * (load[r] / capacity[r] - peak)) / capacity[r]


@compiled
def highest(load: Floats, capacity: Floats) -> float:
    """Return the highest utilization."""
    peak = 0.0
    for r in range(len(load)):
        peak = max(peak, load[r] / capacity[r])
    return peak


@compiled
def copy(source: Floats, target: Floats) -> None:
    """Copy an array."""
    for i in range(len(source)):
        target[i] = source[i]
