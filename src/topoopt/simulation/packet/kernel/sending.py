"""Sending: which packet leaves a server next and onto which link, window by window or paced.

A packet is sent when the transport lets it go *and* the link has room: two packets of its own server at a time, one
on the wire and one behind it, for a network interface holds no more. Others wait in turn, in a list of the link.
Packets from other servers do not matter here: where servers forward, both kinds share the queue.
"""

from topoopt.base.kernel import compiled, inlined, spliced
from topoopt.simulation.packet.kernel.flows import free_if_done
from topoopt.simulation.packet.kernel.heaps import push_timer
from topoopt.simulation.packet.kernel.layout import (
    AGAIN,
    KIND_ACK,
    KIND_DATA,
    KIND_SHIFT,
    NEVER,
    OPEN,
    PACE_IDLE,
    PACE_WAITING,
    Count,
    Fate,
    Flow,
    Link,
    Packet,
    State,
    Timer,
    Window,
)
from topoopt.simulation.packet.kernel.links import enqueue, see_departures, uniform
from topoopt.simulation.packet.kernel.recovery import wait_for_news
from topoopt.simulation.packet.kernel.transports import sent, wait_ps

BURST = 256
"""Packets that one acknowledgment may release."""


@spliced
def pace(s: State, flow: int, now: int) -> None:
    """Handle the flow's own timer."""
    row = s.flow[flow]
    if row[Flow.PACE] == now and row[Flow.STATE] == OPEN:
        row[Flow.PACE] = PACE_IDLE
        go_on_pacing(s, flow, now)


@compiled
def go_on_pacing(s: State, flow: int, now: int) -> None:
    """Send the next packet of an idle flow, or wait until it may."""
    if not has_more(s, flow):
        return
    wait = wait_ps(s, flow, now)
    if wait > 0:
        _set_timer(s, flow, now + wait)
        return
    if s.count[Count.SPRAY] == 1:
        draw_place(s, flow)
    link = first_link(s, flow, KIND_DATA)
    if s.link[link, Link.WAIT_HEAD] < 0 and _has_room(s, link, now):
        _send_now(s, flow, link, now)
    else:
        _stand_in_line(s, flow, link, now)


@compiled
def wake(s: State, link: int, now: int) -> None:
    """Resume senders that wait for room at a link, and check again when there will be more."""
    while s.link[link, Link.WAIT_HEAD] >= 0 and _has_room(s, link, now):
        flow = s.link[link, Link.WAIT_HEAD]
        row = s.flow[flow]
        s.link[link, Link.WAIT_HEAD] = row[Flow.NEXT]
        row[Flow.PACE] = PACE_IDLE
        if row[Flow.STATE] != OPEN or not has_more(s, flow):
            free_if_done(s, flow)
        elif first_link(s, flow, KIND_DATA) == link:
            _send_now(s, flow, link, now)
        else:  # it has another way since
            go_on_pacing(s, flow, now)
    _look_again(s, link, now)


@spliced
def woken(s: State, link: int, now: int) -> None:
    """Handle the link's timer."""
    if s.link[link, Link.WAKE_AT] == now:
        s.link[link, Link.WAKE_AT] = -1
        wake(s, link, now)


@compiled
def _has_room(s: State, link: int, now: int) -> bool:
    """Return whether the packet before its server's last has left the queue, or is lost."""
    see_departures(s, link, now)
    before = s.link[link, Link.LAST_BUT_ONE]
    return before < s.link[link, Link.GONE] or before >= s.link[link, Link.TAIL]


@compiled
def _send_now(s: State, flow: int, link: int, now: int) -> None:
    tail = s.link[link, Link.TAIL]
    send_one(s, flow, now)
    if s.link[link, Link.TAIL] > tail:
        s.link[link, Link.LAST_BUT_ONE] = s.link[link, Link.LAST]
        s.link[link, Link.LAST] = tail
    sent(s, flow, s.link[link, Link.SERIAL], now)
    if has_more(s, flow):
        _set_timer(s, flow, now + max(wait_ps(s, flow, now), 1))


@compiled
def _set_timer(s: State, flow: int, when: int) -> None:
    s.flow[flow, Flow.PACE] = when
    push_timer(s, when, (Timer.PACE << KIND_SHIFT) | flow)


@compiled
def _stand_in_line(s: State, flow: int, link: int, now: int) -> None:
    """Wait behind the others that wait for a link."""
    s.flow[flow, Flow.PACE] = PACE_WAITING
    s.flow[flow, Flow.NEXT] = -1
    if s.link[link, Link.WAIT_HEAD] < 0:
        s.link[link, Link.WAIT_HEAD] = flow
    else:
        s.flow[s.link[link, Link.WAIT_TAIL], Flow.NEXT] = flow
    s.link[link, Link.WAIT_TAIL] = flow
    _look_again(s, link, now)


@compiled
def _look_again(s: State, link: int, now: int) -> None:
    """Set a timer for the next room at a link, if any flow waits and the time is known."""
    if s.link[link, Link.WAIT_HEAD] < 0 or s.link[link, Link.WAKE_AT] >= 0:
        return
    when = now
    if not _has_room(s, link, now):
        when = s.packet[
            s.link[link, Link.BASE] + (s.link[link, Link.LAST_BUT_ONE] & s.link[link, Link.MASK]),
            Packet.DEPART,
        ]
    if when < NEVER:
        s.link[link, Link.WAKE_AT] = when
        push_timer(s, when, (Timer.ROOM << KIND_SHIFT) | link)


@inlined
def drawn_path(s: State, pair: int, number: int) -> int:
    """Return the path that the number-th connection (or sprayed packet) takes."""
    first, last = s.pair_first[pair], s.pair_first[pair + 1] - 1
    if first == last:
        return first
    place = uniform(s.count[Count.SEED], number)
    while first < last and s.path_cumulative[first] <= place:
        first += 1
    return first


@compiled
def draw_place(s: State, flow: int) -> None:
    """Draw the path of the next packet, where each packet takes its own."""
    s.flow[flow, Flow.PLACE] = s.path_start[drawn_path(s, s.flow[flow, Flow.PAIR], s.count[Count.SENT])]


@inlined
def first_link(s: State, flow: int, what: int) -> int:
    """Return the link by which the next packet leaves."""
    if s.count[Count.HOPWISE] == 1:
        return next_link(s, start_of(s, flow, what), flow, what)
    return s.path_link[s.flow[flow, Flow.PLACE]]


@inlined
def launch(s: State, flow: int, what: int, now: int) -> None:
    """Enqueue a packet on the first link of the flow's path."""
    row = s.flow[flow]
    link = first_link(s, flow, what)
    place = link if s.count[Count.HOPWISE] == 1 else row[Flow.PLACE]
    s.count[Count.SENT] += 1
    row[Flow.LIVE] += 1
    if not enqueue(s, link, (flow << 32) | place, what, now):
        row[Flow.LIVE] -= 1


@compiled
def launch_one(s: State, flow: int, what: int, now: int) -> None:
    """Enqueue a packet on the first link of the flow's path, and record when it will have left the server."""
    launch(s, flow, what, now)
    s.flow[flow, Flow.LEAVES] = s.link[first_link(s, flow, what), Link.BUSY]


@inlined
def has_more(s: State, flow: int) -> bool:
    """Return whether anything is left to send, lost packets included."""
    return s.flow[flow, Flow.LOST] + s.flow[flow, Flow.PACKETS] > s.flow[flow, Flow.SENT]


@inlined
def send(s: State, flow: int, now: int) -> None:
    """Send as far as the window allows, lost packets first."""
    row = s.flow[flow]
    room = min(int(s.window[flow, Window.CWND]) - row[Flow.PIPE], BURST)
    if room <= 0:
        return
    if s.count[Count.LOSSY] == 1:
        while room > 0 and has_more(s, flow):
            if s.count[Count.SPRAY] == 1:
                draw_place(s, flow)
            send_one(s, flow, now)
            room -= 1
        return
    room = min(room, row[Flow.PACKETS] - row[Flow.SENT])
    if row[Flow.TIMED] < 0:
        row[Flow.TIMED] = row[Flow.SENT]
        row[Flow.TIMED_AT] = now
    for _ in range(room):
        what = row[Flow.SENT] << 3
        row[Flow.SENT] += 1
        row[Flow.PIPE] += 1
        if s.count[Count.SPRAY] == 1:
            draw_place(s, flow)
        launch(s, flow, what, now)


@compiled
def send_one(s: State, flow: int, now: int) -> None:
    """Send the first lost packet, or the next new one."""
    row = s.flow[flow]
    if row[Flow.PIPE] == 0 and s.count[Count.LOSSY] == 1:
        wait_for_news(s, flow, now)
    if row[Flow.LOST] > 0:
        sequence = row[Flow.LOST_FROM]
        while s.board[row[Flow.BOARD] + sequence] != Fate.MISSING:
            sequence += 1
        row[Flow.LOST_FROM] = sequence + 1
        row[Flow.LOST] -= 1
    else:
        sequence = row[Flow.SENT]
        row[Flow.SENT] += 1
    again = sequence < row[Flow.FURTHEST]
    if again:
        row[Flow.RESENT] += 1
        s.count[Count.RESENT] += 1
    row[Flow.FURTHEST] = max(row[Flow.FURTHEST], sequence + 1)
    if row[Flow.TIMED] < 0 or row[Flow.TIMED] == sequence:
        row[Flow.TIMED] = sequence
        row[Flow.TIMED_AT] = now
        row[Flow.TIMED_AGAIN] = again
    if s.count[Count.LOSSY] == 1 and s.count[Count.GO_BACK_N] == 0:
        s.board[row[Flow.BOARD] + sequence] = Fate.FLYING_AGAIN if again else Fate.FLYING
    row[Flow.PIPE] += 1
    launch_one(s, flow, (sequence << 3) | (AGAIN if again else 0), now)


@inlined
def start_of(s: State, flow: int, what: int) -> int:
    """Return the server that sends a packet of a flow."""
    return s.flow[flow, Flow.DST] if (what & 3) >= KIND_ACK else s.flow[flow, Flow.SRC]


@inlined
def end_of(s: State, flow: int, what: int) -> int:
    """Return the server to which a packet of a flow goes."""
    return s.flow[flow, Flow.SRC] if (what & 3) >= KIND_ACK else s.flow[flow, Flow.DST]


@inlined
def next_link(s: State, node: int, flow: int, what: int) -> int:
    """Return the link that a packet takes from a server, drawn once for a connection and server."""
    servers = s.count[Count.SERVERS]
    row = node * servers + end_of(s, flow, what)
    first = s.hop_first[row]
    choices = s.hop_first[row + 1] - first
    if choices == 1:
        return s.hop_link[first]
    place = uniform(s.count[Count.SEED], s.flow[flow, Flow.CONNECTION] * servers + node)
    return s.hop_link[first + int(place * choices)]
