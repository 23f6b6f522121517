"""TCP Reno, with explicit congestion notification: half the window once a window, one packet more each window.

Where congestion is avoided, the growth of a window is one step in one place, ``grow_window``: there connections are
weighed. Slow start has no weight.
"""

from topoopt.base.kernel import compiled, inlined
from topoopt.simulation.packet.kernel.law import Law
from topoopt.simulation.packet.kernel.layout import OWN, Flow, State, Window

HOLD = OWN
LEAST_SSTHRESH = 2.0


@inlined
def grow_window(s: State, flow: int, packets: float) -> None:
    """Let the window grow by some packets, for one that was acknowledged, or by more or less, by its weight."""
    s.window[flow, Window.CWND] += packets * s.window[flow, Window.WEIGHT]


@inlined
def slow_start(s: State, flow: int) -> bool:
    """Grow by a packet for each below the threshold; return whether that was so."""
    w = s.window
    if w[flow, Window.CWND] >= w[flow, Window.SSTHRESH]:
        return False
    w[flow, Window.CWND] += min(1.0, w[flow, Window.SSTHRESH] - w[flow, Window.CWND])
    return True


@inlined
def hold_window(s: State, flow: int) -> None:
    """Change the window no more for what is under way: neither marks nor losses of it count again (RFC 3168)."""
    row = s.flow[flow]
    s.window[flow, HOLD] = float(row[Flow.PIPE])
    row[Flow.RECOVER] = max(row[Flow.SENT], row[Flow.FURTHEST])


@inlined
def reno_resumed(s: State, flow: int, now: int) -> None:
    """Go on with nothing under way."""
    s.window[flow, HOLD] = 0.0


@compiled
def reno_acked(s: State, flow: int, marked: bool, now: int) -> None:
    """Halve on a mark, but once for all that was under way then; else grow."""
    w = s.window
    if w[flow, HOLD] > 0.0:
        w[flow, HOLD] -= 1.0
    elif marked:
        reno_cut(s, flow, now)
        hold_window(s, flow)
    elif not slow_start(s, flow):
        grow_window(s, flow, 1.0 / w[flow, Window.CWND])


@inlined
def reno_cut(s: State, flow: int, now: int) -> None:
    """Go on with half the window."""
    s.window[flow, Window.SSTHRESH] = max(s.window[flow, Window.CWND] / 2.0, LEAST_SSTHRESH)
    s.window[flow, Window.CWND] = s.window[flow, Window.SSTHRESH]


@compiled
def reno_timed_out(s: State, flow: int, now: int) -> None:
    """Start again with one packet."""
    reno_cut(s, flow, now)
    s.window[flow, Window.CWND] = 1.0


RENO = Law(resumed=reno_resumed, acked=reno_acked, lost=reno_cut, timed_out=reno_timed_out)
