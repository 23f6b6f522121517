"""The flow simulator on regional circuits: stretches of max-min sharing between all-to-alls that begin or end.

Connections of an all-to-all between servers that have circuits take these, and nothing else does; all others, and
everything that is no all-to-all, share the electrical fabric. A server whose job has no all-to-alls has its ports wired
once, for the transfers of an iteration to servers of its region that have none either.
"""

import dataclasses

import numpy as np

from topoopt.routing import Fabric, RegionalReconfiguration
from topoopt.simulation.fluid.engine import start_held
from topoopt.simulation.fluid.state import HOLD, REPORT, STOPS
from topoopt.simulation.options import SimulationOptions
from topoopt.simulation.reconfigurable.connections import Bools, make_connections, state_of, tolerance_of
from topoopt.simulation.reconfigurable.stretches import Stretches
from topoopt.simulation.regional.exchanges import Exchange, find_exchanges
from topoopt.simulation.regional.network import Ways, make_ways
from topoopt.simulation.regional.ports import Ports
from topoopt.simulation.report import Report
from topoopt.simulation.result import SimResult
from topoopt.simulation.task_graph import TRANSFER, TaskGraph

MOST_HOPS = 8
"""Links between two servers of a fat-tree: 6, and some to spare."""


def flow_on_regional_circuits(
    graph: TaskGraph, fabric: Fabric, options: SimulationOptions, on_progress: Report | None = None
) -> SimResult:
    """Simulate with max-min fair rates; see :class:`topoopt.simulation.Simulator`.

    In the result ``link_bytes`` has the electrical links first, then the ordered pairs of each region, as
    :meth:`topoopt.routing.RegionalReconfiguration.pairs` lists them.
    """
    rule = fabric.reconfiguration
    assert isinstance(rule, RegionalReconfiguration)
    exchanges = find_exchanges(graph)
    ports = Ports(rule, fabric.topology.servers)
    apart = _wire_once(ports, graph, exchanges)
    apart[[task for one in exchanges for task in one.moves.tolist()]] = True
    connections = make_connections(graph, fabric, options, apart)
    ways, tolerance = make_ways(fabric, rule, connections), tolerance_of(connections, options)
    state = state_of(graph, connections)
    for one in exchanges:
        state.rounds.watch[one.begin] |= HOLD
        state.rounds.watch[one.end] |= REPORT
    net = ways.network(ports.circuits)
    run = Stretches(connections, state, tolerance, net, len(net.capacity), MOST_HOPS)
    _play(exchanges, run, ways, ports, on_progress)
    src, dst = rule.pairs(fabric.topology.servers)
    electrical = len(fabric.topology)
    optical = electrical + src * rule.region_servers + dst % rule.region_servers
    link_bytes = np.concatenate([run.link_bytes[:electrical], run.link_bytes[optical]])
    options = dataclasses.replace(options, tolerance=tolerance)
    return run.result(graph, options, link_bytes, 1.0, MOST_HOPS)


def _wire_once(ports: Ports, graph: TaskGraph, exchanges: tuple[Exchange, ...]) -> Bools:
    """Wire the servers without all-to-alls for their transfers; return which tasks these are, shape (tasks,)."""
    free = np.ones(ports.servers, np.bool_)
    for one in exchanges:
        free[one.members] = False
    moved = (graph.kind == TRANSFER) & (graph.src != graph.dst)
    moved = moved & free[graph.src] & free[graph.dst]
    src, dst = graph.src[moved], graph.dst[moved]
    size = ports.rule.region_servers
    for first in range(0, ports.servers, size):
        members = np.flatnonzero(free[first : first + size]) + first
        mine = np.isin(src, members) & np.isin(dst, members)
        demand = np.zeros((size, size))
        np.add.at(demand, (src[mine] - first, dst[mine] - first), graph.size_bytes[moved][mine])
        chosen = members - first
        if len(members) > 1 and demand.any():
            ports.wire(members, demand[np.ix_(chosen, chosen)])
    return np.asarray(moved, np.bool_)


def _play(
    exchanges: tuple[Exchange, ...],
    run: Stretches,
    ways: Ways,
    ports: Ports,
    on_progress: Report | None,
) -> None:
    """Run the graph to its end."""
    state, rounds, tasks = run.state, run.state.rounds, len(run.state.tasks.device)
    begins = {one.begin: one for one in exchanges}
    ends = {one.end: one for one in exchanges}
    changes = ports.changes
    while True:
        run.advance(np.inf)
        stops = rounds.stops[: rounds.tally[STOPS]].tolist()
        rounds.tally[STOPS] = 0
        if run.tasks_done == tasks or not stops:
            break
        for task in stops:
            now_s = float(np.fmax(state.tasks.start[task], state.tasks.finish[task]))
            if task in ends and not np.isnan(state.tasks.finish[task]):
                ports.give_back(ends[task], now_s)
            else:
                ports.ask(begins[task], now_s)
        for exchange, begin_s in ports.next_turns(now_s):
            start_held(state, exchange.begin, max(begin_s, float(state.sharing.clock[0])))
        if ports.changes > changes:
            changes = ports.changes
            run.end(run.net.link)
            run.take(ways.network(ports.circuits))
            if on_progress is not None:
                on_progress(run.tasks_done / tasks)
    assert run.tasks_done == tasks, "every all-to-all gets its turn"
    run.end(run.net.link)
