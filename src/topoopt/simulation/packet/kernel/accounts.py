"""What connections of a job hand on to those after them, as sockets do that stay open over iterations.

A transfer between two servers goes on where the one before it has ended: with its window, its threshold and its
round-trip time, and without a packet that opens. A sender that was silent for a timeout begins with a small window
again (RFC 5681, section 4.1), and remembers three quarters of the one it had as its threshold (RFC 2861). Where
connections are weighed, the account also knows how much of an iteration is in.
"""

from topoopt.base.kernel import spliced
from topoopt.simulation.packet.kernel.layout import (
    KEPT_AND_WEIGHED,
    WINDOW_FIELDS,
    Account,
    Constant,
    Count,
    Flow,
    State,
    Window,
)
from topoopt.simulation.packet.kernel.mltcp import account_of, note
from topoopt.simulation.packet.kernel.transports import resumed

FIRST_KEPT = len(Account)


@spliced
def take_up(s: State, flow: int, now: int) -> bool:
    """Let a connection go on where the one before it has ended; return whether there was one."""
    here, a, w = account_of(s, flow), s.constant, s.window
    used = a[here + Account.USED] > 0.0
    if used:
        for field in range(WINDOW_FIELDS):
            w[flow, field] = a[here + FIRST_KEPT + field]
        timeout = max(a[Constant.TIMEOUT_MIN], w[flow, Window.SRTT] + 4.0 * w[flow, Window.RTTVAR])
        if float(now) - a[here + Account.LEFT_AT] > timeout:
            w[flow, Window.SSTHRESH] = max(w[flow, Window.SSTHRESH], 0.75 * w[flow, Window.CWND])
            w[flow, Window.CWND] = min(w[flow, Window.CWND], a[Constant.FIRST_WINDOW])
        resumed(s, flow, now)
    if s.count[Count.KEEPS] == KEPT_AND_WEIGHED:
        note(s, flow, 0.0, now)
    return used


@spliced
def hand_on(s: State, flow: int, now: int) -> None:
    """Keep the state of a connection whose packets are all in."""
    here, a = account_of(s, flow), s.constant
    if s.count[Count.KEEPS] == KEPT_AND_WEIGHED:
        note(s, flow, float(s.flow[flow, Flow.PACKETS] - s.flow[flow, Flow.ACKED]), now)
    a[here + Account.USED] = 1.0
    a[here + Account.LEFT_AT] = float(now)
    for field in range(WINDOW_FIELDS):
        a[here + FIRST_KEPT + field] = s.window[flow, field]
