"""The packet simulator: every packet through every queue, on the clock of whole picoseconds.

Time, packets, connections and marks are those of the authors' packet simulator (FlexNetPacket, a descendant of
htsim); with ``compat="flexnetpacket"`` its shortcuts too.
"""

import numpy as np

from topoopt.routing import Fabric
from topoopt.simulate.event_driven import compute_finish_s
from topoopt.simulate.options import DEFAULT_OPTIONS, SimulationOptions
from topoopt.simulate.packet.edges import EdgeBook, Edges, check_paths
from topoopt.simulate.packet.kernel import layout
from topoopt.simulate.packet.link_rows import PS
from topoopt.simulate.packet.outcome import flow_table, statistics
from topoopt.simulate.packet.run import Report, run_until, schedule_failures
from topoopt.simulate.packet.state import first_state
from topoopt.simulate.packet.streams import Streams, make_streams
from topoopt.simulate.result import SimResult
from topoopt.simulate.task_graph import TRANSFER, Floats, TaskGraph


def packet(
    graph: TaskGraph,
    fabric: Fabric,
    options: SimulationOptions = DEFAULT_OPTIONS,
    on_progress: Report | None = None,
) -> SimResult:
    """Simulate packet by packet; see :class:`topoopt.simulate.Simulator`.

    Raises
    ------
    Infeasible
        If the run would exceed the memory limit, or can never end.
    """
    book = EdgeBook(fabric)
    streams = make_streams(graph, fabric, options, book)
    edges = book.close()
    check_paths(edges)
    state = first_state(graph, fabric, streams, edges, options)
    schedule_failures(state, fabric, options.packet.failures)
    most_successors = int(np.diff(graph.successor_first).max(initial=0))
    state, done = run_until(state, layout.NEVER, edges, options.packet, most_successors, on_progress)
    assert done, "without an end in time the engine stops only when all is done"
    demanded, tax, hop_bytes, hop_pairs = _carried(graph, fabric, streams, edges)
    return SimResult(
        "packet",
        graph,
        options,
        state.task[:, layout.T_START] / PS,
        state.task[:, layout.T_FINISH] / PS,
        compute_finish_s(graph),
        state.link[:, layout.LINK_BYTES].astype(np.float64),
        demanded,
        tax,
        hop_bytes,
        hop_pairs,
        packet=statistics(state),
        flows=flow_table(state, edges, streams) if options.packet.log_flows else None,
    )


def _carried(
    graph: TaskGraph, fabric: Fabric, streams: Streams, edges: Edges
) -> tuple[float, float, Floats, Floats]:
    """Return bytes demanded, bandwidth tax, and demanded bytes and transferring pairs by hops, by path weights."""
    table, rows = edges.paths, len(edges.src)
    of_edge = np.repeat(np.arange(len(streams.task)), streams.edges)
    place = np.repeat(streams.edge_first - np.cumsum(streams.edges) + streams.edges, streams.edges)
    row = edges.row[place + np.arange(len(place))]
    size = (streams.rounds * streams.size_bytes)[of_edge].astype(np.float64)
    row_bytes = np.bincount(row, size, minlength=rows)
    of_path = np.repeat(np.arange(rows), np.diff(table.pair_first))
    path_bytes = row_bytes[of_path] * table.weight
    hops = np.diff(table.path_first)
    by_server = fabric.topology.src[table.link] < fabric.topology.servers
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
