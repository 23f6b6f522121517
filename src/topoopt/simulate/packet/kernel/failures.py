"""A link that fails loses what has not left it; what is on the wire still arrives."""

from topoopt.simulate.packet.kernel.compiled import compiled
from topoopt.simulate.packet.kernel.connections import packet_lost
from topoopt.simulate.packet.kernel.layout import (
    AHEAD,
    AHEAD_BYTES,
    BASE,
    BUSY,
    DOWN,
    GONE,
    HEAD,
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
from topoopt.simulate.packet.kernel.pfc import leave


@compiled
def link_down(s: State, link: int, now: int) -> None:
    """Fail a link: its queue is lost, and everything that comes until it is up again."""
    see_departures(s, link, now)
    base, mask = s.link[link, BASE], s.link[link, MASK]
    gone = s.link[link, GONE]
    for i in range(gone, s.link[link, TAIL]):
        slot = base + (i & mask)
        drop(s, link)
        who = s.packet[slot, WHO]
        came_by = s.path_link[(who & 0xFFFFFFFF) - 1]
        if s.count[PFC_OFF_BYTES] < NEVER and came_by >= 0:
            leave(s, came_by, size_of(s.packet[slot, WHAT]), now)
        packet_lost(s, who >> 32)
    s.link[link, TAIL] = gone
    s.link[link, QUEUED] = 0
    s.link[link, BUSY] = now
    s.link[link, STATE] = DOWN
    s.link[link, AHEAD] = min(s.link[link, AHEAD], gone)
    ahead_bytes = 0
    for i in range(s.link[link, HEAD], s.link[link, AHEAD]):
        ahead_bytes += size_of(s.packet[base + (i & mask), WHAT])
    s.link[link, AHEAD_BYTES] = ahead_bytes
