"""The flow simulator on a reconfigurable fabric: stretches of max-min sharing, and changes of circuits between.

A ring AllReduce is rounds of one connection a member, each along the routes of its pair and with a barrier after
each round; a transfer is a round of one. At a change nothing moves for a while, then all bytes left go on over
the new circuits. What is on its way when a change begins arrives. Connections open even while their pair waits for
a circuit, so that they can send as soon as it is there.
"""

import dataclasses

import numpy as np

from topoopt.finder import demand_circuits, rewired
from topoopt.routing import Fabric
from topoopt.simulation.circuit_progress import check_progress
from topoopt.simulation.options import SimulationOptions
from topoopt.simulation.reconfigurable.connections import make_connections, state_of, tolerance_of
from topoopt.simulation.reconfigurable.network import network
from topoopt.simulation.reconfigurable.stretches import Stretches
from topoopt.simulation.report import Report
from topoopt.simulation.result import SimResult
from topoopt.simulation.task_graph import TaskGraph


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
