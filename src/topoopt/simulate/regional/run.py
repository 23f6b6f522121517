"""The flow simulator on regional circuits: stretches of max-min sharing between all-to-alls that begin or end.

Connections of an all-to-all between servers that have circuits take these, and nothing else does; all others, and
everything that is no all-to-all, share the electrical fabric. A server whose job has no all-to-alls has its ports wired
once, for the transfers of an iteration to servers of its region that have none either.
"""

import dataclasses

import numpy as np

from topoopt.routing import Fabric, RegionalReconfiguration
from topoopt.simulate.first_come import compute_finish_s
from topoopt.simulate.options import SimulationOptions
from topoopt.simulate.reconfigurable import kernel
from topoopt.simulate.reconfigurable.connections import Bools, Connections, first_state, make_connections
from topoopt.simulate.regional.carried import Carried
from topoopt.simulate.regional.exchanges import Exchange, find_exchanges
from topoopt.simulate.regional.network import Ways, make_ways
from topoopt.simulate.regional.ports import Ports
from topoopt.simulate.report import Report
from topoopt.simulate.result import SimResult
from topoopt.simulate.task_graph import TRANSFER, TaskGraph

EXACT_CONNECTIONS = 2_000
"""Up to this many connections every change of rates is handled on its own by default."""

COARSE_TOLERANCE = 3e-4
"""Beyond, changes within this fraction of the elapsed time are handled together, divided by the most rounds."""


def flow_on_regional_circuits(
    graph: TaskGraph, fabric: Fabric, options: SimulationOptions, on_progress: Report | None = None
) -> SimResult:
    """Simulate with max-min fair rates; see :class:`topoopt.simulate.Simulator`.

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
    ways = make_ways(fabric, rule, connections)
    options = dataclasses.replace(options, tolerance=_tolerance(connections, options))
    state = first_state(graph, connections)
    for one in exchanges:
        state.watch[one.begin] |= kernel.HOLD
        state.watch[one.end] |= kernel.REPORT
    carried = _play(exchanges, state, (connections, ways), ports, options, on_progress)
    return _result(graph, fabric, rule, connections, state, carried, options)


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


def _tolerance(connections: Connections, options: SimulationOptions) -> float:
    if options.tolerance is not None:
        return options.tolerance
    streams = connections.streams
    few = streams.connections <= EXACT_CONNECTIONS
    return 0.0 if few else COARSE_TOLERANCE / int(streams.rounds.max())


def _play(
    exchanges: tuple[Exchange, ...],
    state: kernel.State,
    between: tuple[Connections, Ways],
    ports: Ports,
    options: SimulationOptions,
    on_progress: Report | None,
) -> Carried:
    """Run the graph to its end; return what the links carried."""
    connections, ways = between
    tolerance, tasks = options.tolerance, len(state.device) - 1
    assert tolerance is not None
    begins = {one.begin: one for one in exchanges}
    ends = {one.end: one for one in exchanges}
    net = ways.network(ports.circuits)
    carried = Carried(connections, len(net.capacity))
    left = np.zeros(len(ways.place))
    changes = ports.changes
    while True:
        kernel.advance(state, net, np.inf, tolerance)
        stops = state.stops[: state.tally[kernel.STOPS]].tolist()
        state.tally[kernel.STOPS] = 0
        if state.tally[kernel.DONE] > tasks or not stops:
            break
        for task in stops:
            now_s = float(np.fmax(state.start[task], state.finish[task]))
            if task in ends and not np.isnan(state.finish[task]):
                ports.give_back(ends[task], now_s)
            else:
                ports.ask(begins[task], now_s)
        for exchange, begin_s in ports.next_turns(now_s):
            kernel.start_held(state, exchange.begin, max(begin_s, float(state.clock[0])))
        if ports.changes > changes:
            changes = ports.changes
            kernel.bytes_left(state, left)
            carried.add(state.entered - left, net)
            net = ways.network(ports.circuits)
            if on_progress is not None:
                on_progress(float(state.tally[kernel.DONE]) / tasks)
    assert state.tally[kernel.DONE] > tasks, "every all-to-all gets its turn"
    kernel.bytes_left(state, left)
    carried.add(state.entered - left, net)
    return carried


def _result(
    graph: TaskGraph,
    fabric: Fabric,
    rule: RegionalReconfiguration,
    connections: Connections,
    state: kernel.State,
    carried: Carried,
    options: SimulationOptions,
) -> SimResult:
    src, dst = rule.pairs(fabric.topology.servers)
    optical = len(fabric.topology) + src * rule.region_servers + dst % rule.region_servers
    link_bytes = np.concatenate([carried.link_bytes[: len(fabric.topology)], carried.link_bytes[optical]])
    return SimResult(
        "flow",
        graph,
        options,
        state.start[:-1],
        state.finish[:-1],
        compute_finish_s(graph),
        link_bytes,
        float(connections.payload_bytes.sum()),
        1.0,
        carried.hop_bytes,
        carried.hop_pairs(),
    )
