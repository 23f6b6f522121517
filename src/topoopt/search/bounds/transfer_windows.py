"""Time windows of a strategy's bytes: their earliest existence, and the work that must follow them.

Both hold on every network of the cluster's interfaces, in every order of work and with any collective algorithm:
they are longest chains in which communication takes the time that the interfaces of its servers need. M bytes that
are AllReduced among g members leave these at least 2(g-1) times: the first member to know a sum has received,
directly or not, something from each of the g-1 others, and after that each of the g-1 receives it. Half of that is
a reduce-scatter, or an all-gather.

When each task can start at the earliest, in whatever order the devices take up their work.

A simulation with free communication does not give them. Devices work first come, first served, so a transfer that
comes late may let a task go first that others wait for: more communication, and an earlier end of an AllReduce. What
holds in every order is that a task waits for the longest chain of tasks before it, and for all the work that is before
it on its own device, which does one thing after the other.

Communication in such a chain is free, or takes a time that no network can undercut (:class:`LeastTimes`). For the
graph :func:`backwards`, the result is the work that must follow a task before the iteration can end.
"""

from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from topoopt.base.arrays import Floats, Ints, numbered
from topoopt.catalog import ClusterSpec
from topoopt.simulation import COLLECTIVE, COLLECTIVES, COMPUTE, TRANSFER, TaskGraph
from topoopt.topologies import moore_histogram
from topoopt.workloads import RING_PASSES

LARGEST_SETS_BYTES = 256_000_000
"""Memory for the sets of tasks before each task; where they do not fit, only chains count."""


@dataclass(frozen=True, eq=False)
class LeastTimes:
    """Least times of communication.

    Attributes
    ----------
    delay_s, sent_s : float64 arrays, shape (tasks,)
        Time before the first byte of communication, and from there to its last; 0 for computation.
    server_bytes_per_s : float
        Bandwidth per server and direction.
    latency_s : float
        Latency of one link.
    """

    delay_s: Floats
    sent_s: Floats
    server_bytes_per_s: float
    latency_s: float


@dataclass(frozen=True, eq=False)
class Earliest:
    """Earliest start of every task, shape (tasks,), and the least time of all."""

    start_s: Floats
    least_time_s: float


class _Way:
    def __init__(self, graph: TaskGraph, work_s: Floats, network: LeastTimes | None) -> None:
        self.graph, self.network = graph, network
        self.start_s = np.zeros(len(graph))
        self.takes_s = work_s if network is None else work_s + network.delay_s + network.sent_s
        self.moved = (graph.kind == TRANSFER) & (graph.src != graph.dst) & (graph.size_bytes > 0)

    def arrived_s(self, task: Ints, before: Ints, starts: Ints) -> Floats:
        """Return the arrival of all inputs of tasks; ``before`` lists the predecessors by rows."""
        chains_s: Floats = np.maximum.reduceat(self.start_s[before] + self.takes_s[before], starts)
        if self.network is not None:
            heard = np.flatnonzero(self.moved[before])
            row = np.searchsorted(starts, heard, side="right") - 1
            own = self.graph.dst[before[heard]] == self.graph.server[task[row]]
            if own.any():
                self._hear(self.network, row[own], before[heard[own]], chains_s)
        return chains_s

    def _hear(self, network: LeastTimes, row: Ints, transfer: Ints, arrived_s: Floats) -> None:
        """Delay the tasks that wait for data until the server's interfaces can have received all of it.

        Transfers that can start at r or later are not received before r, so they take until r + bytes ÷ bandwidth.
        """
        release_s = self.start_s[transfer] + network.delay_s[transfer]
        order = np.lexsort((-release_s, row))
        row, release_s = row[order], release_s[order]
        total = np.cumsum(self.graph.size_bytes[transfer][order].astype(np.float64))
        begins = np.searchsorted(row, row)
        later_bytes = total - np.where(begins > 0, total[begins - 1], 0.0)
        heard_s = release_s + later_bytes / network.server_bytes_per_s + network.latency_s
        np.maximum.at(arrived_s, row, heard_s)


class _LocalSets:
    """Predecessors of every compute task on its own device, itself included."""

    def __init__(self, graph: TaskGraph, work_s: Floats) -> None:
        computes = np.flatnonzero(graph.kind == COMPUTE)
        by_device = computes[np.argsort(graph.device[computes], kind="stable")]
        count = np.bincount(graph.device[computes], minlength=graph.devices)
        most = int(count.max(initial=0))
        self.fit = len(graph) * most <= LARGEST_SETS_BYTES
        self.device = graph.device
        self.place = np.zeros(len(graph), np.int64)  # of a task among those of its device
        self.place[by_device] = np.arange(len(by_device)) - np.repeat(np.cumsum(count) - count, count)
        self.work_s = np.zeros((graph.devices, most))
        self.work_s[graph.device[computes], self.place[computes]] = work_s[computes]
        self.held = np.zeros((len(graph), most) if self.fit else (0, 0), np.bool_)
        if self.fit:
            self.held[computes, self.place[computes]] = True

    def work_before_s(self, task: Ints, before: Ints, starts: Ints) -> Floats:
        """Return the work before each task on its device; ``before`` are the tasks that each waits for, by rows."""
        if not self.fit:
            return np.zeros(len(task))
        work_s = np.zeros(len(task))
        row = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(before))))
        here = self.device[task][row] == self.device[before]  # of communication -1, which nothing below holds
        here &= self.device[before] >= 0
        row = row[here]
        if not len(row):
            return work_s
        begins = np.flatnonzero(np.concatenate(([True], row[1:] != row[:-1])))
        sets = np.logical_or.reduceat(self.held[before[here]], begins, axis=0)
        chosen = task[row[begins]]
        work_s[row[begins]] = np.einsum("ij,ij->i", sets, self.work_s[self.device[chosen]])
        self.held[chosen] |= sets
        return work_s


ALL_TO_ALL = COLLECTIVES.index("all-to-all")
PASSES = np.array([RING_PASSES.get(name, 0.0) for name in COLLECTIVES])
"""Passes of a buffer: n members send (n - 1) times this many buffers in all; an all-to-all is split into pairs."""


@dataclass(frozen=True, eq=False)
class Windows:
    """Times of a task graph that no network undercuts.

    Attributes
    ----------
    release_s, tail_s : float64 arrays, shape (tasks,)
        Earliest start of a task or its first byte; time of the iteration after its end.
    compute_s : float
        The iteration, if communication were free.
    critical_path_s : float
        The longest chain of computation and communication, each alone on the network.
    """

    release_s: Floats
    tail_s: Floats
    compute_s: float
    critical_path_s: float


def windows(graph: TaskGraph, cluster: ClusterSpec) -> Windows:
    """Return the windows of all tasks on the cluster; those of a graph are kept as long as it is there."""
    if graph not in _KEPT or _KEPT[graph][0] != cluster:
        _KEPT[graph] = cluster, _windows(graph, cluster)
    return _KEPT[graph][1]


_KEPT: WeakKeyDictionary[TaskGraph, tuple[ClusterSpec, Windows]] = WeakKeyDictionary()


def _windows(graph: TaskGraph, cluster: ClusterSpec) -> Windows:
    network = least_times(graph, cluster)
    free, alone = earliest_by_each(graph, [None, network])
    before_s = network.delay_s + network.sent_s
    back = earliest(
        backwards(graph),
        LeastTimes(np.zeros(len(graph)), before_s, network.server_bytes_per_s, network.latency_s),
    )
    computes = graph.kind == COMPUTE
    through_s = alone.start_s + back.start_s + np.where(computes, graph.duration_s, before_s)
    longest_s = max(float(through_s.max(initial=0.0)), _busiest_device_s(graph, alone.start_s, back.start_s))
    return Windows(
        alone.start_s + network.delay_s,
        back.start_s,
        free.least_time_s,
        max(longest_s, alone.least_time_s, back.least_time_s),
    )


def _busiest_device_s(graph: TaskGraph, start_s: Floats, tail_s: Floats) -> float:
    """Return the longest time of a device: the start of its first task, all its work, and the time after its last."""
    computes = graph.kind == COMPUTE
    device = graph.device[computes]
    first_s, last_s = np.full(graph.devices, np.inf), np.full(graph.devices, np.inf)
    np.minimum.at(first_s, device, start_s[computes])
    np.minimum.at(last_s, device, tail_s[computes])
    load_s = np.bincount(device, graph.duration_s[computes], minlength=graph.devices)
    total_s = (first_s + load_s + last_s)[load_s > 0]
    return float(total_s.max(initial=0.0))


def least_times(graph: TaskGraph, cluster: ClusterSpec) -> LeastTimes:
    """Return lower bounds on the time of each communication, on any network of the cluster's interfaces.

    A transfer takes at least its bytes over the bandwidth of its source, a collective its bytes over that of its
    members together, plus one hop for the last byte; an all-to-all also takes its bytes times the hops of Moore's
    tree over all interfaces.
    """
    server = cluster.server_bandwidth_bps / 8
    delay_s = np.where(graph.kind == COMPUTE, 0.0, graph.duration_s)
    sent_s = np.zeros(len(graph))
    moved = (graph.kind == TRANSFER) & (graph.src != graph.dst) & (graph.size_bytes > 0)
    sent_s[moved] = graph.size_bytes[moved] / server + cluster.link_latency_s
    several = np.flatnonzero((graph.kind == COLLECTIVE) & (graph.size_bytes > 0))
    members = np.diff(graph.member_first)[several]
    several, members = several[members > 1], members[members > 1]
    if len(several):
        size = graph.size_bytes[several].astype(np.float64)
        share = np.where(
            graph.collective[several] == ALL_TO_ALL, graph.size_bytes[several] // members, 0
        ).astype(np.float64)
        reached = np.cumsum(moore_hops(cluster.servers, cluster.degree, cluster.links))
        distinct = np.minimum(members, cluster.servers)
        hop_bytes = distinct * share * reached[distinct - 2]
        alone = (PASSES[graph.collective[several]] / members * size + share) * (members - 1) / server
        sent_s[several] = np.maximum(alone, hop_bytes / (server * cluster.servers)) + cluster.link_latency_s
        sent_s[several[(share == 0) & (graph.collective[several] == ALL_TO_ALL)]] = 0.0
    return LeastTimes(delay_s, sent_s, server, cluster.link_latency_s)


def earliest(graph: TaskGraph, network: LeastTimes | None = None) -> Earliest:
    """Return the earliest start of each task, and the earliest end of the graph; communication is free by default."""
    return earliest_by_each(graph, [network])[0]


def earliest_by_each(graph: TaskGraph, networks: list[LeastTimes | None]) -> list[Earliest]:
    """Return the same for several networks (None: free communication), which share the sets of predecessors."""
    computes = graph.kind == COMPUTE
    work_s = np.where(computes, graph.duration_s, 0.0)
    ways = [_Way(graph, work_s, network) for network in networks]
    sets = _LocalSets(graph, work_s)
    first, predecessor = _before(graph)
    waiting = graph.predecessors.copy()
    ready = np.flatnonzero(waiting == 0)
    while len(ready):
        waits = ready[graph.predecessors[ready] > 0]
        if len(waits):
            rows, starts = _rows(first, waits)
            before = predecessor[rows]
            held_s = sets.work_before_s(waits, before, starts)
            for way in ways:
                way.start_s[waits] = np.maximum(way.arrived_s(waits, before, starts), held_s)
        after, row = numbered(graph.successor[_rows(graph.successor_first, ready)[0]], len(graph))
        waiting[after] -= np.bincount(row, minlength=len(after)).astype(waiting.dtype)
        ready = after[waiting[after] == 0]
    return [Earliest(way.start_s, _least_time_s(graph, way, work_s)) for way in ways]


def backwards(graph: TaskGraph) -> TaskGraph:
    """Return the time-reversed graph; transfers are reversed, too."""
    first, predecessor = _before(graph)
    waiting = np.diff(graph.successor_first).astype(graph.predecessors.dtype)
    return replace(
        graph,
        src=graph.dst,
        dst=graph.src,
        successor_first=first,
        successor=predecessor,
        predecessors=waiting,
    )


def _before(graph: TaskGraph) -> tuple[Ints, Ints]:
    source = np.repeat(np.arange(len(graph)), np.diff(graph.successor_first))
    order = np.argsort(graph.successor, kind="stable")
    return np.searchsorted(graph.successor[order], np.arange(len(graph) + 1)), source[order]


def _least_time_s(graph: TaskGraph, way: "_Way", work_s: Floats) -> float:
    computes = graph.kind == COMPUTE
    idle_s, load_s = np.full(graph.devices, np.inf), np.zeros(graph.devices)
    np.minimum.at(idle_s, graph.device[computes], way.start_s[computes])
    np.add.at(load_s, graph.device[computes], work_s[computes])
    ends_s = [way.start_s + way.takes_s, (idle_s + load_s)[load_s > 0]]
    return float(np.concatenate(ends_s).max(initial=0.0))


def _rows(first: Ints, of: Ints) -> tuple[Ints, Ints]:
    """Return the CSR entries of some rows, one row after the other, and where each begins."""
    count = first[of + 1] - first[of]
    starts = np.cumsum(count) - count
    return np.repeat(first[of] - starts, count) + np.arange(count.sum()), starts


def moore_hops(servers: int, degree: int, links: str) -> NDArray[np.int64]:
    """Return the fewest hops to the 1st, 2nd, … other server in any graph of this degree, shape (servers-1,).

    Examples
    --------
    >>> moore_hops(8, 3, "duplex").tolist()
    [1, 1, 1, 2, 2, 2, 2]
    """
    met = list(moore_histogram(servers, degree, links))
    return np.repeat(np.arange(1, len(met) + 1), met)
