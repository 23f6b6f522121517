"""Priority flow control (IEEE 802.1Qbb): a switch that holds much of what came by one link pauses that link.

What came by a link and waits in its node is the link's ``INGRESS``. Above one threshold the node sends a pause to
the link's sender, below another a resume; either takes the latency of the link. Departures are seen when the next
packet joins their queue, or at the far end: a node may count what left an otherwise silent queue for one latency
longer, and a resume still comes in time where all latencies are equal.
"""

from topoopt.base.kernel import compiled
from topoopt.simulation.packet.kernel.heaps import push_timer
from topoopt.simulation.packet.kernel.layout import KIND_SHIFT, Count, Link, Packet, State, Timer


@compiled
def join(s: State, came_by: int, size: int, now: int) -> None:
    """Count what stays in a node, and pause the link by which it came if that is too much."""
    s.link[came_by, Link.INGRESS] += size
    if s.link[came_by, Link.INGRESS] > s.count[Count.PFC_OFF_BYTES] and s.link[came_by, Link.PAUSE_AT] == 0:
        when = now + s.link[came_by, Link.LATENCY]
        s.link[came_by, Link.PAUSE_AT] = when
        s.count[Count.PAUSES] += 1
        push_timer(s, when, (Timer.PAUSE << KIND_SHIFT) | came_by)


@compiled
def leave(s: State, slot: int, size: int, left_at: int, now: int) -> None:
    """Count a packet that has left a queue; its node may want the link by which it came to send again."""
    came_by = s.path_link[(s.packet[slot, Packet.WHO] & 0xFFFFFFFF) - 1]
    if came_by < 0:
        return
    s.link[came_by, Link.INGRESS] -= size
    if s.link[came_by, Link.PAUSE_AT] > 0 and s.link[came_by, Link.INGRESS] <= s.count[Count.PFC_ON_BYTES]:
        when = max(now, left_at + s.link[came_by, Link.LATENCY], s.link[came_by, Link.PAUSE_AT])
        s.link[came_by, Link.PAUSE_AT] = 0
        push_timer(s, when, (Timer.RESUME << KIND_SHIFT) | came_by)
