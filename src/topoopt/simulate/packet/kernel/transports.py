"""What the transports do at each event of a connection; their constants and sources are in ``transports.py``.

Each has up to five entries: ``opened``, ``acked`` (one packet more was received, marked or not), ``lost`` (once a
window), ``timed_out``, and for those that pace their packets ``gap_ps``. ``cwnd`` and ``ssthresh`` count packets.
"""

from topoopt.simulate.packet.kernel.compiled import compiled, inlined
from topoopt.simulate.packet.kernel.dctcp import dctcp_acked, dctcp_opened
from topoopt.simulate.packet.kernel.layout import C_FIRST_WINDOW, C_SSTHRESH, CWND, SSTHRESH, TRANSPORT, State

DCTCP, RENO, CUBIC, DCQCN, LINE_RATE = range(5)


@compiled
def opened(s: State, flow: int) -> None:
    """Set the state of a connection that has just been opened."""
    s.window[flow, :] = 0.0
    s.window[flow, CWND] = s.constant[C_FIRST_WINDOW]
    s.window[flow, SSTHRESH] = s.constant[C_SSTHRESH]
    if s.count[TRANSPORT] == DCTCP:
        dctcp_opened(s, flow)


@inlined
def acked(s: State, flow: int, marked: bool, now: int) -> None:
    """Take note of one packet received."""
    if s.count[TRANSPORT] == DCTCP:
        dctcp_acked(s, flow, marked)


@compiled
def lost(s: State, flow: int, now: int) -> None:
    """Take note of a loss, once a window."""
    s.window[flow, SSTHRESH] = max(s.window[flow, CWND] / 2.0, 2.0)
    s.window[flow, CWND] = s.window[flow, SSTHRESH]


@compiled
def timed_out(s: State, flow: int, now: int) -> None:
    """Take note of a retransmission timeout: start again with one packet."""
    s.window[flow, SSTHRESH] = max(s.window[flow, CWND] / 2.0, 2.0)
    s.window[flow, CWND] = 1.0


@compiled
def gap_ps(s: State, flow: int, now: int) -> int:
    """Return the time from one packet to the next, of a transport that paces."""
    return 1
