"""MLTCP: a connection grows the faster, the more of its job's iteration it has sent (HotNets 2024).

The weight is F(r), with r the part of an iteration's packets that is acknowledged, at most 1. A silence of nine tenths
of the computing time says that an iteration is over: then r is 0 and the window the first one. The packets and
computing time of an iteration are given, or learned from the first iterations, in which F = 1.
"""

from topoopt.base.kernel import compiled, inlined
from topoopt.simulation.flows.mltcp_weight import TABLE_POINTS
from topoopt.simulation.packet.kernel.layout import (
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
"""Whole iterations observed: packets of the last one count."""
SILENT_ROUNDS = 2.0
"""A silence of fewer round trips is one of the network, and ends no iteration."""


@inlined
def account_of(s: State, flow: int) -> int:
    """Return the index of a connection's account in ``constant``. Jobs share no server, so pairs are unique."""
    return ACCOUNTS + KEPT_FIELDS * s.flow[flow, Flow.PAIR]


@inlined
def _counter(s: State, flow: int) -> int:
    """Return the index of the account that counts for a connection."""
    return int(s.constant[account_of(s, flow) + Account.COUNTER])


@compiled
def note(s: State, flow: int, packets: float, now: int) -> None:
    """Count packets of a connection that are in, perhaps as the first of an iteration, and weigh it by how much is.

    One function for all that may happen, so that little is to compile.
    """
    counter, a, w = _counter(s, flow), s.constant, s.window
    if a[counter + Account.HEARD_AT] < 0.0:
        a[counter + Account.HEARD_AT] = float(now)
    silence = float(now) - a[counter + Account.HEARD_AT]
    rounds = SILENT_ROUNDS * w[flow, Window.SRTT]
    if rounds > 0.0 and silence > max(a[counter + Account.GAP], rounds):
        if a[counter + Account.TOTAL] == 0.0:
            _learn(s, counter, silence)
        a[counter + Account.PACKETS] = 0.0
        w[flow, Window.CWND] = a[Constant.FIRST_WINDOW]
    a[counter + Account.HEARD_AT] = float(now)
    if a[counter + Account.TOTAL] > 0.0:
        w[flow, Window.WEIGHT] = _weight(s, a[counter + Account.PACKETS] / a[counter + Account.TOTAL])
    a[counter + Account.PACKETS] += packets


@inlined
def _weight(s: State, part: float) -> float:
    """Return F of the part of an iteration that is in."""
    place = min(1.0, part) * (TABLE_POINTS - 1)
    below = min(int(place), TABLE_POINTS - 2)
    low, high = s.constant[CONSTANTS + below], s.constant[CONSTANTS + below + 1]
    return low + (place - below) * (high - low)


@inlined
def _learn(s: State, counter: int, silence: float) -> None:
    """Treat silences about as long as the longest as ends of iterations, and learn the iteration between."""
    a, share = s.constant, s.constant[Constant.GAP_SHARE]
    if silence * share > a[counter + Account.GAP] / share:  # longer than any before: those were none
        a[counter + Account.FOUND] = 0.0
    a[counter + Account.GAP] = max(a[counter + Account.GAP], silence * share)
    a[counter + Account.FOUND] += 1.0
    if a[counter + Account.FOUND] > LEARNED_FROM:
        a[counter + Account.TOTAL] = a[counter + Account.PACKETS]
