"""Max-min sharing of many classes, of which an event changes few.

Progressive filling fixes the levels of classes from the lowest up. A class that ends, at level λ, leaves all that
filled below λ as it was; a class that begins leaves all below the lowest share of its links. So filling goes on from
there: classes above return their bandwidth to the links, and rise again. Each class has its own clock, which is set
when its level changes, and a heap finds the class that ends first. The cost of an event grows with the classes that it
changes, not with all active ones. Free bandwidth of links is added and subtracted; from time to time all classes are
filled from zero, before rounding errors add up.
"""

import numpy as np

from topoopt.base.kernel import compiled, inlined, push
from topoopt.simulation.fluid.filling_kernel import (
    TIE,
    fill,
    insert,
    list_class,
    raise_levels,
    reweigh,
    strike_class,
)
from topoopt.simulation.fluid.state import (
    ACTIVE,
    CHANGED,
    FILLINGS,
    RANKED,
    SHORT,
    Links,
    Many,
    Rounds,
    Sharing,
)

MOST_FILLINGS = 20_000
"""Changes of rates until all levels are filled anew."""


@compiled
def refill(x: Sharing, net: Links, many: Many) -> float:
    """Set the levels of all active classes; return when the first connection is done."""
    for i in range(many.tally[CHANGED]):
        many.is_changed[many.changed[i]] = 0
    for i in range(many.tally[RANKED]):
        many.place[many.ranked[i]] = -1
    many.tally[CHANGED] = many.tally[RANKED] = many.tally[FILLINGS] = 0
    many.lowest[0] = np.inf
    for i in range(x.tally[ACTIVE]):
        c = x.active[i]
        many.active_place[c] = i
        many.since[c] = x.clock[0]
    fill(x, net)
    for m in range(len(net.capacity)):
        net.unfrozen[m] = 0
        if net.users[m] == 0:
            _empty(net, m)
    for i in range(x.tally[ACTIVE]):
        many.rising[i] = x.active[i]
    _rank_risen(x, many, x.tally[ACTIVE])
    return next_of_many(many)


@inlined
def next_of_many(many: Many) -> float:
    """Return when the first connection is done."""
    return many.end_s[many.ranked[0]] if many.tally[RANKED] > 0 else np.inf


@compiled
def change(many: Many, c: int) -> None:
    """Note that a class gains or loses a connection."""
    if many.is_changed[c] == 0:
        many.is_changed[c] = 1
        many.changed[many.tally[CHANGED]] = c
        many.tally[CHANGED] += 1


@compiled
def serve_many(x: Sharing, net: Links, many: Many, horizon: float) -> None:
    """Go on to that time; classes without connections are active no more."""
    x.clock[0] = horizon
    for i in range(many.tally[CHANGED]):
        c = many.changed[i]
        _take_out(x, net, many, c)
        reweigh(net, c, x.weight[c] - x.listed[c])
        x.listed[c] = x.weight[c]
        if x.first[c] >= 0:
            continue
        x.tally[ACTIVE] -= 1
        last = x.active[x.tally[ACTIVE]]
        x.active[many.active_place[c]] = last
        many.active_place[last] = many.active_place[c]
        x.weight[c] = x.listed[c] = 0.0
        strike_class(net, c)
        for e in range(net.class_first[c], net.class_first[c + 1]):
            if net.users[net.class_link[e]] == 0:
                _empty(net, net.class_link[e])


@compiled
def enter_many(x: Sharing, rounds: Rounds, net: Links, many: Many, connection: int) -> None:
    """Let a connection in."""
    c = x.connection_class[connection]
    if x.first[c] < 0:
        x.active[x.tally[ACTIVE]] = c
        many.active_place[c] = x.tally[ACTIVE]
        x.tally[ACTIVE] += 1
        x.served[c] = 0.0
        x.level[c] = -1.0
        many.since[c] = x.clock[0]
        list_class(net, c)
    else:
        _take_out(x, net, many, c)
    change(many, c)
    rounds.opening[c] -= x.bytes_each[connection]
    rounds.entered[c] += x.bytes_each[connection]
    weight = x.share[connection] * x.force[c]
    x.weight[c] += weight
    x.listed[c] = x.weight[c]
    reweigh(net, c, weight)
    for e in range(net.class_first[c], net.class_first[c + 1]):
        m = net.class_link[e]
        many.lowest[0] = min(many.lowest[0], net.capacity[m] / net.demand[m])
    insert(x, connection)


@compiled
def share_many(x: Sharing, net: Links, many: Many) -> float:
    """Set the levels of all classes that changes reach; return when the first connection is done."""
    many.tally[FILLINGS] += 1
    if many.tally[FILLINGS] > MOST_FILLINGS or 4 * many.tally[CHANGED] > x.tally[ACTIVE]:
        settle_all(x, many)
        return refill(x, net, many)
    rising, touched, size = int(np.int64(0)), int(np.int64(0)), int(np.int64(0))
    for i in range(many.tally[CHANGED]):
        c = many.changed[i]
        many.is_changed[c] = 0
        if x.first[c] >= 0 and net.class_first[c] == net.class_first[c + 1]:
            x.level[c] = 0.0  # it waits
        elif x.first[c] >= 0:
            many.rising[rising] = c
            rising += 1
            touched = _lift(x, net, many, c, touched)
    many.tally[CHANGED] = 0
    lowest, many.lowest[0] = many.lowest[0] * (1.0 - TIE), np.inf
    for i in range(net.tally[SHORT]):
        m = net.short[i]
        if net.full_at[m] < lowest or net.full_at[m] == np.inf:
            continue
        net.full_at[m] = np.inf
        for j in range(net.link_first[m], net.link_first[m] + net.users[m]):
            c = net.member[j]
            if x.level[c] >= lowest:
                many.rising[rising] = c
                rising += 1
                touched = _lift(x, net, many, c, touched)
    for i in range(touched):
        m = many.touched[i]
        size = push(net.keys, net.codes, size, max(net.left[m], 0.0) / net.slope[m], len(x.level) + m)
    raise_levels(x, net, rising, size)
    _rank_risen(x, many, rising)
    return next_of_many(many)


@compiled
def settle_all(x: Sharing, many: Many) -> None:
    """Bring ``served`` of all active classes up to the clock."""
    for i in range(x.tally[ACTIVE]):
        _settle(x, many, x.active[i])


@inlined
def _settle(x: Sharing, many: Many, c: int) -> None:
    if x.level[c] > 0.0:
        x.served[c] += x.level[c] * x.force[c] * (x.clock[0] - many.since[c])
    many.since[c] = x.clock[0]


@inlined
def _take_out(x: Sharing, net: Links, many: Many, c: int) -> None:
    """Return the bandwidth of a class to its links, before its weight changes."""
    _settle(x, many, c)
    if x.level[c] > 0.0:
        many.lowest[0] = min(many.lowest[0], x.level[c])
        for e in range(net.class_first[c], net.class_first[c + 1]):
            net.left[net.class_link[e]] += net.coefficient[e] * x.listed[c] * x.level[c]
    x.level[c] = -1.0


@inlined
def _lift(x: Sharing, net: Links, many: Many, c: int, touched: int) -> int:
    """Return the number of links touched by a class that rises from zero."""
    _settle(x, many, c)
    level, weight = max(x.level[c], 0.0), x.weight[c]
    for e in range(net.class_first[c], net.class_first[c + 1]):
        m = net.class_link[e]
        if net.unfrozen[m] == 0:
            net.slope[m] = 0.0
            many.touched[touched] = m
            touched += 1
        part = net.coefficient[e] * weight
        net.left[m] += part * level
        net.slope[m] += part
        net.unfrozen[m] += 1
    x.level[c] = -1.0
    return touched


@inlined
def _empty(net: Links, m: int) -> None:
    net.left[m], net.full_at[m] = net.capacity[m], np.inf


@compiled
def _rank_risen(x: Sharing, many: Many, rising: int) -> None:
    """Order classes by their new ends: one after the other, or, of very many, all of the heap at once."""
    at_once = 8 * rising > many.tally[RANKED]
    for i in range(rising):
        c = many.rising[i]
        if x.level[c] <= 0.0:
            continue
        behind = max(x.ends_at[x.first[c]] - x.served[c], 0.0)
        end_s = many.since[c] + behind / (x.level[c] * x.force[c])
        if not at_once:
            rank(many, c, end_s)
            continue
        many.end_s[c] = end_s
        if many.place[c] < 0:
            many.place[c] = many.tally[RANKED]
            many.ranked[many.place[c]] = c
            many.tally[RANKED] += 1
    if at_once:
        for i in range(many.tally[RANKED] // 2 - 1, -1, -1):
            _sink(many, i, many.ranked[i])


@compiled
def rank(many: Many, c: int, end_s: float) -> None:
    """Move a class to its place in the heap of ends, or add it."""
    many.end_s[c] = end_s
    if many.place[c] < 0:
        many.place[c] = many.tally[RANKED]
        many.tally[RANKED] += 1
    i = many.place[c]
    while i > 0 and end_s < many.end_s[many.ranked[(i - 1) >> 1]]:
        many.ranked[i] = many.ranked[(i - 1) >> 1]
        many.place[many.ranked[i]] = i
        i = (i - 1) >> 1
    _sink(many, i, c)


@compiled
def _sink(many: Many, i: int, c: int) -> None:
    """Put a class at a place of the heap, or below."""
    size = many.tally[RANKED]
    while 2 * i + 1 < size:
        child = 2 * i + 1
        if child + 1 < size and many.end_s[many.ranked[child + 1]] < many.end_s[many.ranked[child]]:
            child += 1
        if many.end_s[many.ranked[child]] >= many.end_s[c]:
            break
        many.ranked[i] = many.ranked[child]
        many.place[many.ranked[i]] = i
        i = child
    many.ranked[i] = c
    many.place[c] = i


@compiled
def rank_out(many: Many, c: int) -> None:
    """Take a class out of the heap of ends."""
    many.tally[RANKED] -= 1
    last, here = many.ranked[many.tally[RANKED]], many.place[c]
    many.place[c] = -1
    if last != c:
        many.ranked[here] = last
        many.place[last] = here
        rank(many, last, many.end_s[last])
