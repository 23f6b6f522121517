"""Max-min fair rates by progressive filling; arrays as in ``sharing.py``."""

from topoopt.kernel import compiled, drop_top, entry, push
from topoopt.simulate.fluid.sharing import ACTIVE, USED, Links, Sharing

TIE = 1e-12
"""Relative distance below which two completion times, or two fair shares, are one."""


@entry
def max_min_levels(x: Sharing, net: Links) -> None:
    """Set the fair level of all active classes, on links that know of none."""
    list_active(x, net)
    fill(x, net)


@compiled
def list_active(x: Sharing, net: Links) -> None:
    """Forget who was active on the links, and note who is."""
    for i in range(net.tally[USED]):
        net.users[net.used[i]] = 0
        net.demand[net.used[i]] = 0.0
    net.tally[USED] = 0
    for i in range(x.tally[ACTIVE]):
        c = x.active[i]
        list_class(net, c)
        reweigh(net, c, x.weight[c])
        x.listed[c] = x.weight[c]


@compiled
def list_class(net: Links, c: int) -> None:
    """Note on all links of a class that it is active."""
    for e in range(net.class_first[c], net.class_first[c + 1]):
        m = net.class_link[e]
        if net.users[m] == 0:
            net.used[net.tally[USED]] = m
            net.used_place[m] = net.tally[USED]
            net.tally[USED] += 1
        here = net.link_first[m] + net.users[m]
        net.place[e] = here
        net.member[here] = c
        net.entry_at[here] = e
        net.users[m] += 1


@compiled
def strike_class(net: Links, c: int) -> None:
    """Note on all links of a class that it is active no more; the last of a link takes its place."""
    for e in range(net.class_first[c], net.class_first[c + 1]):
        m = net.class_link[e]
        net.users[m] -= 1
        last = net.link_first[m] + net.users[m]
        net.member[net.place[e]] = net.member[last]
        net.entry_at[net.place[e]] = net.entry_at[last]
        net.place[net.entry_at[last]] = net.place[e]
        if net.users[m] == 0:
            net.demand[m] = 0.0  # no trace of rounding stays where nobody is left
            net.tally[USED] -= 1
            moved = net.used[net.tally[USED]]
            net.used[net.used_place[m]] = moved
            net.used_place[moved] = net.used_place[m]


@compiled
def reweigh(net: Links, c: int, change: float) -> None:
    """Add to what a class takes of all its links."""
    for e in range(net.class_first[c], net.class_first[c + 1]):
        m = net.class_link[e]
        if net.users[m] > 0:
            net.demand[m] += net.coefficient[e] * change


@compiled
def fill(x: Sharing, net: Links) -> None:
    """Progressive filling: all levels rise together; the link that fills first freezes its classes; and so on.

    A link's share only grows as others freeze, so a heap with stale (too small) keys finds the next one.
    """
    for i in range(x.tally[ACTIVE]):
        c = x.active[i]
        x.level[c] = -1.0 if net.class_first[c] < net.class_first[c + 1] else 0.0
    size = 0
    for i in range(net.tally[USED]):
        m = net.used[i]
        net.left[m], net.asked[m], net.unfrozen[m] = net.capacity[m], net.demand[m], net.users[m]
        size = push(net.keys, net.codes, size, net.left[m] / net.asked[m], m)
    while size > 0:
        key, m = net.keys[0], net.codes[0]
        size = drop_top(net.keys, net.codes, size)
        if net.unfrozen[m] == 0:
            continue
        share = net.left[m] / net.asked[m]
        if share > key * (1.0 + TIE):
            size = push(net.keys, net.codes, size, share, m)
        else:
            _freeze(x, net, m, key)  # the true share, but never below an earlier one by rounding


@compiled
def _freeze(x: Sharing, net: Links, full: int, level: float) -> None:
    """Fix the level of all classes of a full link that still rise."""
    for i in range(net.link_first[full], net.link_first[full] + net.users[full]):
        c = net.member[i]
        if x.level[c] >= 0.0:
            continue
        x.level[c] = level
        for e in range(net.class_first[c], net.class_first[c + 1]):
            m = net.class_link[e]
            part = net.coefficient[e] * x.weight[c]
            net.left[m] -= part * level
            net.asked[m] -= part
            net.unfrozen[m] -= 1
