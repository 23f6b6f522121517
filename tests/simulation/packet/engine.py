"""Small fabrics, task graphs of transfers, and the packet engine held by hand: what the tests of packets share."""

from dataclasses import dataclass, field

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.catalog import NETWORKS
from topoopt.routing import ROUTING, Fabric
from topoopt.simulation import (
    COMPUTE,
    TRANSFER,
    PacketOptions,
    SimResult,
    SimulationOptions,
    TaskGraph,
    TaskRows,
    simulate,
    task_graph_from_edges,
)
from topoopt.simulation.packet.kernel import advance, layout
from topoopt.simulation.packet.kernel.layout import State
from topoopt.simulation.packet.run import run_until, schedule_failures
from topoopt.simulation.packet.state import first_state, grown
from topoopt.simulation.packet.streams import EdgeBook, Edges, check_paths, make_streams
from topoopt.topologies import Link, Topology, topology_from_links

PACKET = 8936
PS = 1e12
GBPS = 1e9


def packet_s(bandwidth_bps: float) -> float:
    """Return the time of a data packet on the wire."""
    return PACKET * 8 / bandwidth_bps


def routed(topology: Topology) -> Fabric:
    return Fabric(topology.family, topology, ROUTING["ecmp"](topology, 0), {})


def line(hops: int, bandwidth_bps: float = 100 * GBPS, latency_s: float = 1e-6) -> Fabric:
    """Servers in a row, so no switch and no interface that never marks."""
    pairs = [(i, i + 1) for i in range(hops)]
    return routed(topology_from_links("line", hops + 1, duplex(pairs, bandwidth_bps, latency_s)))


def switch(servers: int, bandwidth_bps: float = 100 * GBPS) -> Fabric:
    return routed(NETWORKS["ideal-switch"].wire(servers, 1, bandwidth_bps))


def duplex(pairs: list[tuple[int, int]], bandwidth_bps: float, latency_s: float) -> list[Link]:
    return [Link(a, b, bandwidth_bps, latency_s) for x, y in pairs for a, b in ((x, y), (y, x))]


def dumbbell(flows: int, bandwidth_bps: float, rtt_s: float, access_factor: float = 10.0) -> Fabric:
    """Senders 0, 1, …, then as many receivers; two switches with the bottleneck between them.

    The bottleneck has 0.8 of the latency of each way, the links beside it 0.1 each.
    """
    left, right = 2 * flows, 2 * flows + 1
    outer = [(i, left) for i in range(flows)] + [(flows + i, right) for i in range(flows)]
    links = duplex(outer, access_factor * bandwidth_bps, 0.05 * rtt_s)
    links += duplex([(left, right)], bandwidth_bps, 0.4 * rtt_s)
    return routed(topology_from_links("dumbbell", 2 * flows, links, 2 * flows + 2))


def transfers(servers: int, *rows: tuple[int, int, int], start_s: tuple[float, ...] = ()) -> TaskGraph:
    """Return transfers (source, destination, bytes), at once or each at its time."""
    src, dst, size = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    delay = np.array(start_s) if start_s else 0.0
    tasks = [TaskRows(TRANSFER, len(rows), delay, src=src, dst=dst, size_bytes=size)]
    nothing = np.zeros(0, np.int64)
    return task_graph_from_edges(servers, tasks, nothing, nothing)


def after_compute(servers: int, *rows: TaskRows) -> TaskGraph:
    """Return tasks that wait for a compute task of 1 ms, as the published micro cases do."""
    count = sum(row.count for row in rows)
    first = TaskRows(COMPUTE, 1, 1e-3, server=0)
    return task_graph_from_edges(
        servers, [first, *rows], np.zeros(count, np.int64), 1 + np.arange(count, dtype=np.int64)
    )


def played(graph: TaskGraph, fabric: Fabric, seed: int = 0, **options: object) -> SimResult:
    """Simulate with packet options by name."""
    packet = PacketOptions(**options)  # type: ignore[arg-type]
    return simulate("packet", graph, fabric, SimulationOptions(seed=seed, packet=packet))


@dataclass
class Engine:
    """The engine between two events."""

    graph: TaskGraph
    fabric: Fabric
    options: SimulationOptions
    state: State = field(init=False)
    edges: Edges = field(init=False)

    def __post_init__(self) -> None:
        book = EdgeBook(self.fabric)
        streams = make_streams(self.graph, self.fabric, self.options, book)
        self.edges = book.close()
        check_paths(self.edges)
        self.state = first_state(self.graph, self.fabric.topology, streams, self.edges, self.options)
        schedule_failures(self.state, self.fabric, self.options.packet.failures)

    @property
    def most_successors(self) -> int:
        return int(np.diff(self.graph.successor_first).max(initial=0))

    def step(self, events: int = 1) -> int:
        """Serve a few events and return why the engine came back; arrays grow as in a run."""
        while True:
            why = advance(self.state, events, layout.NEVER, self.most_successors)
            if why not in (
                layout.Stop.FULL_SLOTS,
                layout.Stop.FULL_FLOWS,
                layout.Stop.FULL_TIMERS,
                layout.Stop.FULL_BOARD,
            ):
                return why
            self.state = grown(self.state, why, self.options.packet)

    def run_to(self, time_s: float) -> bool:
        """Serve all events before a time; return whether all tasks are done."""
        self.state, done = run_until(
            self.state, round(time_s * PS), self.edges, self.options.packet, self.most_successors
        )
        return done

    def link(self, src: int, dst: int) -> int:
        return self.fabric.topology.link_id(src, dst)

    @property
    def on_links(self) -> int:
        """Packets that wait at links or are on the wire."""
        rows = self.state.link
        return int((rows[:, layout.Link.TAIL] - rows[:, layout.Link.HEAD]).sum())


def engine(graph: TaskGraph, fabric: Fabric, seed: int = 0, **options: object) -> Engine:
    packet = PacketOptions(**options)  # type: ignore[arg-type]
    return Engine(graph, fabric, SimulationOptions(seed=seed, packet=packet))


@dataclass
class Trace:
    """Samples of a link and of the windows of connections.

    Attributes
    ----------
    time_s : float64 array, shape (samples,)
    waiting : float64 array, shape (samples,)
        Packets that wait for the link; the one that is being sent does not count.
    window : float64 array, shape (samples, flows, WINDOW_FIELDS)
    share : float64 array, shape (flows,)
        Of each connection, in what receivers got.
    utilization : float
    """

    time_s: Floats
    waiting: Floats
    window: Floats
    share: Floats
    utilization: float

    def cuts(self, flow: int = 0) -> Ints:
        """Return the samples after which the congestion window was smaller by more than an eighth."""
        cwnd = self.window[:, flow, layout.Window.CWND]
        return np.flatnonzero(cwnd[1:] < 0.875 * cwnd[:-1])


def watched(run: Engine, link: int, flows: int, from_s: float, until_s: float, step_s: float) -> Trace:
    """Run to a time, and note what is to be seen from another time on; connections must be open all the while."""
    run.run_to(from_s)
    received = run.state.flow[:flows, layout.Flow.ARRIVED].copy()
    carried = int(run.state.link[link, layout.Link.BYTES])
    times: Floats = np.arange(1, round((until_s - from_s) / step_s) + 1) * np.float64(step_s) + from_s
    waiting, windows = [], []
    for time_s in times.tolist():
        assert not run.run_to(time_s)
        waiting.append(_waiting(run.state, link, round(time_s * PS)))
        windows.append(run.state.window[:flows].copy())
    received = run.state.flow[:flows, layout.Flow.ARRIVED] - received
    carried = int(run.state.link[link, layout.Link.BYTES]) - carried
    rate = PACKET * PS / run.state.link[link, layout.Link.SERIAL]
    return Trace(
        times,
        np.array(waiting, np.float64),
        np.array(windows),
        received / received.sum(),
        carried / rate / (times[-1] - from_s),
    )


def _waiting(state: State, link: int, now_ps: int) -> int:
    row = state.link[link]
    places = row[layout.Link.BASE] + (
        np.arange(row[layout.Link.HEAD], row[layout.Link.TAIL]) & row[layout.Link.MASK]
    )
    depart = state.packet[places, layout.Packet.DEPART]
    return max(int((depart >= now_ps).sum()) - 1, 0)
