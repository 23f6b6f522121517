"""The packet simulator: every packet through every queue, on the clock of whole picoseconds.

Time, packets, connections and marks are those of the authors' packet simulator (FlexNetPacket, a descendant of
htsim); with ``compat="flexnetpacket"`` its shortcuts too.
"""

from dataclasses import replace

import numpy as np

from topoopt.base.arrays import Floats, Ints, entries_between, owners
from topoopt.routing import Fabric
from topoopt.simulation.analytic.simulator import compute_finish_s
from topoopt.simulation.flows.link_classes import sum_by, whole_hops
from topoopt.simulation.options import DEFAULT_OPTIONS, Report, SimulationOptions
from topoopt.simulation.packet.kernel import layout
from topoopt.simulation.packet.kernel.layout import State
from topoopt.simulation.packet.link_rows import PS
from topoopt.simulation.packet.run import (
    all_pairs,
    check_options,
    pairs_only,
    run_on_circuits,
    run_until,
    schedule_failures,
)
from topoopt.simulation.packet.state import first_state, memory_bytes
from topoopt.simulation.packet.streams import EdgeBook, Edges, Streams, check_paths, make_streams
from topoopt.simulation.result import FlowTable, PacketStatistics, SimResult
from topoopt.simulation.task_graph import TRANSFER, TaskGraph, renumbered, start_order
from topoopt.topologies import Topology


def packet(
    graph: TaskGraph,
    fabric: Fabric,
    options: SimulationOptions = DEFAULT_OPTIONS,
    on_progress: Report | None = None,
) -> SimResult:
    """Simulate packet by packet; see :class:`topoopt.simulation.Simulator`.

    Raises
    ------
    Infeasible
        If the run would exceed the memory limit, or can never end.
    """
    order = start_order(len(graph), options.seed)
    result = _by_number(renumbered(graph, order), fabric, options, on_progress)
    place = np.argsort(order, kind="stable")
    packet = result.packet
    return replace(
        result,
        graph=graph,
        start_s=result.start_s[place],
        finish_s=result.finish_s[place],
        compute_finish_s=result.compute_finish_s[place],
        packet=None if packet is None else replace(packet, task_marks=packet.task_marks[place]),
        flows=None if result.flows is None else replace(result.flows, task=order[result.flows.task]),
    )


def _by_number(
    graph: TaskGraph, fabric: Fabric, options: SimulationOptions, on_progress: Report | None
) -> SimResult:
    circuits = fabric.reconfiguration is not None
    if circuits:
        check_options(options.packet, fabric)
    state, edges, streams = before_packets(graph, fabric, options)
    most_successors = int(np.diff(graph.successor_first).max(initial=0))
    if circuits:
        state = run_on_circuits(state, fabric, edges, options, most_successors, on_progress)
        carried = carried_on_circuits(state, streams)
    else:
        state, done = run_until(state, layout.NEVER, edges, options.packet, most_successors, on_progress)
        assert done, "without an end in time the engine stops only when all is done"
        carried = carried_on_paths(graph, fabric.topology, streams, edges)
    return SimResult(
        "packet",
        graph,
        options,
        state.task[:, layout.Task.START] / PS,
        state.task[:, layout.Task.FINISH] / PS,
        compute_finish_s(graph),
        state.link[:, layout.Link.BYTES].astype(np.float64),
        *carried,
        packet=statistics(state, streams),
        flows=flow_table(state, edges, streams) if options.packet.log_flows else None,
    )


def before_packets(
    graph: TaskGraph, fabric: Fabric, options: SimulationOptions
) -> tuple[State, Edges, Streams]:
    """Return the engine before time 0, with the failures to come, the edges of connections and the streams."""
    book = EdgeBook(fabric)
    streams = make_streams(graph, fabric, options, book)
    if fabric.reconfiguration is not None:
        edges = pairs_only(book)
        return first_state(graph, all_pairs(fabric), streams, edges, options), edges, streams
    edges = book.close()
    state = first_state(graph, fabric.topology, streams, edges, options)
    check_paths(edges)
    schedule_failures(state, fabric, options.packet.failures)
    return state, edges, streams


def carried_on_paths(
    graph: TaskGraph, topology: Topology, streams: Streams, edges: Edges
) -> tuple[float, float, Floats, Floats]:
    """Return bytes demanded, bandwidth tax, and demanded bytes and transferring pairs by hops, by path weights."""
    table, rows = edges.paths, len(edges.src)
    edge, of_edge = entries_between(streams.edge_first, streams.edge_first + streams.edges)
    row = edges.row[edge]
    size = (streams.rounds * streams.size_bytes)[of_edge].astype(np.float64)
    row_bytes = np.bincount(row, size, minlength=rows)
    of_path = owners(table.pair_first)
    path_bytes = row_bytes[of_path] * table.weight
    hops = np.diff(table.path_first)
    by_server = topology.src[table.link] < topology.servers
    sends = (
        np.add.reduceat(np.append(by_server, False).astype(np.int64), table.path_first[:-1])
        if len(hops)
        else hops
    )
    demanded = float(size.sum())
    pairs = np.unique(row[graph.kind[streams.task[of_edge]] == TRANSFER])
    moving = np.zeros(rows)
    moving[pairs] = 1.0
    return (
        demanded,
        float(path_bytes @ sends) / demanded if demanded else 1.0,
        np.bincount(hops, path_bytes, minlength=1).astype(np.float64),
        np.bincount(hops, moving[of_path] * table.weight, minlength=1).astype(np.float64),
    )


def carried_on_circuits(state: State, streams: Streams) -> tuple[float, float, Floats, Floats]:
    """Return the same where paths change in flight: every byte counts with the mean links of all packets."""
    connections = streams.rounds * streams.edges
    demanded = float((connections * streams.size_bytes).sum())
    sent = float((connections * (streams.packets * layout.SIZE_DATA + layout.SIZE_OPEN)).sum())
    mean = float(state.link[:, layout.Link.BYTES].sum()) / sent if sent else 1.0
    hops, share = whole_hops(np.array([mean]))
    return demanded, mean, sum_by(hops.astype(np.int64), share * demanded, int(hops.max()) + 1), np.zeros(1)


def statistics(state: State, streams: Streams) -> PacketStatistics:
    """Return the counts of a finished run."""
    count, link = state.count, state.link
    return PacketStatistics(
        connections=int(count[layout.Count.CONNECTIONS]),
        packets=int(count[layout.Count.SENT]),
        delivered=int(count[layout.Count.DELIVERED]),
        packet_hops=int(count[layout.Count.HOPS]),
        events=int(count[layout.Count.EVENTS]),
        marks=int(count[layout.Count.MARKS]),
        drops=int(count[layout.Count.DROPPED]),
        timeouts=int(count[layout.Count.TIMEOUTS]),
        resent=int(count[layout.Count.RESENT]),
        pauses=int(count[layout.Count.PAUSES]),
        peak_memory_bytes=memory_bytes(state),
        task_marks=np.bincount(
            streams.task, state.stream[:, layout.Stream.MARKS], minlength=len(state.task)
        ).astype(np.int64),
        link_packets=link[:, layout.Link.PACKETS].copy(),
        link_wire_bytes=link[:, layout.Link.BYTES].copy(),
        link_marks=link[:, layout.Link.MARKS].copy(),
        link_drops=link[:, layout.Link.DROPS].copy(),
        link_queue_peak_bytes=link[:, layout.Link.PEAK].copy(),
    )


def flow_table(state: State, edges: Edges, streams: Streams) -> FlowTable:
    """Return a row for each connection, in the order in which they ended."""
    rows = state.log[: state.count[layout.Count.LOGGED]]
    stream, pair = rows[:, layout.Log.STREAM], rows[:, layout.Log.PAIR]
    hops = np.diff(edges.paths.path_first)[rows[:, layout.Log.PATH]]
    return FlowTable(
        task=streams.task[stream],
        src=edges.src[pair],
        dst=edges.dst[pair],
        size_bytes=streams.size_bytes[stream],
        start_s=rows[:, layout.Log.START] / PS,
        finish_s=rows[:, layout.Log.FINISH] / PS,
        hops=hops,
        packets=rows[:, layout.Log.PACKETS],
        marks=rows[:, layout.Log.MARKS],
        resent=rows[:, layout.Log.RESENT],
        alone_s=_alone_ps(state, edges, rows) / PS,
    )


def _alone_ps(state: State, edges: Edges, rows: Ints) -> Ints:
    """Return the closed form of each connection: its opening, its packets on the slowest link, one on each other."""
    table, link = edges.paths, state.link
    hops = np.diff(table.path_first)
    if not hops.any():  # circuits that change: one of them
        packet, once = link[:, layout.Link.SERIAL].min(), link[:, layout.Link.SERIAL_OPEN].min()
        alone: Ints = once + 2 * link[:, layout.Link.LATENCY].min() + rows[:, layout.Log.PACKETS] * packet
        return alone
    first, used = table.path_first[:-1], link[table.link]
    packet = np.add.reduceat(used[:, layout.Link.SERIAL], first)
    slowest = np.maximum.reduceat(used[:, layout.Link.SERIAL], first)
    once = np.add.reduceat(used[:, layout.Link.SERIAL_OPEN] + 2 * used[:, layout.Link.LATENCY], first)
    path = rows[:, layout.Log.PATH]
    several: Ints = (once + packet - slowest)[path] + rows[:, layout.Log.PACKETS] * slowest[path]
    return several
