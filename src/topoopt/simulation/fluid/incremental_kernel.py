"""Max-min sharing of many classes, of which an event changes few.

Each link has a *share*, the level that it allows; a class has the least share of its links, its *bottleneck*. Shares
are fair if every link with a bottlenecked class is full. An event changes some links; the one with the lowest share
sets it anew, which changes other links through the classes that it bottlenecks, and so on. A share stays while the
bandwidth that is free, or too much, is at most a part (``slack``) of that of the classes bottlenecked on the link: so
every class has the fair share of its bottleneck but for this part, and an event costs only the shares that it changes
by more. Without slack, shares are exact.

The clock of a link counts the bytes that a unit of weight bottlenecked there has got. So a share that changes moves no
class in the heap of ends, which is one of links.
"""

import numpy as np

from topoopt.base.kernel import compiled, drop_top, inlined, push
from topoopt.simulation.fluid.filling_kernel import fill, insert, list_class, reweigh, strike_class
from topoopt.simulation.fluid.state import ACTIVE, CHANGED, QUEUED, RANKED, Links, Many, Rounds, Sharing

ROUNDING = 1e-12
"""Part of a link's capacity that may be free, or too much, by rounding."""
MOST_TURNS = 64
"""Shares set anew for each link, after one event, until all levels are filled from zero."""


@compiled
def refill(x: Sharing, net: Links, many: Many) -> float:
    """Set the levels of all active classes; return when the first connection is done."""
    for i in range(many.tally[CHANGED]):
        many.is_changed[many.changed[i]] = 0
    many.tally[CHANGED] = many.tally[QUEUED] = many.tally[RANKED] = 0
    fill(x, net)
    for m in range(len(net.capacity)):
        many.queued[m] = many.bound[m] = many.stale[m] = 0
        many.place[m] = -1
        many.clock[m], many.clock_s[m], many.first_end[m] = 0.0, x.clock[0], np.inf
        net.slope[m] = 0.0
        if net.users[m] == 0:
            _empty(net, m)
        _set_band(net, many, m)
    for i in range(x.tally[ACTIVE]):
        c = x.active[i]
        many.active_place[c] = i
        many.bottleneck[c] = -1
        many.since[c] = 0.0
        aim(x, many, c)
        _weigh(x, net, many, c)
        e = _least_share(net, c, -1)
        if e >= 0:
            _bind(x, net, many, c, e)
    for m in range(len(net.capacity)):
        rank(net, many, m)
    return next_of_many(net, many)


@compiled
def next_of_many(net: Links, many: Many) -> float:
    """Return when the first connection is done."""
    while many.tally[RANKED] > 0:
        m = many.ranked[0]
        if many.stale[m] == 0:
            return float(many.end_s[m])
        many.first_end[m] = np.inf
        for i in range(net.link_first[m], net.link_first[m] + many.bound[m]):
            many.first_end[m] = min(many.first_end[m], many.target[net.member[i]])
        many.stale[m] = 0
        rank(net, many, m)
    return float(np.inf)


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
        _settle(x, net, many, c)
        _weigh(x, net, many, c)
        if x.first[c] >= 0:
            continue
        _release(net, many, c)
        x.tally[ACTIVE] -= 1
        last = x.active[x.tally[ACTIVE]]
        x.active[many.active_place[c]] = last
        many.active_place[last] = many.active_place[c]
        x.weight[c] = x.listed[c] = 0.0
        for e in range(net.class_first[c], net.class_first[c + 1]):
            m = net.class_link[e]
            many.part[net.place[e]] = many.part[net.link_first[m] + net.users[m] - 1]
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
        x.served[c] = many.since[c] = x.level[c] = 0.0
        many.bottleneck[c] = -1
        list_class(net, c)
    else:
        _settle(x, net, many, c)
    change(many, c)
    rounds.opening[c] -= x.bytes_each[connection]
    rounds.entered[c] += x.bytes_each[connection]
    x.weight[c] += x.share[connection] * x.force[c]
    _weigh(x, net, many, c)
    insert(x, connection)
    aim(x, many, c)
    if many.bottleneck[c] >= 0:
        m = net.class_link[many.bottleneck[c]]
        many.first_end[m] = min(many.first_end[m], many.target[c])
        rank(net, many, m)


@compiled
def share_many(x: Sharing, net: Links, many: Many) -> float:
    """Set the shares of all links that changes reach; return when the first connection is done."""
    if 4 * many.tally[CHANGED] > x.tally[ACTIVE]:
        settle_all(x, net, many)
        return refill(x, net, many)
    for i in range(many.tally[CHANGED]):
        c = many.changed[i]
        many.is_changed[c] = 0
        if x.first[c] >= 0 and many.bottleneck[c] < 0:
            _begin(x, net, many, c)
        for e in range(net.class_first[c], net.class_first[c + 1]):
            _queue_short(net, many, net.class_link[e])
    many.tally[CHANGED] = 0
    turns = MOST_TURNS * len(net.capacity)
    while many.tally[QUEUED] > 0:
        turns -= 1
        if turns < 0:
            settle_all(x, net, many)
            return refill(x, net, many)
        m = net.codes[0]
        many.tally[QUEUED] = drop_top(net.keys, net.codes, many.tally[QUEUED])
        many.queued[m] = 0
        if net.users[m] > 0:
            _share_anew(x, net, many, m)
    return next_of_many(net, many)


@inlined
def end_of(net: Links, many: Many, m: int, c: int) -> float:
    """Return when the first connection of a class that a link bottlenecks is done."""
    return float(many.clock_s[m] + (many.target[c] - many.clock[m]) / net.full_at[m])


@compiled
def settle_all(x: Sharing, net: Links, many: Many) -> None:
    """Bring ``served`` of all active classes up to the clock."""
    for i in range(x.tally[ACTIVE]):
        _settle(x, net, many, x.active[i])


@inlined
def _clock(x: Sharing, net: Links, many: Many, m: int) -> float:
    if x.clock[0] <= many.clock_s[m]:
        return float(many.clock[m])
    return float(many.clock[m] + net.full_at[m] * (x.clock[0] - many.clock_s[m]))


@inlined
def _settle(x: Sharing, net: Links, many: Many, c: int) -> None:
    if many.bottleneck[c] >= 0:
        clock = _clock(x, net, many, net.class_link[many.bottleneck[c]])
        x.served[c] += (clock - many.since[c]) * x.force[c]
        many.since[c] = clock


@inlined
def aim(x: Sharing, many: Many, c: int) -> None:
    """Set the value of the bottleneck's clock at which a class's first connection is done."""
    if x.first[c] < 0:
        many.target[c] = np.inf
        return
    many.target[c] = many.since[c] + max(x.ends_at[x.first[c]] - x.served[c], 0.0) / x.force[c]


@inlined
def _weigh(x: Sharing, net: Links, many: Many, c: int) -> None:
    """Count the weight of a class on its links."""
    added = x.weight[c] - x.listed[c]
    x.listed[c] = x.weight[c]
    reweigh(net, c, added)
    for e in range(net.class_first[c], net.class_first[c + 1]):
        many.part[net.place[e]] = net.coefficient[e] * x.weight[c]
    bottleneck = many.bottleneck[c]
    if bottleneck >= 0:
        net.slope[net.class_link[bottleneck]] += net.coefficient[bottleneck] * added
        _set_band(net, many, net.class_link[bottleneck])
        _take(net, c, added * net.full_at[net.class_link[bottleneck]])


@inlined
def _take(net: Links, c: int, rate: float) -> None:
    for e in range(net.class_first[c], net.class_first[c + 1]):
        net.left[net.class_link[e]] -= net.coefficient[e] * rate


@inlined
def _least_share(net: Links, c: int, other: int) -> int:
    """Return the entry of a class's link with the least share but for one entry; -1 if all are endless."""
    best, least = -1, np.inf
    for e in range(net.class_first[c], net.class_first[c + 1]):
        if net.full_at[net.class_link[e]] < least and e != other:
            best, least = e, net.full_at[net.class_link[e]]
    return best


@inlined
def _swap(net: Links, many: Many, one: int, other: int) -> None:
    """Exchange two places in the lists of active classes."""
    e, f = net.entry_at[one], net.entry_at[other]
    net.member[one], net.member[other] = net.member[other], net.member[one]
    net.entry_at[one], net.entry_at[other] = f, e
    net.place[e], net.place[f] = other, one
    many.part[one], many.part[other] = many.part[other], many.part[one]


@inlined
def _bind(x: Sharing, net: Links, many: Many, c: int, e: int) -> None:
    """Make a link the bottleneck of a class; the bottlenecked classes of a link come first in its list."""
    m = net.class_link[e]
    _swap(net, many, net.place[e], net.link_first[m] + many.bound[m])
    many.bound[m] += 1
    many.bottleneck[c] = e
    net.slope[m] += net.coefficient[e] * x.weight[c]
    _set_band(net, many, m)
    many.first_end[m] = min(many.first_end[m], many.target[c])


@inlined
def _release(net: Links, many: Many, c: int) -> None:
    """Leave a class without a bottleneck; the weight that its link counted is up to the caller."""
    e = many.bottleneck[c]
    if e >= 0:
        m = net.class_link[e]
        many.bound[m] -= 1
        _swap(net, many, net.place[e], net.link_first[m] + many.bound[m])
        many.bottleneck[c] = -1
        _set_band(net, many, m)


@inlined
def _move(x: Sharing, net: Links, many: Many, c: int, e: int) -> None:
    """Make another link the bottleneck of a class."""
    old, new = many.bottleneck[c], net.class_link[e]
    net.slope[net.class_link[old]] -= net.coefficient[old] * x.weight[c]
    if many.target[c] <= many.first_end[net.class_link[old]]:
        many.stale[net.class_link[old]] = 1
    ahead = _clock(x, net, many, new) - _clock(x, net, many, net.class_link[old])
    _release(net, many, c)
    many.since[c] += ahead
    many.target[c] += ahead
    _bind(x, net, many, c, e)


@compiled
def _begin(x: Sharing, net: Links, many: Many, c: int) -> None:
    """Give a new class the least share of its links; if all are endless, the free part of one, or the highest level."""
    e = _least_share(net, c, -1)
    if e < 0:
        least = np.inf
        for other in range(net.class_first[c], net.class_first[c + 1]):
            m = net.class_link[other]
            free = max(net.left[m], 0.0) / net.coefficient[other]
            if free < least:
                e, least = other, free
        if e < 0:
            return  # it waits
        m = net.class_link[e]
        net.full_at[m] = least / x.weight[c]
        for i in range(net.link_first[m], net.link_first[m] + net.users[m]):
            net.full_at[m] = max(net.full_at[m], x.level[net.member[i]])
        many.clock_s[m] = x.clock[0]
    m = net.class_link[e]
    many.since[c] = _clock(x, net, many, m)
    aim(x, many, c)
    _bind(x, net, many, c, e)
    x.level[c] = net.full_at[m]
    _take(net, c, x.weight[c] * x.level[c])
    rank(net, many, m)


@inlined
def _empty(net: Links, m: int) -> None:
    net.left[m], net.full_at[m], net.slope[m] = net.capacity[m], np.inf, 0.0


@inlined
def _set_band(net: Links, many: Many, m: int) -> None:
    """Set how much may be free on a link, or too much, until its share is set anew."""
    part = net.slope[m] * net.full_at[m] if many.bound[m] > 0 else net.capacity[m] / max(net.users[m], 1)
    many.band[m] = many.slack[0] * part + ROUNDING * net.capacity[m]


@inlined
def _queue_short(net: Links, many: Many, m: int) -> None:
    """Queue a link whose share is not fair; free bandwidth is fair where no class is bottlenecked."""
    if abs(net.left[m]) > many.band[m] and many.queued[m] == 0 and (many.bound[m] > 0 or net.left[m] < 0.0):
        many.queued[m] = 1
        many.tally[QUEUED] = push(net.keys, net.codes, many.tally[QUEUED], net.full_at[m], m)


@compiled
def _share_anew(x: Sharing, net: Links, many: Many, m: int) -> None:
    """Set the share of a link by those of the other links of its classes.

    A share that falls keeps the classes that it bottlenecks and gains others; one that rises loses some.
    """
    old, begin, bound = net.full_at[m], net.link_first[m], many.bound[m]
    if bound > 0:
        many.clock[m] = _clock(x, net, many, m)
    many.clock_s[m] = x.clock[0]
    rises = bound > 0 and net.left[m] > 0.0
    first, last = begin + (0 if rises else bound), begin + (bound if rises else net.users[m])
    room, kept, share = net.left[m], 0.0, 0.0
    if bound > 0:
        room += net.slope[m] * old
        kept = 0.0 if rises else net.slope[m]
        share = max(old + net.left[m] / net.slope[m], 0.0)
    for i in range(first, last):
        c = net.member[i]
        if rises:
            other = _least_share(net, c, net.entry_at[i])
            many.other[i - first] = other
            many.most[i - first] = np.inf if other < 0 else net.full_at[net.class_link[other]]
        else:
            many.most[i - first] = x.level[c]  # 0 before it begins
            room += many.part[i] * x.level[c]
    left, slope = room, kept
    while True:
        left, slope = room, kept
        for i in range(first, last):
            if many.most[i - first] <= share:
                left -= many.part[i] * many.most[i - first]
            else:
                slope += many.part[i]
        if slope <= 0.0:
            share = np.inf
            break
        if left <= slope * share * (1.0 + 1e-15):
            left -= slope * share
            break
        share = left / slope
    net.full_at[m] = share
    for i in range(begin + bound - 1, begin - 1, -1):
        c, e = net.member[i], net.entry_at[i]
        weight = many.part[i] / net.coefficient[e]
        if not rises or many.most[i - first] > share:
            _change_level(x, net, many, c, e, weight, share)
        else:
            other = many.other[i - first]
            _move(x, net, many, c, other)
            _change_level(x, net, many, c, e, weight, many.most[i - first])
            rank(net, many, net.class_link[other])
    if not rises:
        for i in range(first, last):
            if many.most[i - first] > share:
                c, e = net.member[i], net.entry_at[i]
                _move(x, net, many, c, e)
                _change_level(x, net, many, c, e, x.weight[c], share)
    net.left[m], net.slope[m] = left, slope
    _set_band(net, many, m)
    if many.bound[m] == 0:
        many.first_end[m] = np.inf
    rank(net, many, m)


@inlined
def _change_level(x: Sharing, net: Links, many: Many, c: int, own: int, weight: float, level: float) -> None:
    """Change the level of a class, and the free bandwidth of all of its links but for one entry."""
    rise = weight * (level - x.level[c])
    x.level[c] = level
    for e in range(net.class_first[c], net.class_first[c + 1]):
        if e != own:
            net.left[net.class_link[e]] -= net.coefficient[e] * rise
            _queue_short(net, many, net.class_link[e])


@compiled
def rank(net: Links, many: Many, m: int) -> None:
    """Move a link to its place in the heap of ends, add it, or take it out."""
    place, size = many.place[m], many.tally[RANKED]
    if many.first_end[m] == np.inf or net.full_at[m] <= 0.0:
        if place >= 0:
            many.place[m] = -1
            many.tally[RANKED] = size - 1
            last = many.ranked[size - 1]
            if last != m:
                _sift(many, place, last)
        return
    many.end_s[m] = many.clock_s[m] + (many.first_end[m] - many.clock[m]) / net.full_at[m]
    if place < 0:
        place = size
        many.tally[RANKED] = size + 1
    _sift(many, place, m)


@inlined
def _sift(many: Many, i: int, m: int) -> None:
    """Put a link at a place of the heap, above it or below."""
    size, end_s = many.tally[RANKED], many.end_s[m]
    while i > 0 and end_s < many.end_s[many.ranked[(i - 1) >> 1]]:
        many.ranked[i] = many.ranked[(i - 1) >> 1]
        many.place[many.ranked[i]] = i
        i = (i - 1) >> 1
    while 2 * i + 1 < size:
        child = 2 * i + 1
        if child + 1 < size and many.end_s[many.ranked[child + 1]] < many.end_s[many.ranked[child]]:
            child += 1
        if many.end_s[many.ranked[child]] >= end_s:
            break
        many.ranked[i] = many.ranked[child]
        many.place[many.ranked[i]] = i
        i = child
    many.ranked[i] = m
    many.place[m] = i
