"""A packet simulator that is slow and plain: the rules of the packet engine, written down a second time.

All events are in one heap, two for every packet and hop: it has left a link's queue, it is at the link's far end.
Time is in whole picoseconds. :mod:`plain_tasks` plays task graphs on it. Nothing is shared with the engine but
the number that a connection draws to choose its path.

Where events of different connections meet in one queue in the same picosecond, their order is anybody's choice:
such ties are counted. For transports that can lose packets there is no recovery here: a run ends when a receiver
first misses a packet.
"""

import heapq
import itertools
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from topoopt.routing import Fabric, Path, connection_uniform

PACKET, SYN = 8936, 1
FIRST_WINDOW, SSTHRESH, GAIN, MARK_PACKETS = 100.0, 10_000.0, 1 / 16, 50
PS = 1e12
Act = Callable[[], None]


@dataclass
class Window:
    """DCTCP's congestion window, in packets."""

    size: float = FIRST_WINDOW
    ssthresh: float = SSTHRESH
    alpha: float = 0.0
    ends_after: float = FIRST_WINDOW
    acknowledged: int = 0
    marked: int = 0
    least: float = FIRST_WINDOW
    greatest: float = FIRST_WINDOW

    def acknowledge(self, mark: bool) -> None:
        """Change for one acknowledgment: what marks ask for, and then growth."""
        self.acknowledged += 1
        if mark:
            self.marked += 1
            self.ssthresh = min(self.ssthresh, self.size)  # ends slow start
        if self.acknowledged >= self.ends_after:
            self.end()
        if self.size < self.ssthresh:
            self.size = min(self.size + 1, self.ssthresh)
        else:
            self.size += 1 / self.size
        self.greatest = max(self.greatest, self.size)

    def end(self) -> None:
        """As many packets have been acknowledged as the window held when it began."""
        self.alpha = (1 - GAIN) * self.alpha + GAIN * self.marked / self.acknowledged
        if self.alpha > 0:
            self.size = max(1.0, self.size * (1 - self.alpha / 2))
            self.ssthresh = self.size
        self.least = min(self.least, self.size)
        self.ends_after, self.acknowledged, self.marked = self.size, 0, 0


@dataclass(eq=False)
class Link:
    """A first-in first-out queue, the wire behind it, and what they count."""

    byte_ps: float
    latency_ps: int
    mark_bytes: float
    room_bytes: float
    queue: deque["Packet"] = field(default_factory=deque)
    waiting_bytes: int = 0
    packets: int = 0
    wire_bytes: int = 0
    marks: int = 0
    drops: int = 0
    peak_bytes: int = 0
    last_in: tuple[int, "Connection | None"] = (-1, None)
    last_out: int = -1


@dataclass(eq=False)
class Connection:
    """Packets of one transfer on one path."""

    task: int
    path: list[Link]
    size_bytes: int
    packets: int
    start: int
    done: Act
    sent: int = 0
    acked: int = 0
    marked: int = 0
    finish: int = -1
    window: Window = field(default_factory=Window)


@dataclass(eq=False)
class Packet:
    """A packet on its way: on link ``hop`` of its connection's path."""

    connection: Connection
    number: int
    hop: int = 0
    marked: bool = False

    @property
    def size(self) -> int:
        """Bytes; number 0 opens the connection."""
        return PACKET if self.number else SYN


class Network:
    """Links, connections, and a clock.

    ``line_rate`` sends at the first link's rate without a window. Finite room is for such a run, or one that is
    left alone once ``lost_at`` is known.
    """

    def __init__(
        self,
        fabric: Fabric,
        seed: int = 0,
        mark_packets: int = MARK_PACKETS,
        buffer_packets: int | None = None,
        line_rate: bool = False,
    ) -> None:
        self.fabric, self.seed, self.line_rate = fabric, seed, line_rate
        self.now, self.lost_at = 0, -1
        self.events: list[tuple[int, int, Act]] = []
        self.number = itertools.count()
        self.connections: list[Connection] = []
        self.ties: Counter[str] = Counter()
        self.links: dict[tuple[int, int], Link] = {}
        mark = float("inf") if line_rate else mark_packets * PACKET
        room = float("inf") if buffer_packets is None else buffer_packets * PACKET
        servers = fabric.topology.servers
        for link in fabric.topology:
            own = link.src < servers <= link.dst  # a server's interface: without marks or limit
            self.links[link.src, link.dst] = Link(
                8 * PS / link.bandwidth_bps,
                round(link.latency_s * PS),
                float("inf") if own else mark,
                float("inf") if own else room,
            )

    def at(self, time: int, happen: Act) -> None:
        heapq.heappush(self.events, (time, next(self.number), happen))

    def run(self) -> None:
        while self.events and self.lost_at < 0:
            self.now, _, happen = heapq.heappop(self.events)
            happen()

    def connect(
        self, task: int, src: int, dst: int, size_bytes: int, done: Act, nodes: tuple[int, ...] = ()
    ) -> None:
        """Open a connection along the nodes given, or on one of its pair's paths."""
        nodes = nodes or self.draw(self.fabric.routes.paths(src, dst))
        path = [self.links[hop] for hop in itertools.pairwise(nodes)]
        packets = max(1, -(-(max(size_bytes, PACKET) - 1) // PACKET))
        self.connections.append(Connection(task, path, size_bytes, packets, self.now, done))
        self.arrive(Packet(self.connections[-1], 0))

    def draw(self, paths: tuple[Path, ...]) -> tuple[int, ...]:
        """Return the path of the next connection: the first whose running sum of weights is above its number."""
        u = float(connection_uniform(self.seed, np.array([len(self.connections)]))[0])
        total = itertools.accumulate(path.weight for path in paths)
        return next(
            (path.nodes for path, sum_ in zip(paths, total, strict=True) if sum_ > u), paths[-1].nodes
        )

    def send(self, connection: Connection) -> None:
        """Send one packet at the pace of the first link, or all that the window allows."""
        allowed = connection.sent + 1 if self.line_rate else connection.acked + int(connection.window.size)
        while connection.sent < min(connection.packets, allowed):
            connection.sent += 1
            self.arrive(Packet(connection, connection.sent))
        if self.line_rate and connection.sent < connection.packets:
            self.at(self.now + round(PACKET * connection.path[0].byte_ps), lambda: self.send(connection))

    def received(self, packet: Packet) -> None:
        """The destination has a packet, and the source knows at once."""
        connection = packet.connection
        if packet.number == 0:
            self.send(connection)
            return
        if packet.number != connection.acked + 1:
            self.lost_at = self.now
            return
        connection.acked += 1
        connection.marked += packet.marked
        connection.window.acknowledge(packet.marked)
        if connection.acked == connection.packets:
            connection.finish = self.now
            connection.done()
        elif not self.line_rate:
            self.send(connection)

    def arrive(self, packet: Packet) -> None:
        """A packet comes to the queue of its next link, or to its destination."""
        if packet.hop == len(packet.connection.path):
            self.received(packet)
            return
        link = packet.connection.path[packet.hop]
        self.notice_ties(link, packet)
        if link.waiting_bytes + packet.size > link.room_bytes:
            link.drops += 1
            return
        link.queue.append(packet)
        link.waiting_bytes += packet.size
        link.peak_bytes = max(link.peak_bytes, link.waiting_bytes)
        if len(link.queue) == 1:
            self.serve(link)

    def serve(self, link: Link) -> None:
        self.at(self.now + round(link.queue[0].size * link.byte_ps), lambda: self.leave(link))

    def leave(self, link: Link) -> None:
        """A packet leaves its queue, and is marked if that is too long, itself included."""
        packet = link.queue.popleft()
        if link.waiting_bytes > link.mark_bytes and packet.number:  # what opens a connection is not marked
            packet.marked = True
            link.marks += 1
        link.waiting_bytes -= packet.size
        link.packets += 1
        link.wire_bytes += packet.size
        self.ties["served"] += link.last_in[0] == self.now
        link.last_out = self.now
        packet.hop += 1
        self.at(self.now + link.latency_ps, lambda: self.arrive(packet))
        if link.queue:
            self.serve(link)

    def notice_ties(self, link: Link, packet: Packet) -> None:
        """Count what meets here; connections that open at one time do so in order of tasks, which is known."""
        time, connection = link.last_in
        if time == self.now and connection is not packet.connection:
            opening = packet.number == packet.hop == 0
            self.ties["opened" if opening else "arrived"] += 1
        self.ties["served"] += link.last_out == self.now
        link.last_in = (self.now, packet.connection)
