"""Circuits that change and links that fail: everything is held, then links get other times on the wire and packets
other ways.

Routes are looked up hop by hop, for they change under way. What waits for a circuit that is no longer there looks
its way up anew.
"""

from topoopt.base.kernel import compiled, spliced
from topoopt.simulation.packet.kernel.flows import packet_lost
from topoopt.simulation.packet.kernel.heaps import remove_link
from topoopt.simulation.packet.kernel.layout import DOWN, HOLD_ALL, NEVER, Count, Link, Packet, State
from topoopt.simulation.packet.kernel.links import drop, pause_link, put, resume_link, see_departures, size_of
from topoopt.simulation.packet.kernel.pacing import wake
from topoopt.simulation.packet.kernel.pfc import leave
from topoopt.simulation.packet.kernel.sending import next_link


@spliced
def obey(s: State) -> None:
    """Do what the caller has asked for since the last slice."""
    command = s.count[Count.COMMAND]
    s.count[Count.COMMAND] = 0
    now = s.count[Count.NOW]
    if command == HOLD_ALL:
        for link in range(len(s.link)):
            pause_link(s, link, now)
    else:
        _reconnect(s, now)


@spliced
def _reconnect(s: State, now: int) -> None:
    """Put what waits into the queues of its new ways, and let the new circuits send."""
    for link in range(len(s.link)):
        see_departures(s, link, now)
        s.link[link, Link.SWEPT] = s.link[link, Link.TAIL]
    for link in range(len(s.link)):
        _sweep(s, link, now)
    for link in range(len(s.link)):
        if s.circuit[link, 0] > 0:
            s.link[link, Link.SERIAL] = s.circuit[link, 0]
            s.link[link, Link.SERIAL_OPEN] = s.circuit[link, 1]
            s.link[link, Link.SERIAL_ACK] = s.circuit[link, 2]
            resume_link(s, link, now)
    for link in range(len(s.link)):  # those that wait for their turn may have another way, too
        if s.link[link, Link.WAIT_HEAD] >= 0:
            s.link[link, Link.LAST] = s.link[link, Link.LAST_BUT_ONE] = -1
            wake(s, link, now)


@compiled
def _sweep(s: State, link: int, now: int) -> None:
    """Move what waited at a link into the queues where it belongs now, this one perhaps."""
    first, last = s.link[link, Link.GONE], s.link[link, Link.SWEPT]
    while (
        first < last
        and s.packet[s.link[link, Link.BASE] + (first & s.link[link, Link.MASK]), Packet.DEPART] < NEVER
    ):
        first += 1  # it is on the wire already, and arrives
    if first == last:
        return
    node = link // s.count[Count.SERVERS]
    for i in range(first, last):
        slot = s.link[link, Link.BASE] + (i & s.link[link, Link.MASK])
        who, what = s.packet[slot, Packet.WHO], s.packet[slot, Packet.WHAT]
        flow = who >> 32
        s.link[link, Link.QUEUED] -= size_of(what)
        onward = next_link(s, node, flow, what)
        if not put(s, onward, (flow << 32) | onward, what, now):
            packet_lost(s, flow)
    base, mask, tail = s.link[link, Link.BASE], s.link[link, Link.MASK], s.link[link, Link.TAIL]
    for i in range(last, tail):
        for column in range(4):
            s.packet[base + ((i - last + first) & mask), column] = s.packet[base + (i & mask), column]
    s.link[link, Link.TAIL] = tail - (last - first)
    s.link[link, Link.AHEAD] = min(s.link[link, Link.AHEAD], first)
    ahead = 0
    for i in range(s.link[link, Link.HEAD], s.link[link, Link.AHEAD]):
        ahead += size_of(s.packet[base + (i & mask), Packet.WHAT])
    s.link[link, Link.AHEAD_BYTES] = ahead


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
