"""The noun PacketStatistics: what the packet simulator counts."""

from dataclasses import dataclass

from topoopt.base.arrays import Ints


@dataclass(frozen=True, eq=False)
class PacketStatistics:
    """Counts of one run.

    Attributes
    ----------
    connections : int
        Opened and closed.
    packets : int
        Sent by servers, those that open connections and acknowledgments included; of them ``delivered`` arrived
        and ``drops`` were lost.
    packet_hops : int
        Packets times links crossed.
    events : int
        What the engine served: arrivals at the end of a link, and timers.
    marks, drops, timeouts, resent, pauses : int
        Packets marked, lost and sent again; retransmission timeouts; pauses by priority flow control.
    peak_memory_bytes : int
        Of the engine's arrays.
    task_marks : int64 array, shape (tasks,)
        Packets of each task that arrived with a mark; one that several queues have marked counts once.
    link_packets, link_wire_bytes, link_marks, link_drops, link_queue_peak_bytes : int64 arrays, shape (links,)
        A queue's peak includes the packet that is being sent.
    """

    connections: int
    packets: int
    delivered: int
    packet_hops: int
    events: int
    marks: int
    drops: int
    timeouts: int
    resent: int
    pauses: int
    peak_memory_bytes: int
    task_marks: Ints
    link_packets: Ints
    link_wire_bytes: Ints
    link_marks: Ints
    link_drops: Ints
    link_queue_peak_bytes: Ints
