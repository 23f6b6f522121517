"""The event loop: advances the state until something needs the caller, and holds everything while links change.

Where circuits change or links fail, everything is held, then links get new transmission times and packets new routes.
Routes are looked up hop by hop, for they change in transit. Packets that wait for a removed circuit look up
their route anew.
"""

from pathlib import Path

from topoopt.base.kernel import compiled, entry, spliced, stamp, stamped
from topoopt.simulation.packet.kernel.connections import arrived, arrived_open, open_connection, retransmit
from topoopt.simulation.packet.kernel.flows import packet_lost, slots_needed, timers_needed
from topoopt.simulation.packet.kernel.heaps import (
    drop_top_link,
    drop_top_timer,
    remove_link,
    replace_top_link,
)
from topoopt.simulation.packet.kernel.layout import (
    DOWN,
    HOLD_ALL,
    KIND_OPEN,
    KIND_SHIFT,
    NEVER,
    Count,
    Link,
    Packet,
    State,
    Stop,
    Stream,
    Timer,
)
from topoopt.simulation.packet.kernel.links import (
    drop,
    enqueue,
    join,
    leave,
    pause_link,
    put,
    repair_link,
    resume_link,
    see_departures,
    size_of,
    take_first,
)
from topoopt.simulation.packet.kernel.sending import end_of, next_link, pace, wake, woken
from topoopt.simulation.packet.kernel.tasks import begin, begin_streams, end_compute, start_device

STAMP = stamp(Path(__file__).parent.glob("*.py"))
"""Stamp of the whole engine, which is compiled into this file's one function."""


@entry
@stamped(STAMP)
def advance(s: State, events: int, until: int, most_successors: int) -> int:
    """Serve up to ``events`` events before the time ``until`` and return why it stopped.

    Among simultaneous events, connections to open come first, then packets, then timers.
    """
    end = s.count[Count.EVENTS] + events
    tasks = len(s.task)
    if s.count[Count.BEGUN] == 0:
        begin(s)
    if s.count[Count.COMMAND] > 0:
        obey(s)
    while True:
        if slots_needed(s.count) > len(s.packet):
            return Stop.FULL_SLOTS
        if s.count[Count.TIMER_SIZE] + timers_needed(s.count, most_successors) > len(s.timer):
            return Stop.FULL_TIMERS
        if s.count[Count.EVENTS] >= end:
            return Stop.SLICE_OVER
        head = s.count[Count.STARTING_HEAD]
        if head != s.count[Count.STARTING_TAIL]:
            if s.count[Count.FREE_FLOW] < 0 and s.count[Count.FLOWS_USED] == len(s.flow):
                return Stop.FULL_FLOWS
            if (
                s.count[Count.LOSSY] == 1
                and s.count[Count.GO_BACK_N] == 0
                and s.count[Count.BOARD_USED] + s.count[Count.LARGEST_BOARD] > len(s.board)
            ):
                return Stop.FULL_BOARD
            stream = s.starting[head]
            open_connection(s, stream, s.count[Count.NOW])
            if s.stream[stream, Stream.CURSOR] == s.stream[stream, Stream.EDGES]:
                s.count[Count.STARTING_HEAD] = head + 1 if head + 1 < len(s.starting) else 0
            s.count[Count.EVENTS] += 1
            continue
        if s.count[Count.TASKS_DONE] == tasks:
            return Stop.FINISHED
        packet_at = s.due[0] if s.count[Count.HEAP_SIZE] > 0 else NEVER
        timer_at = s.timer[0] if s.count[Count.TIMER_SIZE] > 0 else NEVER
        now = min(packet_at, timer_at)
        if now >= until:
            return Stop.DRAINED if now == NEVER else Stop.TIME_REACHED
        if packet_at <= timer_at:
            link = s.due_link[0]
            depart = s.packet[
                s.link[link, Link.BASE] + (s.link[link, Link.HEAD] & s.link[link, Link.MASK]), Packet.DEPART
            ]
            if s.link[link, Link.HEAD] == s.link[link, Link.TAIL] or depart == NEVER:
                s.link[link, Link.IN_HEAP] = 0
                drop_top_link(s)
            elif depart + s.link[link, Link.LATENCY] > now:  # it was held up since
                replace_top_link(s, depart + s.link[link, Link.LATENCY], link, s.count[Count.HEAP_SIZE])
            else:
                s.count[Count.NOW] = now
                s.count[Count.EVENTS] += 1
                move_first_packet(s, link, depart, now)
            continue
        code = s.timer_code[0]
        drop_top_timer(s)
        s.count[Count.NOW] = now
        s.count[Count.EVENTS] += 1
        serve_timer(s, code >> KIND_SHIFT, code & ((1 << KIND_SHIFT) - 1), now)
        if s.count[Count.STUCK_FLOW] >= 0:
            return Stop.STUCK


@spliced
def move_first_packet(s: State, link: int, depart: int, now: int) -> None:
    """Deliver the first packet of a link to its far end: it joins the next link, or has arrived."""
    slot = s.link[link, Link.BASE] + (s.link[link, Link.HEAD] & s.link[link, Link.MASK])
    who = s.packet[slot, Packet.WHO]
    what = take_first(s, link, slot, depart, now)
    s.count[Count.HOPS] += 1
    if s.link[link, Link.HEAD] < s.link[link, Link.TAIL]:
        after = s.packet[
            s.link[link, Link.BASE] + (s.link[link, Link.HEAD] & s.link[link, Link.MASK]), Packet.DEPART
        ]
        if after == NEVER:
            s.link[link, Link.IN_HEAP] = 0
            drop_top_link(s)
        else:
            replace_top_link(s, after + s.link[link, Link.LATENCY], link, s.count[Count.HEAP_SIZE])
    else:
        s.link[link, Link.IN_HEAP] = 0
        drop_top_link(s)
    flow, place = who >> 32, who & 0xFFFFFFFF
    if s.count[Count.HOPWISE] == 0:
        onward = s.path_link[place + 1]
        who += 1
    elif s.link[link, Link.DST] == end_of(s, flow, what):
        onward = -1
    else:
        onward = next_link(s, s.link[link, Link.DST], flow, what)
        who = (flow << 32) | onward
    if onward < 0:
        arrive(s, flow, what, now)
    elif not enqueue(s, onward, who, what, now):
        packet_lost(s, flow)
    elif s.count[Count.PFC_OFF_BYTES] < NEVER:
        join(s, link, size_of(what), now)


@spliced
def arrive(s: State, flow: int, what: int, now: int) -> None:
    """Handle the arrival of a packet at its destination."""
    s.count[Count.DELIVERED] += 1
    if (what & 3) == KIND_OPEN:
        arrived_open(s, flow, now)
    else:
        arrived(s, flow, what, now)


@spliced
def serve_timer(s: State, kind: int, index: int, now: int) -> None:
    """Serve any event but the arrival of a packet."""
    if kind == Timer.COMPUTE_END:
        end_compute(s, index, now)
    elif kind == Timer.DELAY_END:
        begin_streams(s, index, now)
    elif kind == Timer.DEVICE_START:
        start_device(s, index, now)
    elif kind == Timer.RETRANSMIT:
        retransmit(s, index, now)
    elif kind == Timer.PACE:
        pace(s, index, now)
    elif kind == Timer.PAUSE:
        pause_link(s, index, now)
    elif kind == Timer.RESUME:
        resume_link(s, index, now)
        wake(s, index, now)
    elif kind == Timer.LINK_CHANGE_UP:
        repair_link(s, index, now)
        wake(s, index, now)
    elif kind == Timer.ROOM:
        woken(s, index, now)
    elif kind == Timer.LINK_CHANGE_DOWN:
        link_down(s, index, now)


@spliced
def obey(s: State) -> None:
    """Apply the caller's requests since the last slice."""
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
    """Move waiting packets to the queues of their new paths, and start the new circuits."""
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
    """Move the packets waiting at a link to the queues of their present paths, possibly the same."""
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
