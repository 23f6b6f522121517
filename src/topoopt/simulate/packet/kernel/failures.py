"""A link that fails loses what has not left it; what is on the wire still arrives."""

from topoopt.kernel import spliced
from topoopt.simulate.packet.kernel.flows import packet_lost
from topoopt.simulate.packet.kernel.heaps import remove_link
from topoopt.simulate.packet.kernel.layout import (
    AHEAD,
    AHEAD_BYTES,
    BASE,
    BUSY,
    DOWN,
    GONE,
    HEAD,
    IN_HEAP,
    MASK,
    NEVER,
    PFC_OFF_BYTES,
    QUEUED,
    STATE,
    TAIL,
    WHAT,
    WHO,
    State,
)
from topoopt.simulate.packet.kernel.links import drop, see_departures, size_of
from topoopt.simulate.packet.kernel.pacing import wake
from topoopt.simulate.packet.kernel.pfc import leave


@spliced
def link_down(s: State, link: int, now: int) -> None:
    """Fail a link: its queue is lost, and everything that comes until it is up again."""
    see_departures(s, link, now)
    base, mask = s.link[link, BASE], s.link[link, MASK]
    gone = s.link[link, GONE]
    for i in range(gone, s.link[link, TAIL]):
        slot = base + (i & mask)
        drop(s, link)
        if s.count[PFC_OFF_BYTES] < NEVER:
            leave(s, slot, size_of(s.packet[slot, WHAT]), now, now)
        packet_lost(s, s.packet[slot, WHO] >> 32)
    s.link[link, TAIL] = gone
    s.link[link, QUEUED] = 0
    s.link[link, BUSY] = now
    s.link[link, STATE] |= DOWN
    s.link[link, AHEAD] = min(s.link[link, AHEAD], gone)
    ahead_bytes = 0
    for i in range(s.link[link, HEAD], s.link[link, AHEAD]):
        ahead_bytes += size_of(s.packet[base + (i & mask), WHAT])
    s.link[link, AHEAD_BYTES] = ahead_bytes
    if s.link[link, IN_HEAP] == 1 and s.link[link, HEAD] == gone:
        s.link[link, IN_HEAP] = 0
        remove_link(s, link)
    wake(s, link, now)
