"""Lists of the active classes of links, and their rates by progressive filling."""

import numpy as np

from topoopt.base.kernel import compiled, drop_top, inlined, push
from topoopt.simulation.fluid.state import ACTIVE, SHORT, Links, Sharing

TIE = 1e-12
"""Relative distance below which two completion times, or two fair shares, are one."""
FULL = 1.0 + 1e-9
"""A link that its classes cannot fill beyond this, each at its ceiling, is never short."""


@compiled
def insert(x: Sharing, connection: int) -> None:
    """Insert a connection into its class, in the order of completion."""
    c = x.connection_class[connection]
    x.ends_at[connection] = x.served[c] + x.bytes_each[connection]
    before, here = -1, x.first[c]
    while here >= 0 and x.ends_at[here] <= x.ends_at[connection]:
        before, here = here, x.next_connection[here]
    x.next_connection[connection] = here
    if before < 0:
        x.first[c] = connection
    else:
        x.next_connection[before] = connection


@compiled
def list_active(x: Sharing, net: Links) -> None:
    """Rebuild the lists of active classes of the links."""
    for m in range(len(net.capacity)):
        net.users[m] = 0
        net.load[m] = net.demand[m] = 0.0
        net.short_place[m] = -1
    net.tally[SHORT] = 0
    for i in range(x.tally[ACTIVE]):
        c = x.active[i]
        list_class(net, c)
        reweigh(net, c, x.weight[c])
        x.listed[c] = x.weight[c]


@compiled
def list_class(net: Links, c: int) -> None:
    """Mark a class as active on all its links."""
    for e in range(net.class_first[c], net.class_first[c + 1]):
        m = net.class_link[e]
        net.load[m] += net.most[e]
        if net.short_place[m] < 0 and net.load[m] > FULL:
            net.short[net.tally[SHORT]] = m
            net.short_place[m] = net.tally[SHORT]
            net.tally[SHORT] += 1
        here = net.link_first[m] + net.users[m]
        net.place[e] = here
        net.member[here] = c
        net.entry_at[here] = e
        net.users[m] += 1


@compiled
def strike_class(net: Links, c: int) -> None:
    """Mark a class as inactive on all its links; the last class of a link takes its place."""
    for e in range(net.class_first[c], net.class_first[c + 1]):
        m = net.class_link[e]
        net.users[m] -= 1
        last = net.link_first[m] + net.users[m]
        net.member[net.place[e]] = net.member[last]
        net.entry_at[net.place[e]] = net.entry_at[last]
        net.place[net.entry_at[last]] = net.place[e]
        net.load[m] -= net.most[e]
        if net.users[m] == 0:
            net.load[m] = net.demand[m] = 0.0  # no trace of rounding stays where nobody is left
        if net.short_place[m] >= 0 and net.load[m] <= FULL:
            net.tally[SHORT] -= 1
            moved = net.short[net.tally[SHORT]]
            net.short[net.short_place[m]] = moved
            net.short_place[moved] = net.short_place[m]
            net.short_place[m] = -1


@compiled
def reweigh(net: Links, c: int, change: float) -> None:
    """Add to a class's demand on all its links."""
    for e in range(net.class_first[c], net.class_first[c + 1]):
        m = net.class_link[e]
        if net.users[m] > 0:
            net.demand[m] += net.coefficient[e] * change


@compiled
def fill(x: Sharing, net: Links) -> None:
    """Progressive filling: all levels rise together; the link that fills first freezes its classes; and so on.

    A link's share only grows as others freeze, so a heap with stale (too small) keys finds the next one.
    ``full_at`` then holds the level at which each link filled.
    """
    raise_levels(x, net, _begin_to_rise(x, net), _first_shares(x, net))


@compiled
def raise_levels(x: Sharing, net: Links, rising: int, size: int) -> None:
    """Freeze the classes that rise, whose level is negative, link by link of a heap of that size."""
    while rising > 0 and size > 0:
        key, m = net.keys[0], net.codes[0] - len(x.level)
        size = drop_top(net.keys, net.codes, size)
        if m < 0:
            rising -= _freeze(x, net, m + len(x.level), key)
            continue
        if net.unfrozen[m] == 0:
            continue
        share = net.left[m] / net.slope[m]
        if share > key * (1.0 + TIE):
            size = push(net.keys, net.codes, size, share, len(x.level) + m)
            continue
        net.full_at[m] = key
        for i in range(net.link_first[m], net.link_first[m] + net.users[m]):
            # the key is the true share, but never below an earlier one by rounding
            rising -= _freeze(x, net, net.member[i], key)


@inlined
def _begin_to_rise(x: Sharing, net: Links) -> int:
    """Mark all active classes with a link or a ceiling as rising, the others as waiting; return the number rising."""
    rising = 0
    for i in range(x.tally[ACTIVE]):
        c = x.active[i]
        waits = len(x.ceiling) == 0 and net.class_first[c] == net.class_first[c + 1]
        x.level[c] = 0.0 if waits else -1.0
        rising += not waits
    return rising


@inlined
def _first_shares(x: Sharing, net: Links) -> int:
    """Build the heap of the levels at which links, and ceilings of classes, are reached; return its size."""
    size = 0
    for i in range(net.tally[SHORT]):
        m = net.short[i]
        net.left[m], net.slope[m], net.unfrozen[m] = net.capacity[m], net.demand[m], net.users[m]
        net.full_at[m] = np.inf
        size = push(net.keys, net.codes, size, net.left[m] / net.slope[m], len(x.level) + m)
    if len(x.ceiling) > 0:
        for i in range(x.tally[ACTIVE]):
            c = x.active[i]
            size = push(net.keys, net.codes, size, x.ceiling[c] / x.weight[c], c)
    return size


@inlined
def _freeze(x: Sharing, net: Links, c: int, level: float) -> int:
    """Fix the level of a class; return 1, or 0 if it rises no more."""
    if x.level[c] >= 0.0:
        return 0
    x.level[c] = level
    for e in range(net.class_first[c], net.class_first[c + 1]):
        m = net.class_link[e]
        part = net.coefficient[e] * x.weight[c]
        net.left[m] -= part * level
        net.slope[m] -= part
        net.unfrozen[m] -= 1
    return 1
