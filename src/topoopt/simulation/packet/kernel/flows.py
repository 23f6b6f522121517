"""Rows of open connections: their release, and the records kept of them."""

from topoopt.base.arrays import Ints
from topoopt.base.kernel import compiled, inlined, shared
from topoopt.simulation.packet.kernel.layout import CLOSED, FREE, PACE_WAITING, Count, Flow, Log, State

SPARE_SLOTS = 2048
"""Slots for the ring buffers of the at most 256 packets that an event may send."""
SPARE_TIMERS = 64


@inlined
def free_if_done(s: State, flow: int) -> None:
    """Free the row when everything has arrived, nothing is in flight, and no queue of senders refers to it."""
    row = s.flow[flow]
    if row[Flow.STATE] == CLOSED and row[Flow.LIVE] == 0 and row[Flow.PACE] != PACE_WAITING:
        row[Flow.STATE] = FREE
        row[Flow.NEXT] = s.count[Count.FREE_FLOW]
        s.count[Count.FREE_FLOW] = flow
        s.count[Count.OPEN_FLOWS] -= 1


@compiled
def packet_lost(s: State, flow: int) -> None:
    """Record that the network has dropped a packet of the flow; the ends detect it by the gap."""
    s.flow[flow, Flow.LIVE] -= 1
    free_if_done(s, flow)


@compiled
def log_connection(s: State, flow: int, now: int) -> None:
    """Store a row for an ended connection, if there is room for any."""
    place = s.count[Count.LOGGED]
    if place >= len(s.log):
        return
    s.count[Count.LOGGED] = place + 1
    row, line = s.flow[flow], s.log[place]
    line[Log.STREAM] = row[Flow.STREAM]
    line[Log.PAIR] = row[Flow.PAIR]
    line[Log.START] = row[Flow.STARTED]
    line[Log.FINISH] = now
    line[Log.PACKETS] = row[Flow.PACKETS]
    line[Log.MARKS] = row[Flow.MARKS]
    line[Log.RESENT] = row[Flow.RESENT]
    line[Log.PATH] = row[Flow.PATH]


@shared
def slots_needed(count: Ints) -> int:
    """Return the slots in use and those of the rings that an event may double: of one link, or of a few if sprayed.

    One more is for an acknowledgment.
    """
    spread = count[Count.SPREAD]
    return count[Count.SLOTS_USED] + 2 * (spread + 1) * count[Count.LARGEST_RING] + 64 * spread + SPARE_SLOTS


@shared
def timers_needed(count: Ints, most_successors: int) -> int:
    """Return the timers that an event may set: of tasks it releases, links it resumes, senders it wakes."""
    return (
        most_successors
        + count[Count.MORE_TIMERS]
        + count[Count.PACED] * count[Count.OPEN_FLOWS]
        + SPARE_TIMERS
    )
