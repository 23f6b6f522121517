"""The flow simulator on a reconfigurable fabric: stretches of max-min sharing, and changes of circuits between.

A ring AllReduce is rounds of one connection a member, each along the routes of its pair and with a barrier after
each round; a transfer is a round of one. At a change nothing moves for a while, then all bytes left go on over
the new circuits. Bytes in flight when a change begins arrive. Connections open even while their pair waits for
a circuit, so that they can send as soon as it is there.
"""

import dataclasses
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from topoopt.base.arrays import Floats, Ints, owners, pointer
from topoopt.base.errors import InvalidInput
from topoopt.collectives import occupancy_bytes
from topoopt.finder import demand_circuits, reached, rewired
from topoopt.routing import Fabric, pair_links
from topoopt.simulation.analytic.simulator import compute_finish_s
from topoopt.simulation.analytic.task_run import DONE
from topoopt.simulation.flows.link_classes import laid, sum_by, whole_hops
from topoopt.simulation.fluid.engine import first_state
from topoopt.simulation.fluid.engine_kernel import advance, bytes_left
from topoopt.simulation.fluid.state import Delays, Links, State, make_links, make_rounds, make_sharing
from topoopt.simulation.options import COARSE_TOLERANCE, EXACT_CONNECTIONS, Report, SimulationOptions
from topoopt.simulation.packet.options import PacketOptions
from topoopt.simulation.packet.streams import EdgeBook, Streams, check_progress, make_streams
from topoopt.simulation.result import SimResult
from topoopt.simulation.task_graph import ALL_TO_ALL, TRANSFER, TaskGraph

Bools = np.ndarray[tuple[int], np.dtype[np.bool_]]


@dataclass(frozen=True, eq=False)
class Connections:
    """Streams of rounds, and the ordered pair of each of their edges.

    Attributes
    ----------
    edge_pair : int64 array, shape (edges,)
        Row of its pair; stream s has the edges ``edge_first[s] : edge_first[s+1]``.
    edge_first : int64 array, shape (streams+1,)
    src, dst : int64 arrays, shape (pairs,)
    payload_share : float64 array, shape (pairs,)
        Payload over the bytes of whole packets.
    payload_bytes : float64 array, shape (pairs,)
    transfers : bool array, shape (pairs,)
        Whether a pair has more to do than to be neighbors in a ring.
    apart : bool array, shape (pairs,)
        Whether it is a row of tasks whose pairs have rows of their own.
    """

    streams: Streams
    edge_pair: Ints
    edge_first: Ints
    src: Ints
    dst: Ints
    payload_share: Floats
    payload_bytes: Floats
    transfers: Bools
    apart: Bools


class Network(NamedTuple):
    """Links and delays of each pair.

    ``link_first`` (pairs+1,) points into ``link`` and ``coefficient``, the links of a pair and its bytes on each
    per byte sent; none while a pair waits. ``capacity`` (links,) is in bytes/s, ``before`` and ``after`` (pairs,)
    are the s between opening and the first byte, and between the last byte and the end.
    """

    link_first: Ints
    link: Ints
    coefficient: Floats
    capacity: Floats
    before: Floats
    after: Floats

    def links(self) -> Links:
        """Return the links as the engine shares them; a class is a pair."""
        return make_links(self.link_first, self.link, self.coefficient, self.capacity, afresh=True)

    def delays(self, pair: Ints) -> Delays:
        """Return the delays of connections of these pairs."""
        return Delays(self.before[pair], self.after[pair])


@dataclass(eq=False)
class Stretches:
    """Connections over a sequence of networks, which have the same links and paths of fewer than ``hops`` links.

    Attributes
    ----------
    left_bytes : float64 array, shape (pairs,)
        Bytes left to send on open connections at the end of the last stretch.
    link_bytes : float64 array, shape (links,)
        Payload on each link, or on all circuits of a pair of servers: whatever ``end`` counts as one.
    hop_bytes : float64 array, shape (hops,)
        Payload by the links that it crossed.
    """

    connections: Connections
    state: State
    tolerance: float
    net: Network
    links: int
    hops: int
    left_bytes: Floats = field(init=False)
    link_bytes: Floats = field(init=False)
    hop_bytes: Floats = field(init=False)
    _shared: Links = field(init=False)
    _delays: Delays = field(init=False)
    _sent: Floats = field(init=False)
    _hops_sent: Floats = field(init=False)

    def __post_init__(self) -> None:
        pairs = len(self.connections.src)
        self.link_bytes, self.hop_bytes = np.zeros(self.links), np.zeros(self.hops)
        self.left_bytes, self._sent, self._hops_sent = np.zeros(pairs), np.zeros(pairs), np.zeros(pairs)
        self.take(self.net)

    @property
    def tasks_done(self) -> int:
        """Tasks that have ended so far."""
        return int(self.state.tasks.tally[DONE])

    def take(self, net: Network) -> None:
        """Continue over another network."""
        self.net = net
        self._shared, self._delays = net.links(), net.delays(self.connections.edge_pair)

    def advance(self, until_s: float, *, lit: bool = True) -> None:
        """Serve all events until then, or until a watched task's; pairs that are not ``lit`` have no circuits."""
        links = self._shared if lit else dark(self._shared)
        advance(self.state, links, self._delays, until_s, self.tolerance)

    def end(self, place: Ints) -> None:
        """Count the bytes sent over the network; ``place`` is the row of each ``net.link`` in ``link_bytes``."""
        bytes_left(self.state.sharing, self.left_bytes)
        sent = self.state.rounds.entered - self.left_bytes  # in whole packets
        moved = (sent - self._sent) * self.connections.payload_share
        self._sent = sent
        if not moved.any():
            return
        pair = owners(self.net.link_first)
        self.link_bytes += sum_by(place, moved[pair] * self.net.coefficient, self.links)
        mean = sum_by(pair, self.net.coefficient, len(moved))
        self._hops_sent += mean * moved
        hops, share = whole_hops(mean)
        # the share above the largest number of hops is none, and falls on the spare last place
        self.hop_bytes += sum_by(hops.astype(np.int64), share * np.tile(moved, 2), self.hops)

    def result(
        self,
        graph: TaskGraph,
        options: SimulationOptions,
        link_bytes: Floats,
        bandwidth_tax: float,
        width: int,
    ) -> SimResult:
        """Return the result of a run that is over, with paths of fewer than ``width`` hops."""
        pairs = self.connections
        mean = (self._hops_sent / pairs.payload_bytes)[pairs.transfers]
        hops, share = whole_hops(mean)
        return SimResult(
            "flow",
            graph,
            options,
            self.state.tasks.start,
            self.state.tasks.finish,
            compute_finish_s(graph),
            link_bytes,
            float(pairs.payload_bytes.sum()),
            bandwidth_tax,
            self.hop_bytes[:width],
            sum_by(hops.astype(np.int64), share, self.hops)[:width],
        )


def flow_on_circuits(
    graph: TaskGraph, fabric: Fabric, options: SimulationOptions, on_progress: Report | None = None
) -> SimResult:
    """Simulate with max-min fair rates; see :class:`topoopt.simulation.Simulator`.

    In the result ``link_bytes`` has an entry for each ordered pair of servers, row by row.

    Raises
    ------
    Infeasible
        If a connection can never be served.
    """
    connections = make_connections(graph, fabric, options)
    tolerance = tolerance_of(connections, options)
    net = network(fabric, connections.src, connections.dst)
    state, servers = state_of(graph, connections), graph.servers
    run = Stretches(connections, state, tolerance, net, servers**2, servers + 1)
    _play(graph, fabric, run, on_progress)
    demanded, moved = float(connections.payload_bytes.sum()), float(run.link_bytes.sum())
    widest = int(np.flatnonzero(run.hop_bytes).max(initial=0)) + 1
    options = dataclasses.replace(options, tolerance=tolerance)
    return run.result(graph, options, run.link_bytes, moved / demanded if demanded else 1.0, widest)


def _play(graph: TaskGraph, fabric: Fabric, run: Stretches, on_progress: Report | None) -> None:
    """Run the graph to its end, changing circuits on the beat."""
    rule, servers, circuits = fabric.beat, graph.servers, None
    src, dst, change_s = run.connections.src, run.connections.dst, rule.first_change_s
    while True:
        run.advance(change_s)
        topology, link = fabric.topology, run.net.link
        run.end(topology.src[link].astype(np.int64) * servers + topology.dst[link])
        if run.tasks_done == len(graph):
            return
        if on_progress is not None:
            on_progress(run.tasks_done / len(graph))
        demand = np.zeros((servers, servers))
        demand[src, dst] = run.left_bytes + run.state.rounds.opening
        if not demand.any():
            event_s = float(run.state.tasks.keys[0])
            change_s = max(rule.next_change_s(event_s), event_s)
            continue
        check_progress(fabric, demand, change_s)
        run.advance(change_s + rule.delay_s, lit=False)
        next_circuits = demand_circuits(demand, rule)
        if circuits is None or (next_circuits != circuits).any():
            circuits, fabric = next_circuits, rewired(fabric, next_circuits)
            run.take(network(fabric, src, dst))
        change_s += rule.period_s


def network(fabric: Fabric, src: Ints, dst: Ints) -> Network:
    """Return the routes of the pairs over the fabric's present links; a pair without a route has no links.

    A pair without a circuit has the delay of a connection over a single circuit.
    """
    topology, rule = fabric.topology, fabric.beat
    routed = reached(fabric, src, dst)
    pairs = pair_links(topology, fabric.routes, src[routed], dst[routed])
    first, link, share, *overheads = laid(fabric, pairs.pair_first, pairs.link, pairs.share)
    before = np.full(len(src), 8.0 / rule.bandwidth_bps + rule.latency_s)
    after = np.full(len(src), rule.latency_s)
    before[routed], after[routed] = overheads
    counts = np.zeros(len(src), np.int64)
    counts[routed] = np.diff(first)
    return Network(pointer(counts), link, share, topology.bandwidth_bps / 8.0, before, after)


def dark(links: Links) -> Links:
    """Return the links while circuits change: no pair has one."""
    return links._replace(class_first=np.zeros_like(links.class_first))


def make_connections(
    graph: TaskGraph, fabric: Fabric, options: SimulationOptions, apart: Bools | None = None
) -> Connections:
    """Return the connections of all communication tasks; rings go in member order.

    Parameters
    ----------
    apart : bool array, shape (tasks,), optional
        Tasks whose pairs have rows of their own: their bytes take other routes than those of the others.

    Raises
    ------
    InvalidInput
        If transfers are to keep to paths.
    """
    if options.split != "spread":
        raise InvalidInput(
            f"split: transfers on {fabric.name} keep to no path, since its circuits change, got {options.split}; "
            "use spread"
        )
    book = EdgeBook(fabric)
    streams = make_streams(graph, fabric, replace(options, packet=PacketOptions()), book)
    edge_first = np.concatenate(([0], np.cumsum(streams.edges))).astype(np.int64)
    stream = np.repeat(np.arange(len(streams.task)), streams.edges)
    # streams of one ring share its edges in the book; here each has its own
    edge = np.arange(len(stream)) - np.repeat(edge_first[:-1] - streams.edge_first, streams.edges)
    src, dst = book.ends()
    side = np.zeros(len(stream), np.int64) if apart is None else apart[streams.task[stream]].astype(np.int64)
    key, pair = np.unique(2 * (src * graph.servers + dst)[edge] + side, return_inverse=True)
    payload = sum_by(pair, (streams.rounds * streams.size_bytes)[stream].astype(np.float64), len(key))
    packed = sum_by(
        pair, (streams.rounds * occupancy_bytes(streams.size_bytes))[stream].astype(np.float64), len(key)
    )
    task = streams.task[stream]
    transfers = np.zeros(len(key), np.bool_)
    transfers[pair[(graph.kind[task] == TRANSFER) | (graph.collective[task] == ALL_TO_ALL)]] = True
    first, second = np.divmod(key // 2, graph.servers)
    return Connections(
        streams, pair, edge_first, first, second, payload / packed, payload, transfers, key % 2 == 1
    )


def state_of(graph: TaskGraph, connections: Connections) -> State:
    """Return the state of the engine before anything has begun; its classes are the pairs."""
    streams, pairs = connections.streams, len(connections.src)
    size_bytes = occupancy_bytes(streams.size_bytes).astype(np.float64)
    return first_state(
        graph,
        make_rounds(streams.task_first, connections.edge_first, streams.rounds, pairs),
        make_sharing(
            connections.edge_pair,
            np.repeat(size_bytes, streams.edges),
            np.ones(len(connections.edge_pair)),
            pairs,
        ),
    )


def tolerance_of(connections: Connections, options: SimulationOptions) -> float:
    """Return the fraction of the elapsed time within which changes are merged: the default over the most rounds."""
    if options.tolerance is not None:
        return float(options.tolerance)  # a whole number would be another type, and a kernel compiled anew
    streams = connections.streams
    few = streams.connections <= EXACT_CONNECTIONS
    return 0.0 if few else COARSE_TOLERANCE / int(streams.rounds.max())
