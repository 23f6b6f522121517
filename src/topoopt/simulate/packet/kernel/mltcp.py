"""MLTCP: a connection grows the faster, the more of its job's iteration it has sent (HotNets 2024).

The weight is F(r), with r the part of an iteration's packets that is acknowledged, at most 1. A
silence of nine tenths of the computing time says that an iteration is over: then r is 0 and the window the first one.
What an iteration has, and how long it computes, is given, or learned from the first iterations, in which F = 1.
"""

from topoopt.kernel import compiled, inlined
from topoopt.simulate.aggressiveness import TABLE_POINTS
from topoopt.simulate.packet.kernel.layout import (
    ACCOUNTS,
    CONSTANTS,
    KEPT_FIELDS,
    Account,
    Constant,
    Flow,
    State,
    Window,
)

LEARNED_FROM = 2.0
"""Whole iterations that are looked at: packets of the last one count."""
SILENT_ROUNDS = 2.0
"""A silence of fewer round trips is one of the network, and ends no iteration."""


@inlined
def account_of(s: State, flow: int) -> int:
    """Return where in ``constant`` the account of a connection begins. Two jobs share no server, so no pair either."""
    return ACCOUNTS + KEPT_FIELDS * s.flow[flow, Flow.PAIR]


@inlined
def _counter(s: State, flow: int) -> int:
    """Return where the account begins that counts for a connection."""
    return int(s.constant[account_of(s, flow) + Account.COUNTER])


@compiled
def begin_if_new(s: State, flow: int, now: int) -> None:
    """Begin an iteration if the last one is over, and weigh the connection by how much of it is in."""
    counter, a, w = _counter(s, flow), s.constant, s.window
    if a[counter + Account.HEARD_AT] < 0.0:
        a[counter + Account.HEARD_AT] = float(now)
    silence = float(now) - a[counter + Account.HEARD_AT]
    rounds = SILENT_ROUNDS * w[flow, Window.SRTT]
    if rounds > 0.0 and silence > max(a[counter + Account.GAP], rounds):
        if a[counter + Account.TOTAL] == 0.0:
            _learn(s, counter, silence)
        a[counter + Account.PACKETS] = 0.0
        a[counter + Account.HEARD_AT] = float(now)
        w[flow, Window.CWND] = a[Constant.FIRST_WINDOW]
    if a[counter + Account.TOTAL] > 0.0:
        w[flow, Window.WEIGHT] = _weight(s, a[counter + Account.PACKETS] / a[counter + Account.TOTAL])


@inlined
def _weight(s: State, part: float) -> float:
    """Return F of the part of an iteration that is in."""
    place = min(1.0, part) * (TABLE_POINTS - 1)
    below = min(int(place), TABLE_POINTS - 2)
    low, high = s.constant[CONSTANTS + below], s.constant[CONSTANTS + below + 1]
    return low + (place - below) * (high - low)


@inlined
def _learn(s: State, counter: int, silence: float) -> None:
    """Take a silence about as long as the longest as the end of an iteration, and what lies between two as one."""
    a, share = s.constant, s.constant[Constant.GAP_SHARE]
    if silence * share > a[counter + Account.GAP] / share:  # longer than any before: those were none
        a[counter + Account.FOUND] = 0.0
    a[counter + Account.GAP] = max(a[counter + Account.GAP], silence * share)
    a[counter + Account.FOUND] += 1.0
    if a[counter + Account.FOUND] > LEARNED_FROM:
        a[counter + Account.TOTAL] = a[counter + Account.PACKETS]


@compiled
def note_acknowledged(s: State, flow: int, now: int) -> None:
    """Count a packet that is known to be in."""
    begin_if_new(s, flow, now)
    counter = _counter(s, flow)
    s.constant[counter + Account.PACKETS] += 1.0
    s.constant[counter + Account.HEARD_AT] = float(now)


@inlined
def note_rest(s: State, flow: int, now: int) -> None:
    """Count what is in when a connection ends, though its sender has not heard of it yet."""
    counter = _counter(s, flow)
    s.constant[counter + Account.PACKETS] += float(s.flow[flow, Flow.PACKETS] - s.flow[flow, Flow.ACKED])
    s.constant[counter + Account.HEARD_AT] = float(now)
