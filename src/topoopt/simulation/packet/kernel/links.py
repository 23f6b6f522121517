"""Links: FIFO queues with precomputed departure times, and priority flow control (IEEE 802.1Qbb) between them.

A link serves first come, first served, so a packet's departure is known on its arrival: when the one before it is
through, plus its own time on the wire. Only the *arrival at the far end* of a link's first packet is an event: one
for a packet and hop, and one pending for a busy link. What the queue held at a departure (for marks) is counted
when the packet has arrived at the far end; everything that could have joined it before is there by then.

``HEAD``, ``AHEAD``, ``GONE``, ``TAIL`` count packets since the start: taken at the far end; counted for marks;
known to have left; joined. A ring buffer of 2^k slots holds those between ``HEAD`` and ``TAIL``.

Random numbers are without a state, as in :mod:`topoopt.routing.routes`: the same question gets the same number, in any
process and order.

Under priority flow control a switch pauses a link whose packets fill its buffer. The bytes that came by a link and
wait in its node are the link's ``INGRESS``. Above one threshold the node sends a pause to the link's sender, below
another a resume; either takes the latency of the link. Departures are seen when the next packet joins their queue, or
at the far end: a node may count packets that left an otherwise silent queue for one latency longer, and a resume still
comes in time where all latencies are equal.
"""

import numpy as np

from topoopt.base.kernel import compiled, inlined, mix
from topoopt.simulation.packet.kernel.heaps import push_link, push_timer
from topoopt.simulation.packet.kernel.layout import (
    DOWN,
    FREE_RINGS,
    KIND_DATA,
    KIND_OPEN,
    KIND_SHIFT,
    MARKED,
    NEVER,
    PAUSED,
    SIZE_ACK,
    SIZE_DATA,
    SIZE_OPEN,
    UP,
    Constant,
    Count,
    Link,
    Packet,
    State,
    Timer,
)

FIRST_RING = 32
"""Slots of a link's first ring buffer."""


@inlined
def size_of(what: int) -> int:
    """Return the bytes of a packet on the wire."""
    kind = what & 3
    if kind == KIND_DATA:
        return SIZE_DATA
    return SIZE_OPEN if kind == KIND_OPEN else SIZE_ACK


@inlined
def serial_of(s: State, link: int, what: int) -> int:
    """Return the time that a packet takes to get onto the link."""
    kind = what & 3
    if kind == KIND_DATA:
        return s.link[link, Link.SERIAL]
    return s.link[link, Link.SERIAL_OPEN] if kind == KIND_OPEN else s.link[link, Link.SERIAL_ACK]


@compiled
def grow_ring(s: State, link: int) -> None:
    """Move a link's packets into a ring buffer of twice the slots; the caller has seen to free slots."""
    old = s.link[link, Link.MASK] + 1
    new = max(FIRST_RING, 2 * old)
    kind = 0
    while (1 << kind) < new:
        kind += 1
    base = s.count[FREE_RINGS + kind]
    if base >= 0:
        s.count[FREE_RINGS + kind] = s.packet[base, Packet.DEPART]
    else:
        base = s.count[Count.SLOTS_USED]
        s.count[Count.SLOTS_USED] = base + new
    before = s.link[link, Link.BASE]
    for i in range(s.link[link, Link.HEAD], s.link[link, Link.TAIL]):
        for column in range(4):
            s.packet[base + (i & (new - 1)), column] = s.packet[before + (i & (old - 1)), column]
    if old > 0:
        s.packet[before, Packet.DEPART] = s.count[FREE_RINGS + kind - 1]
        s.count[FREE_RINGS + kind - 1] = before
    s.link[link, Link.BASE] = base
    s.link[link, Link.MASK] = new - 1
    s.count[Count.LARGEST_RING] = max(s.count[Count.LARGEST_RING], new)


@inlined
def see_departures(s: State, link: int, now: int) -> None:
    """Count the packets that have left the queue by now."""
    gone, tail = s.link[link, Link.GONE], s.link[link, Link.TAIL]
    if gone == tail:
        return
    base, mask = s.link[link, Link.BASE], s.link[link, Link.MASK]
    queued = s.link[link, Link.QUEUED]
    pfc = s.count[Count.PFC_OFF_BYTES] < NEVER
    while gone < tail and s.packet[base + (gone & mask), Packet.DEPART] <= now:
        slot = base + (gone & mask)
        size = size_of(s.packet[slot, Packet.WHAT])
        if pfc:
            leave(s, slot, size, s.packet[slot, Packet.DEPART], now)
        queued -= size
        gone += 1
    s.link[link, Link.GONE] = gone
    s.link[link, Link.QUEUED] = queued


@compiled
def drop(s: State, link: int) -> None:
    """Lose a packet at a link."""
    s.count[Count.DROPPED] += 1
    s.link[link, Link.DROPS] += 1


@inlined
def enqueue(s: State, link: int, who: int, what: int, now: int) -> bool:
    """Enqueue a packet on a link; return whether there was room."""
    see_departures(s, link, now)
    size = size_of(what)
    queued = s.link[link, Link.QUEUED] + size
    state = s.link[link, Link.STATE]
    if state >= DOWN or queued > s.link[link, Link.LIMIT]:
        drop(s, link)
        return False
    tail = s.link[link, Link.TAIL]
    if tail - s.link[link, Link.HEAD] > s.link[link, Link.MASK]:
        grow_ring(s, link)
    slot = s.link[link, Link.BASE] + (tail & s.link[link, Link.MASK])
    depart = NEVER
    if state == UP:
        depart = max(s.link[link, Link.BUSY], now) + serial_of(s, link, what)
        s.link[link, Link.BUSY] = depart
        if s.link[link, Link.IN_HEAP] == 0:
            s.link[link, Link.IN_HEAP] = 1
            push_link(s, depart + s.link[link, Link.LATENCY], link)
    s.packet[slot, Packet.DEPART] = depart
    s.packet[slot, Packet.ARRIVE] = now
    s.packet[slot, Packet.WHO] = who
    s.packet[slot, Packet.WHAT] = what
    s.link[link, Link.TAIL] = tail + 1
    s.link[link, Link.QUEUED] = queued
    s.link[link, Link.PEAK] = max(s.link[link, Link.PEAK], queued)
    return True


@compiled
def put(s: State, link: int, who: int, what: int, now: int) -> bool:
    """Enqueue a packet on a link; return whether there was room. The same, where speed does not matter."""
    return enqueue(s, link, who, what, now)


@inlined
def take_first(s: State, link: int, slot: int, depart: int, now: int) -> int:
    """Dequeue the first packet of a link; return its WHAT, marked if the queue was long when it left.

    Source of the marking rule: the queue, the leaving packet included, is above K (DCTCP, SIGCOMM 2010), or above
    a random place between two thresholds (RED).
    """
    what = s.packet[slot, Packet.WHAT]
    size = size_of(what)
    head = s.link[link, Link.HEAD]
    if s.link[link, Link.MARK_HIGH] < NEVER:
        ahead, tail = s.link[link, Link.AHEAD], s.link[link, Link.TAIL]
        queue = s.link[link, Link.AHEAD_BYTES]
        base, mask = s.link[link, Link.BASE], s.link[link, Link.MASK]
        while ahead < tail and s.packet[base + (ahead & mask), Packet.ARRIVE] <= depart:
            queue += size_of(s.packet[base + (ahead & mask), Packet.WHAT])
            ahead += 1
        s.link[link, Link.AHEAD] = ahead
        s.link[link, Link.AHEAD_BYTES] = queue - size
        if queue > s.link[link, Link.MARK_LOW] and (what & 3) == KIND_DATA:
            low, high = s.link[link, Link.MARK_LOW], s.link[link, Link.MARK_HIGH]
            if (
                queue > high
                or uniform(s.count[Count.SEED], s.count[Count.HOPS]) * (high - low)
                < (queue - low) * s.constant[Constant.MARK_SHARE]
            ):
                what |= MARKED
                s.count[Count.MARKS] += 1
                s.link[link, Link.MARKS] += 1
    if s.link[link, Link.GONE] == head:
        s.link[link, Link.GONE] = head + 1
        s.link[link, Link.QUEUED] -= size
        if s.count[Count.PFC_OFF_BYTES] < NEVER:
            leave(s, slot, size, depart, now)
    s.link[link, Link.HEAD] = head + 1
    s.link[link, Link.PACKETS] += 1
    s.link[link, Link.BYTES] += size
    return what


@compiled
def pause_link(s: State, link: int, now: int) -> None:
    """Hold packets that the link has not begun to send."""
    if s.link[link, Link.STATE] & PAUSED != 0:
        return
    s.link[link, Link.STATE] |= PAUSED
    see_departures(s, link, now)
    base, mask = s.link[link, Link.BASE], s.link[link, Link.MASK]
    busy = now
    for i in range(s.link[link, Link.GONE], s.link[link, Link.TAIL]):
        slot = base + (i & mask)
        if s.packet[slot, Packet.DEPART] - serial_of(s, link, s.packet[slot, Packet.WHAT]) > now:
            s.packet[slot, Packet.DEPART] = NEVER
        else:
            busy = s.packet[slot, Packet.DEPART]
    s.link[link, Link.BUSY] = busy


@compiled
def resume_link(s: State, link: int, now: int) -> None:
    """Resume sending, held packets first; a link that is down stays so."""
    if s.link[link, Link.STATE] & PAUSED == 0:
        return
    s.link[link, Link.STATE] &= ~PAUSED
    if s.link[link, Link.STATE] == UP:
        _start(s, link, now)


@compiled
def repair_link(s: State, link: int, now: int) -> None:
    """Restart a link that was down, unless it has been paused meanwhile."""
    s.link[link, Link.STATE] &= ~DOWN
    if s.link[link, Link.STATE] == UP:
        _start(s, link, now)


@compiled
def _start(s: State, link: int, now: int) -> None:
    """Set the departure times of all held packets."""
    base, mask = s.link[link, Link.BASE], s.link[link, Link.MASK]
    busy = max(s.link[link, Link.BUSY], now)
    for i in range(s.link[link, Link.GONE], s.link[link, Link.TAIL]):
        slot = base + (i & mask)
        if s.packet[slot, Packet.DEPART] == NEVER:
            busy += serial_of(s, link, s.packet[slot, Packet.WHAT])
            s.packet[slot, Packet.DEPART] = busy
    s.link[link, Link.BUSY] = busy
    if s.link[link, Link.IN_HEAP] == 0 and s.link[link, Link.TAIL] > s.link[link, Link.HEAD]:
        s.link[link, Link.IN_HEAP] = 1
        first = base + (s.link[link, Link.HEAD] & mask)
        push_link(s, s.packet[first, Packet.DEPART] + s.link[link, Link.LATENCY], link)


@inlined
def uniform(seed: int, number: int) -> float:
    """Return the number-th draw from [0, 1) of a seed."""
    bits = mix(mix(np.uint64(seed)) + np.uint64(number))
    return float(bits >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@compiled
def join(s: State, came_by: int, size: int, now: int) -> None:
    """Count the packets queued in a node, and pause their incoming link above a limit."""
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
