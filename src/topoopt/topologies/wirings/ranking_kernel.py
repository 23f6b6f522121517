"""Shortest routes of a uniform all-to-all that keep the fullest link as empty as can be, compiled.

Every server sends 1 to every other. Traffic to server (o, 0) represents that to all of orbit o, rotated; a link
represents all its rotations.

Arrays
------
near, shift : int64 (orbits, fibers)    where fiber k into an orbit comes from
hops, order : int32 (orbits, servers)   links from each server to the one of each orbit; servers, the nearest first
loads, aside, price : float64 (orbits, fibers)  of the links
cost, flow : float64 (servers,)         cost of the cheapest shortest path; traffic that a server passes on
way : int32 (servers, 2)                the receiving server and the fiber of that path
"""

from typing import NamedTuple

import numpy as np

from topoopt.base.arrays import Floats, Ints, Ints32
from topoopt.base.kernel import compiled, entry, exp, stamp, stamped

STAMP = stamp([])


class Rooms(NamedTuple):
    """Room to work in."""

    hops: Ints32
    order: Ints32
    loads: Floats
    aside: Floats
    price: Floats
    cost: Floats
    flow: Floats
    way: Ints32


@entry
@stamped(STAMP)
def fullest_link(near: Ints, shift: Ints, group: int, rooms: Rooms, rounds: int) -> float:
    """Return the load of the fullest link: Frank and Wolfe's method on prices that rise with the load."""
    orbits, fibers = near.shape
    loads, aside, price = rooms.loads, rooms.aside, rooms.price
    for to in range(orbits):
        _order(near, shift, group, rooms.hops[to], rooms.order[to], to)
    for o in range(orbits):
        for k in range(fibers):
            price[o, k] = 1.0
            loads[o, k] = 0.0
    _route(near, shift, group, rooms, loads)
    best = _most(loads)
    for turn in range(1, rounds):
        mean = _sum(loads) / (orbits * fibers)
        sharp = 4.0 + 0.5 * turn
        for o in range(orbits):
            for k in range(fibers):
                price[o, k] = exp(min(sharp * (loads[o, k] / mean - 1.0), 50.0)) + 1e-9
                aside[o, k] = 0.0
        _route(near, shift, group, rooms, aside)
        step = _best_step(loads, aside, 2.0 / (turn + 2.0))
        for o in range(orbits):
            for k in range(fibers):
                loads[o, k] += step * (aside[o, k] - loads[o, k])
        best = min(best, _most(loads))
    return best


@compiled
def _order(near: Ints, shift: Ints, group: int, hops: Ints32, order: Ints32, to: int) -> None:
    """Search against the links from server ``to``."""
    orbits, fibers = near.shape
    for i in range(len(hops)):
        hops[i] = -1
    hops[to] = 0
    order[0] = to
    head, tail = int(np.int64(0)), int(np.int64(1))
    while head < tail:
        here = order[head]
        head += 1
        o, turn = here % orbits, here // orbits
        for k in range(fibers):
            sender = (turn + shift[o, k]) % group * orbits + near[o, k]
            if hops[sender] < 0:
                hops[sender] = hops[here] + 1
                order[tail] = sender
                tail += 1


@compiled
def _route(near: Ints, shift: Ints, group: int, rooms: Rooms, loads: Floats) -> None:
    """Add the load of all servers' traffic along the cheapest of its shortest paths."""
    orbits, fibers = near.shape
    cost, flow, way, price = rooms.cost, rooms.flow, rooms.way, rooms.price
    for to in range(orbits):
        hops, order = rooms.hops[to], rooms.order[to]
        for i in range(len(order)):
            cost[i] = np.inf
            flow[i] = 1.0
        cost[to] = 0.0
        for i in range(len(order)):
            here = order[i]
            o, turn = here % orbits, here // orbits
            for k in range(fibers):
                sender = (turn + shift[o, k]) % group * orbits + near[o, k]
                if hops[sender] == hops[here] + 1 and cost[here] + price[o, k] < cost[sender]:
                    cost[sender] = cost[here] + price[o, k]
                    way[sender, 0] = here
                    way[sender, 1] = k
        for i in range(len(order) - 1, 0, -1):
            sender = order[i]
            here, k = way[sender, 0], way[sender, 1]
            loads[here % orbits, k] += flow[sender]
            flow[here] += flow[sender]


@compiled
def _best_step(loads: Floats, aside: Floats, usual: float) -> float:
    """Return the step length: the one that unloads the fullest link most, or a fraction of the default."""
    best, least = 0.25 * usual, np.inf
    for part in range(1, 9):
        step = usual * part / 4.0
        if step > 1.0:
            break
        most = 0.0
        for o in range(loads.shape[0]):
            for k in range(loads.shape[1]):
                most = max(most, loads[o, k] + step * (aside[o, k] - loads[o, k]))
        if most < least:
            best, least = step, most
    return best


@compiled
def _most(loads: Floats) -> float:
    most = 0.0
    for o in range(loads.shape[0]):
        for k in range(loads.shape[1]):
            most = max(most, loads[o, k])
    return most


@compiled
def _sum(loads: Floats) -> float:
    total = 0.0
    for o in range(loads.shape[0]):
        for k in range(loads.shape[1]):
            total += loads[o, k]
    return total
