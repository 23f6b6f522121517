"""Senders that pace their packets, and take turns at their link.

A packet is sent when the transport lets it go *and* the link has room: two packets of its own server at a time, one
on the wire and one behind it, for a network interface holds no more. Others wait in turn, in a list of the link.
What other servers have sent is no matter here: where servers forward, both kinds share the queue.
"""

from topoopt.base.kernel import compiled, spliced
from topoopt.simulation.packet.kernel.flows import free_if_done
from topoopt.simulation.packet.kernel.heaps import push_timer
from topoopt.simulation.packet.kernel.layout import (
    KIND_DATA,
    KIND_SHIFT,
    NEVER,
    OPEN,
    PACE_IDLE,
    PACE_WAITING,
    Count,
    Flow,
    Link,
    Packet,
    State,
    Timer,
)
from topoopt.simulation.packet.kernel.links import see_departures
from topoopt.simulation.packet.kernel.sending import draw_place, first_link, has_more, send_one
from topoopt.simulation.packet.kernel.transports import sent, wait_ps


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
    """Let those go on that wait for room at a link, and look again when there will be more."""
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
