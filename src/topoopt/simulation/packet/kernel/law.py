"""The face of a transport in the engine, and the plainest transport: a sender at the rate of its first link.

``cwnd`` and ``ssthresh`` of a connection count packets. A transport has a window or paces its packets, and omits
the other functions.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from topoopt.base.kernel import inlined
from topoopt.simulation.packet.kernel.layout import OWN, State


@inlined
def idle(s: State, flow: int, *rest: Any) -> None:
    """Do nothing."""


@inlined
def at_once(s: State, flow: int, now: int) -> int:
    """Return that the next packet need not wait."""
    return 0


class Law(NamedTuple):
    """Compiled functions of the state, the flow and the time ``now`` in picoseconds.

    Attributes
    ----------
    opened : function of (s, flow, now)
        The connection begins; its window is the first one, the rest of its state 0.
    resumed : function of (s, flow, now)
        A connection that is kept has something to send again; its state is that of its last packet.
    acked : function of (s, flow, marked, now)
        Window transports: one more packet was received, marked or not.
    lost, timed_out : function of (s, flow, now)
        Window transports: packets are missing (called once per window); timeout.
    noticed : function of (s, flow, now)
        Paced: a notice of congestion has come.
    wait_ps : function of (s, flow, now) to picoseconds
        Paced: how long until the next packet, or until this is to be asked again.
    sent : function of (s, flow, serial, now)
        Paced: a packet was sent that takes ``serial`` picoseconds on the wire.
    """

    opened: Callable[..., None] = idle
    resumed: Callable[..., None] = idle
    acked: Callable[..., None] = idle
    lost: Callable[..., None] = idle
    timed_out: Callable[..., None] = idle
    noticed: Callable[..., None] = idle
    wait_ps: Callable[..., int] = at_once
    sent: Callable[..., None] = idle


NEXT_AT = OWN


@inlined
def line_rate_wait_ps(s: State, flow: int, now: int) -> int:
    """Return the wait of the next packet."""
    return max(int(s.window[flow, NEXT_AT]) - now, 0)


@inlined
def line_rate_sent(s: State, flow: int, serial: int, now: int) -> None:
    """Count a packet that was sent, of so long on the wire."""
    s.window[flow, NEXT_AT] = float(now + serial)


LINE_RATE = Law(wait_ps=line_rate_wait_ps, sent=line_rate_sent)
