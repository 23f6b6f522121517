"""What the transports do at each event of a connection; their constants and sources are in ``transports.py``.

With a window: ``opened``, ``acked`` (one packet more was received, marked or not), ``lost`` (once a window) and
``timed_out``; ``cwnd`` and ``ssthresh`` count packets. Those that pace their packets: ``opened``, ``noticed``,
``wait_ps`` and ``sent``.
"""

from topoopt.kernel import compiled, inlined
from topoopt.simulate.packet.kernel.cubic import cubic_acked, cubic_cut, cubic_opened, cubic_timed_out
from topoopt.simulate.packet.kernel.dcqcn import dcqcn_noticed, dcqcn_opened, dcqcn_sent, dcqcn_wait_ps
from topoopt.simulate.packet.kernel.dctcp import dctcp_acked, dctcp_opened
from topoopt.simulate.packet.kernel.layout import (
    C_FIRST_WINDOW,
    C_SSTHRESH,
    CWND,
    SSTHRESH,
    TRANSPORT,
    State,
)
from topoopt.simulate.packet.kernel.line_rate import line_rate_sent, line_rate_wait_ps
from topoopt.simulate.packet.kernel.reno import reno_acked, reno_cut

DCTCP, RENO, CUBIC, DCQCN, LINE_RATE = range(5)


@compiled
def opened(s: State, flow: int, now: int) -> None:
    """Set the state of a connection that has just been opened."""
    s.window[flow, :] = 0.0
    s.window[flow, CWND] = s.constant[C_FIRST_WINDOW]
    s.window[flow, SSTHRESH] = s.constant[C_SSTHRESH]
    transport = s.count[TRANSPORT]
    if transport == DCTCP:
        dctcp_opened(s, flow)
    elif transport == CUBIC:
        cubic_opened(s, flow)
    elif transport == DCQCN:
        dcqcn_opened(s, flow, now)


@inlined
def acked(s: State, flow: int, marked: bool, now: int) -> None:
    """Take note of one packet received."""
    transport = s.count[TRANSPORT]
    if transport == DCTCP:
        dctcp_acked(s, flow, marked)
    elif transport == RENO:
        reno_acked(s, flow, marked)
    elif transport == CUBIC:
        cubic_acked(s, flow, marked, now)


@compiled
def lost(s: State, flow: int, now: int) -> None:
    """Take note of a loss, once a window."""
    if s.count[TRANSPORT] == CUBIC:
        cubic_cut(s, flow)
    else:
        reno_cut(s, flow)


@compiled
def timed_out(s: State, flow: int, now: int) -> None:
    """Take note of a retransmission timeout: start again with one packet."""
    if s.count[TRANSPORT] == CUBIC:
        cubic_timed_out(s, flow)
    else:
        reno_cut(s, flow)
        s.window[flow, CWND] = 1.0


@compiled
def noticed(s: State, flow: int, now: int) -> None:
    """Take note of a notice of congestion."""
    if s.count[TRANSPORT] == DCQCN:
        dcqcn_noticed(s, flow, now)


@compiled
def wait_ps(s: State, flow: int, now: int) -> int:
    """Return how long the next packet has to wait before the flow asks again."""
    if s.count[TRANSPORT] == DCQCN:
        return dcqcn_wait_ps(s, flow, now)
    return line_rate_wait_ps(s, flow, now)


@compiled
def sent(s: State, flow: int, serial: int, now: int) -> None:
    """Take note of a packet that was sent."""
    if s.count[TRANSPORT] == DCQCN:
        dcqcn_sent(s, flow, serial)
    else:
        line_rate_sent(s, flow, serial, now)
