"""How much was asked for, and over how many links it went."""

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.simulation.csr import entries_between, owners
from topoopt.simulation.link_classes import sum_by, whole_hops
from topoopt.simulation.packet.edges import Edges
from topoopt.simulation.packet.kernel import layout
from topoopt.simulation.packet.kernel.layout import State
from topoopt.simulation.packet.streams import Streams
from topoopt.simulation.task_graph import TRANSFER, TaskGraph
from topoopt.topologies import Topology


def carried_on_paths(
    graph: TaskGraph, topology: Topology, streams: Streams, edges: Edges
) -> tuple[float, float, Floats, Floats]:
    """Return bytes demanded, bandwidth tax, and demanded bytes and transferring pairs by hops, by path weights."""
    table, rows = edges.paths, len(edges.src)
    edge, of_edge = entries_between(streams.edge_first, streams.edge_first + streams.edges)
    row = edges.row[edge]
    size = (streams.rounds * streams.size_bytes)[of_edge].astype(np.float64)
    row_bytes = np.bincount(row, size, minlength=rows)
    of_path = owners(table.pair_first)
    path_bytes = row_bytes[of_path] * table.weight
    hops = np.diff(table.path_first)
    by_server = topology.src[table.link] < topology.servers
    sends = (
        np.add.reduceat(np.append(by_server, False).astype(np.int64), table.path_first[:-1])
        if len(hops)
        else hops
    )
    demanded = float(size.sum())
    pairs = np.unique(row[graph.kind[streams.task[of_edge]] == TRANSFER])
    moving = np.zeros(rows)
    moving[pairs] = 1.0
    return (
        demanded,
        float(path_bytes @ sends) / demanded if demanded else 1.0,
        np.bincount(hops, path_bytes, minlength=1).astype(np.float64),
        np.bincount(hops, moving[of_path] * table.weight, minlength=1).astype(np.float64),
    )


def carried_on_circuits(state: State, streams: Streams) -> tuple[float, float, Floats, Floats]:
    """Return the same where paths change under way: every byte counts with the mean links of all packets."""
    connections = streams.rounds * streams.edges
    demanded = float((connections * streams.size_bytes).sum())
    sent = float((connections * (streams.packets * layout.SIZE_DATA + layout.SIZE_OPEN)).sum())
    mean = float(state.link[:, layout.Link.BYTES].sum()) / sent if sent else 1.0
    hops, share = whole_hops(np.array([mean]))
    return demanded, mean, sum_by(hops.astype(np.int64), share * demanded, int(hops.max()) + 1), np.zeros(1)
