"""Between what moments a strategy's bytes can move: when they exist at the earliest, and what must follow them.

Both hold on every network of the cluster's interfaces, in every order of work and by whatever collective algorithm:
they come of longest chains (:mod:`topoopt.search.earliest`) in which communication takes what the interfaces of those
who talk need for it. M bytes that are AllReduced among g members leave these at least 2(g-1) times: who is first to
know a sum has heard, directly or not, something from each of the g-1 others, and after that each of the g-1 hears of
it. Half of that is a reduce-scatter, or an all-gather.
"""

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.catalog import ClusterSpec
from topoopt.search.earliest import LeastTimes, backwards, earliest, earliest_by_each
from topoopt.search.moore_hops import moore_hops
from topoopt.simulation import COLLECTIVE, COLLECTIVES, COMPUTE, TRANSFER, TaskGraph

ALL_TO_ALL = COLLECTIVES.index("all-to-all")
PASSES = np.array([{"allreduce": 2.0, "all-to-all": 0.0}.get(name, 1.0) for name in COLLECTIVES])
"""How often the members of a collective, but one, send its bytes together; an all-to-all is pairs of servers."""


@dataclass(frozen=True, eq=False)
class Windows:
    """Times of a task graph that no network undercuts.

    Attributes
    ----------
    release_s, tail_s : float64 arrays, shape (tasks,)
        The earliest moment at which a task works or its first byte leaves; what the iteration takes after its end.
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
    """Return the longest time of a device: until its first task can start, all its work, and what follows the last."""
    computes = graph.kind == COMPUTE
    device = graph.device[computes]
    first_s, last_s = np.full(graph.devices, np.inf), np.full(graph.devices, np.inf)
    np.minimum.at(first_s, device, start_s[computes])
    np.minimum.at(last_s, device, tail_s[computes])
    load_s = np.bincount(device, graph.duration_s[computes], minlength=graph.devices)
    total_s = (first_s + load_s + last_s)[load_s > 0]
    return float(total_s.max(initial=0.0))


def least_times(graph: TaskGraph, cluster: ClusterSpec) -> LeastTimes:
    """Return what each communication takes at least on any network of the cluster's interfaces.

    What leaves a transfer's source, or the members of a collective together, takes its bytes over the bandwidth of
    their interfaces, and the last byte a hop; an all-to-all also takes its bytes times the hops of Moore's tree over
    all interfaces that there are.
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
