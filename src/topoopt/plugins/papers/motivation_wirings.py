"""Three ways to wire 16 servers of three interfaces: for large flows, for short ones, and TopoOpt's for both."""

from collections.abc import Iterator

import numpy as np

from topoopt.catalog import ClusterSpec
from topoopt.finder import FinderRules, find_topology
from topoopt.jobs import Job, job_traffic, make_job, traffic_job
from topoopt.plugins.papers.figure import Row
from topoopt.plugins.papers.published_jobs import BULK, COUNTED
from topoopt.routing import Fabric, make_routes
from topoopt.search import simulated, starting_strategy, task_graph_of
from topoopt.simulation import COLLECTIVE, TaskRows, simulate, task_graph_from_edges
from topoopt.topologies import DEFAULT_LATENCY_S, Ring, Topology, hop_metrics, topology_from_arrays
from topoopt.workloads import Traffic, load_model
from topoopt.workloads.strategy import ParallelStrategy

SERVERS, DEGREE, BANDWIDTH_BPS = 16, 3, 100e9
EVERYONE = tuple(range(SERVERS))
ONE_RING, SHORT_PATHS, TOPOOPT = "one ring of parallel links", "short paths", "TopoOpt, three rings"


def wiring_rows() -> Iterator[Row]:
    """Yield the three wirings, every one with links one way, as the paper's figures have them.

    The bandwidth of the AllReduce is the bytes that a server has to send, 2(n-1)/n·M, over the time of the whole;
    in the time of the exchange all of the tables' transfers go at once, and nothing else.
    """
    job = _job()
    traffic = job_traffic(job, starting_strategy(job))
    for name, fabric in (
        (ONE_RING, _one_ring()),
        (SHORT_PATHS, _short_paths()),
        (TOPOOPT, _three_rings(traffic)),
    ):
        hops = hop_metrics(fabric.topology)
        exchange = traffic_job(name, Traffic(SERVERS, transfers=traffic.transfers), job.cluster)
        nothing = ParallelStrategy(SERVERS, ())
        graph = task_graph_of(job, starting_strategy(job))
        yield {
            "what": "wiring",
            "name": name,
            "servers": SERVERS,
            "iteration_time_s": simulate("flow", graph, fabric, BULK).iteration_time_s,
            "diameter": hops.diameter,
            "average_hops": hops.average_hops,
            "allreduce_bandwidth_bps": _allreduce_bandwidth_bps(fabric, traffic.allreduce_bytes),
            "exchange_time_s": simulated(exchange, nothing, fabric, "flow", BULK).iteration_time_s,
        }


def duplex_ring_diameter() -> int:
    """Return the diameter of a ring whose cables can be used both ways, however many lie side by side."""
    server = np.arange(SERVERS)
    after = (server + 1) % SERVERS
    return hop_metrics(
        _topology("ring", np.concatenate([server, after]), np.concatenate([after, server]))
    ).diameter


def _job() -> Job:
    cluster = ClusterSpec(SERVERS, DEGREE, BANDWIDTH_BPS, links="directed")
    return make_job(load_model("dlrm", servers=SERVERS), cluster, COUNTED)


def _one_ring() -> Fabric:
    """Return all interfaces on parallel links to the next server."""
    server = np.repeat(np.arange(SERVERS), DEGREE)
    topology = _topology("ring", server, (server + 1) % SERVERS)
    rings = {EVERYONE: (Ring(1, EVERYONE, EVERYONE),)}
    return Fabric("ring", topology, make_routes("single-shortest", topology), rings)


def _short_paths() -> Fabric:
    """Return the generalized Kautz graph: i to -(3i + 1), -(3i + 2) and -(3i + 3), in few hops to everybody.

    It keeps no ring; an AllReduce goes round in order of server numbers, each step along shortest paths.

    References
    ----------
    .. [1] M. Imase and M. Itoh, "A design for directed graphs with minimum diameter", IEEE ToC 1983.
    """
    server = np.repeat(np.arange(SERVERS), DEGREE)
    step = np.tile(np.arange(1, DEGREE + 1), SERVERS)
    other = -(DEGREE * server + step) % SERVERS
    apart = server != other
    topology = _topology("kautz", server[apart], other[apart])
    return Fabric("kautz", topology, make_routes("ecmp", topology), {})


def _three_rings(traffic: Traffic) -> Fabric:
    """Return what the paper's rules make of the traffic when every interface goes to rings."""
    return find_topology(
        traffic,
        degree=DEGREE,
        bandwidth_bps=BANDWIDTH_BPS,
        links="directed",
        rules=FinderRules("all-to-allreduce", "nearest"),
    )


def _topology(family: str, src: np.ndarray, dst: np.ndarray) -> Topology:
    bandwidth_bps, latency_s = np.full(len(src), BANDWIDTH_BPS), np.full(len(src), DEFAULT_LATENCY_S)
    return topology_from_arrays(family, SERVERS, src, dst, bandwidth_bps, latency_s)


def _allreduce_bandwidth_bps(fabric: Fabric, size_bytes: int) -> float:
    rows = TaskRows(COLLECTIVE, 1, size_bytes=np.array([size_bytes]), collective=0, members=(EVERYONE,))
    nothing = np.zeros(0, np.int64)
    graph = task_graph_from_edges(SERVERS, [rows], nothing, nothing)
    time_s = simulate("flow", graph, fabric, BULK).iteration_time_s
    return 2 * (SERVERS - 1) / SERVERS * size_bytes * 8 / time_s
