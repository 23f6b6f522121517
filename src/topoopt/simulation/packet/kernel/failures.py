"""A link that fails loses what has not left it; what is on the wire still arrives."""

from topoopt.base.kernel import spliced
from topoopt.simulation.packet.kernel.flows import packet_lost
from topoopt.simulation.packet.kernel.heaps import remove_link
from topoopt.simulation.packet.kernel.layout import DOWN, NEVER, Count, Link, Packet, State
from topoopt.simulation.packet.kernel.links import drop, see_departures, size_of
from topoopt.simulation.packet.kernel.pacing import wake
from topoopt.simulation.packet.kernel.pfc import leave


@spliced
def link_down(s: State, link: int, now: int) -> None:
    """Fail a link: its queue is lost, and everything that comes until it is up again."""
    see_departures(s, link, now)
    base, mask = s.link[link, Link.BASE], s.link[link, Link.MASK]
    gone = s.link[link, Link.GONE]
    for i in range(gone, s.link[link, Link.TAIL]):
        slot = base + (i & mask)
        drop(s, link)
        if s.count[Count.PFC_OFF_BYTES] < NEVER:
            leave(s, slot, size_of(s.packet[slot, Packet.WHAT]), now, now)
        packet_lost(s, s.packet[slot, Packet.WHO] >> 32)
    s.link[link, Link.TAIL] = gone
    s.link[link, Link.QUEUED] = 0
    s.link[link, Link.BUSY] = now
    s.link[link, Link.STATE] |= DOWN
    s.link[link, Link.AHEAD] = min(s.link[link, Link.AHEAD], gone)
    ahead_bytes = 0
    for i in range(s.link[link, Link.HEAD], s.link[link, Link.AHEAD]):
        ahead_bytes += size_of(s.packet[base + (i & mask), Packet.WHAT])
    s.link[link, Link.AHEAD_BYTES] = ahead_bytes
    if s.link[link, Link.IN_HEAP] == 1 and s.link[link, Link.HEAD] == gone:
        s.link[link, Link.IN_HEAP] = 0
        remove_link(s, link)
    wake(s, link, now)
