"""Small jobs for shared fabrics, and the flow simulator's answer for the same connections."""

from collections.abc import Sequence

import numpy as np

from topoopt.clusters import PlacedJob, SharingOptions
from topoopt.clusters.shared_fabric import connect
from topoopt.routing import ExplicitRoutes, Fabric, Path, make_routes
from topoopt.simulation import (
    COLLECTIVE,
    COMPUTE,
    TRANSFER,
    SimulationOptions,
    TaskGraph,
    TaskRows,
    merge_jobs,
    simulate_together,
    task_graph_from_edges,
)
from topoopt.topologies import Link, Ring, Topology, topology_from_links

MEGABYTE = 10**6
NONE = np.zeros(0, np.int64)


def sender(size_bytes: int, compute_s: float = 0.0, times: int = 1) -> TaskGraph:
    """Server 0 computes, then sends to server 1 so often at once."""
    rows = [
        TaskRows(COMPUTE, 1, compute_s, server=0),
        TaskRows(TRANSFER, times, src=0, dst=1, size_bytes=size_bytes),
    ]
    return task_graph_from_edges(2, rows, np.zeros(times, np.int64), 1 + np.arange(times))


def reducer(servers: int, size_bytes: int, compute_s: float = 0.0, times: int = 1) -> TaskGraph:
    """Every server computes, then all reduce so often at once."""
    rows = [
        TaskRows(COMPUTE, servers, compute_s, server=np.arange(servers)),
        TaskRows(
            COLLECTIVE, times, size_bytes=size_bytes, collective=0, members=(tuple(range(servers)),) * times
        ),
    ]
    before, after = np.meshgrid(np.arange(servers), servers + np.arange(times))
    return task_graph_from_edges(servers, rows, before.ravel(), after.ravel())


def training(rng: np.random.Generator, servers: int, layers: int = 3) -> TaskGraph:
    """Layers forward, an exchange of all with all, layers backward, each with an AllReduce of its own."""
    compute_s, size = rng.uniform(0.2e-3, 2e-3, layers), rng.integers(1, 20, layers) * MEGABYTE
    everyone = np.arange(servers)
    src, dst = np.repeat(everyone, servers), np.tile(everyone, servers)
    src, dst = src[np.repeat(everyone, servers) != dst], dst[np.repeat(everyone, servers) != dst]
    rows = [TaskRows(COMPUTE, servers, compute_s[layer], server=everyone) for layer in range(layers)]
    rows += [
        TaskRows(TRANSFER, len(src), src=src, dst=dst, size_bytes=int(rng.integers(1, 5)) * MEGABYTE // 4)
    ]
    rows += [TaskRows(COMPUTE, servers, 2 * compute_s[layer], server=everyone) for layer in range(layers)]
    rows += [
        TaskRows(
            COLLECTIVE, 1, size_bytes=int(size[layer]), collective=0, members=(tuple(everyone.tolist()),)
        )
        for layer in range(layers)
    ]
    exchange, back = layers * servers, layers * servers + len(src)
    reduce = back + layers * servers
    edges = [(layer * servers + everyone, (layer + 1) * servers + everyone) for layer in range(layers - 1)]
    edges += [(exchange - servers + src, exchange + np.arange(len(src)))]
    edges += [(exchange + np.arange(len(src)), back + dst)]
    for layer in range(layers):
        tasks = back + layer * servers + everyone
        edges += [(tasks, np.full(servers, reduce + layer))]
        if layer:
            edges += [(tasks - servers, tasks)]
    before, after = (np.concatenate(column) for column in zip(*edges, strict=True))
    return task_graph_from_edges(servers, rows, before, after)


def dumbbell(pairs: int, bandwidth_bps: float, neck_bps: float) -> Fabric:
    """So many servers on each of two switches, and one cable between these; server i is across from i + pairs."""
    left, right = 2 * pairs, 2 * pairs + 1
    cables = [(i, left, bandwidth_bps) for i in range(pairs)]
    cables += [(pairs + i, right, bandwidth_bps) for i in range(pairs)]
    cables += [(left, right, neck_bps)]
    links = [Link(*ends, bps, 0.0) for a, b, bps in cables for ends in ((a, b), (b, a))]
    return fabric_on(topology_from_links("dumbbell", 2 * pairs, links, nodes=2 * pairs + 2))


def fabric_on(topology: Topology) -> Fabric:
    return Fabric("test", topology, make_routes("ecmp", topology), {})


def simulated_together(
    running: Sequence[PlacedJob], fabric: Fabric, options: SharingOptions
) -> tuple[float, ...]:
    """Mean iteration times by the flow simulator, task by task and flow by flow, over the same connections."""
    table: dict[tuple[int, int], tuple[Path, ...]] = {}
    rings: dict[tuple[int, ...], tuple[Ring, ...]] = {}
    for placed in running:
        graph = merge_jobs([placed.graph], (placed.servers,), [1], fabric.topology.servers).graph
        own = connect(fabric, placed.job, graph, options.rings, options.seed)
        assert isinstance(own.routes, ExplicitRoutes)
        table.update(own.routes.table)
        rings.update(own.rings)
    connected = Fabric(fabric.name, fabric.topology, ExplicitRoutes(fabric.topology, table), rings)
    exact = SimulationOptions(split="one", ring_model=options.ring_model, tolerance=0.0)
    graphs, placement = [row.graph for row in running], tuple(row.servers for row in running)
    return simulate_together("flow", graphs, connected, placement, exact).mean_s
