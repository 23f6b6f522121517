"""A sender at the rate of its first link, whatever happens: a packet is due when the one before it is through."""

from topoopt.base.kernel import inlined
from topoopt.simulation.packet.kernel.law import Law
from topoopt.simulation.packet.kernel.layout import OWN, State

NEXT_AT = OWN


@inlined
def line_rate_wait_ps(s: State, flow: int, now: int) -> int:
    """Return how long the next packet has to wait."""
    return max(int(s.window[flow, NEXT_AT]) - now, 0)


@inlined
def line_rate_sent(s: State, flow: int, serial: int, now: int) -> None:
    """Count a packet that was sent, of so long on the wire."""
    s.window[flow, NEXT_AT] = float(now + serial)


LINE_RATE = Law(wait_ps=line_rate_wait_ps, sent=line_rate_sent)
