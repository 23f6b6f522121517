"""The flow simulator on regional circuits: stretches of max-min sharing between all-to-alls that begin or end.

Connections of an all-to-all between servers that have circuits take these, and nothing else does; all others, and
everything that is no all-to-all, share the electrical fabric. A server whose job has no all-to-alls has its ports wired
once, for the transfers of an iteration to servers of its region that have none either.

Each pair of servers sends over its present circuits or its routes on the electrical fabric.

Links are numbered electrical ones first, then a place for the circuits from each server to each of its region.

The optical ports of all servers over time: whose turn it is, how they are wired, when the wiring is ready.

All-to-alls that share a server take turns, in the order in which they become ready. At its turn an all-to-all gets
the ports of its servers, and circuits for its bytes; circuits already in place take no time.

The all-to-alls of a task graph: their first and last tasks, and their bytes.

An all-to-all is a collective over several servers. A non-uniform one is represented in the graph as a collective
of one server, which does nothing, then a transfer for each pair, then a barrier that waits for all of them.
"""

import dataclasses
from collections import deque
from dataclasses import dataclass, field

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.finder import improved_circuits, regional_circuits
from topoopt.routing import Fabric, RegionalReconfiguration, pair_links
from topoopt.simulation.flows.link_classes import laid
from topoopt.simulation.fluid.engine import start_held
from topoopt.simulation.fluid.reconfigurable import (
    Bools,
    Connections,
    Network,
    Stretches,
    make_connections,
    state_of,
    tolerance_of,
)
from topoopt.simulation.fluid.state import HOLD, REPORT, STOPS
from topoopt.simulation.options import Report, SimulationOptions
from topoopt.simulation.result import SimResult
from topoopt.simulation.task_graph import ALL_TO_ALL, COLLECTIVE, TRANSFER, TaskGraph


@dataclass(frozen=True, eq=False)
class Exchange:
    """One all-to-all.

    Attributes
    ----------
    begin, end : int
        Tasks; the same one where it is uniform.
    moves : int64 array
        Tasks whose bytes are those of the all-to-all.
    members : int64 array, shape (members,)
        Servers, sorted.
    demand_bytes : float64 array, shape (members, members)
    iteration : int
    """

    begin: int
    end: int
    moves: Ints
    members: Ints
    demand_bytes: Floats
    iteration: int


@dataclass(eq=False)
class Ports:
    """Current circuits.

    Attributes
    ----------
    circuits : int64 array, shape (servers, region_servers)
        Circuits from each server to each of its region.
    changes : int
        Changes of the circuits after the start.
    """

    rule: RegionalReconfiguration
    servers: int
    circuits: Ints = field(init=False)
    changes: int = 0
    _user: Ints = field(init=False)
    _idle_since_s: Floats = field(init=False)
    _served: Ints = field(init=False)
    _queue: deque[tuple[Exchange, float]] = field(default_factory=deque)
    _known: dict[tuple[bytes, bytes], Ints] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.circuits = np.zeros((self.servers, self.rule.region_servers), np.int64)
        self._user = np.full(self.servers, -1)
        self._idle_since_s = np.zeros(self.servers)
        self._served = np.full(self.servers, -1)

    def wire(self, members: Ints, demand_bytes: Floats) -> bool:
        """Assign all ports of some servers by their demand; return whether anything changes.

        Parameters
        ----------
        demand_bytes : float64 array, shape (members, members)
        """
        circuits = self._circuits_for(members, demand_bytes)
        if (circuits == self.circuits[members]).all():
            return False
        size = self.rule.region_servers
        left, slot = np.nonzero(self.circuits[members])  # the other ends of what is taken apart
        self.circuits[members[left] // size * size + slot, members[left] % size] = 0
        self.circuits[members] = circuits
        return True

    def _circuits_for(self, members: Ints, demand_bytes: Floats) -> Ints:
        key = members.tobytes(), demand_bytes.tobytes()
        if key not in self._known:
            rule = self.rule
            circuits = np.zeros((len(members), rule.region_servers), np.int64)
            region = members // rule.region_servers
            for here in np.unique(region).tolist():
                rows = np.flatnonzero(region == here)
                of_region = _chosen(demand_bytes[np.ix_(rows, rows)], rule)
                circuits[np.ix_(rows, members[rows] % rule.region_servers)] = of_region
            self._known[key] = circuits
        return self._known[key]

    def ask(self, exchange: Exchange, now_s: float) -> None:
        """Enqueue a ready all-to-all."""
        self._queue.append((exchange, now_s))

    def give_back(self, exchange: Exchange, now_s: float) -> None:
        """Release the ports of a finished all-to-all; its circuits stay."""
        self._user[exchange.members] = -1
        self._idle_since_s[exchange.members] = now_s

    def next_turns(self, now_s: float) -> list[tuple[Exchange, float]]:
        """Return the all-to-alls whose turn it is now, and when each may send."""
        begun, waiting, blocked = [], deque[tuple[Exchange, float]](), self._user >= 0
        for exchange, ready_s in self._queue:
            if blocked[exchange.members].any():
                waiting.append((exchange, ready_s))
            else:
                begun.append((exchange, self._begin(exchange, max(ready_s, now_s))))
            blocked[exchange.members] = True
        self._queue = waiting
        return begun

    def _begin(self, exchange: Exchange, now_s: float) -> float:
        """Wire the ports for an all-to-all; return when it may send."""
        members, delay_s = exchange.members, self.rule.delay_s
        first = bool((self._served[members] < exchange.iteration).all())
        self._served[members] = exchange.iteration
        self._user[members] = exchange.begin
        if not self.wire(members, exchange.demand_bytes):
            return now_s
        self.changes += 1
        if self.rule.hiding == "overlapped":
            return max(now_s, float(self._idle_since_s[members].max()) + delay_s)
        waits = first or self.rule.hiding == "none"
        return now_s + delay_s if waits else now_s


@dataclass(frozen=True, eq=False)
class Ways:
    """Both directions of every pair, by rows of the connections.

    Attributes
    ----------
    place : int64 array, shape (pairs,)
        Link of the pair's circuits, -1 if it may have none.
    electrical : Network
        Every pair on its routes; ``capacity`` is of the electrical links alone.
    """

    rule: RegionalReconfiguration
    place: Ints
    electrical: Network

    def network(self, circuits: Ints) -> Network:
        """Return the network with circuits, int64 array of shape (servers, region_servers)."""
        rule, routes = self.rule, self.electrical
        count = np.append(circuits.ravel(), 0)  # the last is that of pairs that may have none
        links = len(routes.capacity)
        own = count[np.where(self.place < 0, -1, self.place - links)]
        optical = own > 0
        each_bps = np.where(optical, own, 1) * rule.bandwidth_bps
        length = np.where(optical, 1, np.diff(routes.link_first))
        first = np.concatenate(([0], np.cumsum(length)))
        link, coefficient = np.empty(first[-1], np.int64), np.ones(first[-1])
        kept = np.repeat(~optical, np.diff(routes.link_first))
        electrical = np.repeat(~optical, length)
        link[electrical], coefficient[electrical] = routes.link[kept], routes.coefficient[kept]
        link[~electrical] = self.place[optical]
        return Network(
            first,
            link,
            coefficient,
            np.concatenate([routes.capacity, circuits.ravel() * rule.bandwidth_bps / 8.0]),
            np.where(optical, 8.0 / each_bps + rule.latency_s, routes.before),
            np.where(optical, rule.latency_s, routes.after),
        )


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
    exchanges: tuple[Exchange, ...], run: Stretches, ways: Ways, ports: Ports, on_progress: Report | None
) -> None:
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


def make_ways(fabric: Fabric, rule: RegionalReconfiguration, connections: Connections) -> Ways:
    """Return the paths of all pairs; separate rows take circuits where there are any."""
    src, dst = connections.src, connections.dst
    pairs = pair_links(fabric.topology, fabric.routes, src, dst)
    first, link, share, before, after = laid(fabric, pairs.pair_first, pairs.link, pairs.share)
    routes = Network(first, link, share, fabric.topology.bandwidth_bps / 8.0, before, after)
    place = len(fabric.topology) + src * rule.region_servers + dst % rule.region_servers
    return Ways(rule, np.where(connections.apart & rule.joins(src, dst), place, -1), routes)


def _chosen(demand_bytes: Floats, rule: RegionalReconfiguration) -> Ints:
    if rule.circuits == "improved":
        return improved_circuits(demand_bytes, rule.degree, rule.bandwidth_bps, rule.electrical_bps)
    return regional_circuits(demand_bytes, rule.degree, rule.circuits)


def find_exchanges(graph: TaskGraph) -> tuple[Exchange, ...]:
    """Return the all-to-alls that move something, in the order of their tasks."""
    exchanges = []
    for task in np.flatnonzero((graph.kind == COLLECTIVE) & (graph.collective == ALL_TO_ALL)).tolist():
        members = np.unique(np.array(graph.members(task), np.int64))
        if len(members) > 1:
            pair_bytes = int(graph.size_bytes[task]) // len(members)
            demand = np.full((len(members),) * 2, float(pair_bytes))
            np.fill_diagonal(demand, 0.0)
            row = Exchange(task, task, np.array([task]), members, demand, int(graph.iteration[task]))
            exchanges += [row] if pair_bytes else []
        else:
            exchanges += _of_transfers(graph, task)
    return tuple(exchanges)


def _of_transfers(graph: TaskGraph, begin: int) -> list[Exchange]:
    """Return the all-to-all that begins with a collective of one server, if one does."""
    after = _successors(graph, begin)
    after = after[graph.kind[after] == TRANSFER]
    barrier = (graph.src[after] == graph.dst[after]) & (graph.size_bytes[after] == 0)
    for end in after[barrier].tolist():
        moves = np.array(
            [one for one in after[~barrier].tolist() if end in _successors(graph, one)], np.int64
        )
        if len(moves) and graph.predecessors[end] == len(moves) + 1:
            src, dst = graph.src[moves], graph.dst[moves]
            members, place = np.unique(np.concatenate([src, dst]), return_inverse=True)
            demand = np.zeros((len(members),) * 2)
            np.add.at(demand, (place[: len(src)], place[len(src) :]), graph.size_bytes[moves])
            return [Exchange(begin, end, moves, members, demand, int(graph.iteration[begin]))]
    return []


def _successors(graph: TaskGraph, task: int) -> Ints:
    return graph.successor[graph.successor_first[task] : graph.successor_first[task + 1]]
