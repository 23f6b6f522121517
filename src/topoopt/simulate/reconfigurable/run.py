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
from topoopt.simulate.first_come import compute_finish_s
from topoopt.simulate.fluid.engine_kernel import advance, bytes_left
from topoopt.simulate.fluid.state import State
from topoopt.simulate.options import SimulationOptions
from topoopt.simulate.reconfigurable.carried import Carried
from topoopt.simulate.reconfigurable.connections import Connections, make_connections, state_of, tolerance_of
from topoopt.simulate.reconfigurable.network import dark, network
from topoopt.simulate.reconfigurable.progress import check_progress
from topoopt.simulate.report import Report
from topoopt.simulate.result import SimResult
from topoopt.simulate.task_graph import TaskGraph
from topoopt.simulate.task_run import DONE


def flow_on_circuits(
    graph: TaskGraph, fabric: Fabric, options: SimulationOptions, on_progress: Report | None = None
) -> SimResult:
    """Simulate with max-min fair rates; see :class:`topoopt.simulate.Simulator`.

    In the result ``link_bytes`` has an entry for each ordered pair of servers, row by row.

    Raises
    ------
    Infeasible
        If a connection can never be served.
    """
    connections = make_connections(graph, fabric, options)
    state = state_of(graph, connections)
    options = dataclasses.replace(options, tolerance=tolerance_of(connections, options))
    carried = _play(graph, fabric, connections, state, options, on_progress)
    demanded = float(connections.payload_bytes.sum())
    widest = int(np.flatnonzero(carried.hop_bytes).max(initial=0)) + 1
    return SimResult(
        "flow",
        graph,
        options,
        state.tasks.start,
        state.tasks.finish,
        compute_finish_s(graph),
        carried.link_bytes,
        demanded,
        float(carried.link_bytes.sum()) / demanded if demanded else 1.0,
        carried.hop_bytes[:widest],
        carried.hop_pairs()[:widest],
    )


def _play(
    graph: TaskGraph,
    fabric: Fabric,
    connections: Connections,
    state: State,
    options: SimulationOptions,
    on_progress: Report | None,
) -> Carried:
    """Run the graph to its end, changing circuits on the beat; return what they carried."""
    rule, tolerance = fabric.beat, options.tolerance
    assert tolerance is not None
    src, dst = connections.src, connections.dst
    carried = Carried(connections, graph.servers**2, graph.servers + 1)
    left = np.zeros(len(src))
    net, circuits = network(fabric, src, dst), None
    links, delays = net.links(), net.delays(connections.edge_pair)
    change_s = rule.first_change_s
    while True:
        advance(state, links, delays, change_s, tolerance)
        bytes_left(state.sharing, left)
        topology = fabric.topology
        pair = topology.src[net.link].astype(np.int64) * graph.servers + topology.dst[net.link]
        carried.add(state.rounds.entered - left, net, pair)
        done = int(state.tasks.tally[DONE])
        if done == len(graph):
            return carried
        if on_progress is not None:
            on_progress(done / len(graph))
        demand = np.zeros((graph.servers, graph.servers))
        demand[src, dst] = left + state.rounds.opening
        if not demand.any():
            event_s = float(state.tasks.keys[0])
            change_s = max(rule.next_change_s(event_s), event_s)
            continue
        check_progress(fabric, demand, change_s)
        advance(state, dark(links), delays, change_s + rule.delay_s, tolerance)
        wanted = demand_circuits(demand, rule)
        if circuits is None or (wanted != circuits).any():
            circuits, fabric = wanted, rewired(fabric, wanted)
            net = network(fabric, src, dst)
            links, delays = net.links(), net.delays(connections.edge_pair)
        change_s += rule.period_s
