"""Max-min fair rates by progressive filling; arrays as in ``sharing.py``."""

from pathlib import Path

from topoopt.base.kernel import compiled, drop_top, entry, inlined, push, stamp, stamped
from topoopt.simulation.fluid.state import ACTIVE, SHORT, Links, Sharing

FILES = Path(__file__).parent
FLUID_STAMP = stamp([*FILES.glob("*.py"), *FILES.with_name("analytic").glob("task_run*.py")])
"""Of all that is compiled into the engine, and of the clocks and the filling that other loops take from it."""

TIE = 1e-12
"""Relative distance below which two completion times, or two fair shares, are one."""

FULL = 1.0 + 1e-9
"""A link that its classes cannot fill beyond this, each at its ceiling, is never short."""


@entry
@stamped(FLUID_STAMP)
def max_min_levels(x: Sharing, net: Links) -> None:
    """Set the fair level of all active classes, on links that know of none."""
    list_active(x, net)
    fill(x, net)


@compiled
def insert(x: Sharing, connection: int) -> None:
    """Put a connection among those of its class, in the order in which they will be done."""
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
    """Forget who was active on the links, and note who is."""
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
    """Note on all links of a class that it is active."""
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
    """Note on all links of a class that it is active no more; the last of a link takes its place."""
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
    rising = _begin_to_rise(x, net)
    size = _first_shares(x, net)
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
        for i in range(net.link_first[m], net.link_first[m] + net.users[m]):
            # the key is the true share, but never below an earlier one by rounding
            rising -= _freeze(x, net, net.member[i], key)


@inlined
def _begin_to_rise(x: Sharing, net: Links) -> int:
    """Let all active classes rise that have a link or a ceiling, the others wait; return how many rise."""
    rising = 0
    for i in range(x.tally[ACTIVE]):
        c = x.active[i]
        waits = len(x.ceiling) == 0 and net.class_first[c] == net.class_first[c + 1]
        x.level[c] = 0.0 if waits else -1.0
        rising += not waits
    return rising


@inlined
def _first_shares(x: Sharing, net: Links) -> int:
    """Make the heap of the levels at which links, and ceilings of classes, are reached; return its size."""
    size = 0
    for i in range(net.tally[SHORT]):
        m = net.short[i]
        net.left[m], net.slope[m], net.unfrozen[m] = net.capacity[m], net.demand[m], net.users[m]
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
