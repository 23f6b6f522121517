"""The packet simulator: every packet through every queue, on the clock of whole picoseconds.

Time, packets, connections and marks are those of the authors' packet simulator (FlexNetPacket, a descendant of
htsim); with ``compat="flexnetpacket"`` its shortcuts too.
"""

from dataclasses import replace

import numpy as np

from topoopt.base.arrays import Ints
from topoopt.routing import Fabric
from topoopt.simulation.first_come import compute_finish_s
from topoopt.simulation.options import DEFAULT_OPTIONS, SimulationOptions
from topoopt.simulation.packet.carried import carried_on_circuits, carried_on_paths
from topoopt.simulation.packet.edges import EdgeBook, Edges, check_paths
from topoopt.simulation.packet.kernel import layout
from topoopt.simulation.packet.kernel.layout import State
from topoopt.simulation.packet.link_rows import PS
from topoopt.simulation.packet.on_circuits import all_pairs, check_options, pairs_only, run_on_circuits
from topoopt.simulation.packet.outcome import flow_table, statistics
from topoopt.simulation.packet.run import run_until, schedule_failures
from topoopt.simulation.packet.state import first_state
from topoopt.simulation.packet.streams import Streams, make_streams
from topoopt.simulation.report import Report
from topoopt.simulation.result import SimResult
from topoopt.simulation.start_order import renumbered, start_order
from topoopt.simulation.task_graph import TaskGraph


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
    return _as_numbered(result, graph, order)


def _by_number(
    graph: TaskGraph, fabric: Fabric, options: SimulationOptions, on_progress: Report | None
) -> SimResult:
    """Simulate; what happens at the same time goes by task number."""
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


def _as_numbered(result: SimResult, graph: TaskGraph, order: Ints) -> SimResult:
    """Return a result in the task numbers of a graph, whose task ``order[i]`` is task ``i`` of the result."""
    place = np.argsort(order)
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
