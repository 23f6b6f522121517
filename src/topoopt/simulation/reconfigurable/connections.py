"""All connections of a task graph by pairs of servers, before anyone knows which circuits they will take."""

from dataclasses import dataclass, replace

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.base.errors import InvalidInput
from topoopt.collectives import occupancy_bytes
from topoopt.routing import Fabric
from topoopt.simulation.fluid.engine import first_state
from topoopt.simulation.fluid.sharing import make_sharing
from topoopt.simulation.fluid.state import State, make_rounds
from topoopt.simulation.link_classes import sum_by
from topoopt.simulation.options import COARSE_TOLERANCE, EXACT_CONNECTIONS, SimulationOptions
from topoopt.simulation.packet.edges import EdgeBook
from topoopt.simulation.packet.options import PacketOptions
from topoopt.simulation.packet.streams import Streams, make_streams
from topoopt.simulation.task_graph import ALL_TO_ALL, TRANSFER, TaskGraph

Bools = np.ndarray[tuple[int], np.dtype[np.bool_]]


@dataclass(frozen=True, eq=False)
class Connections:
    """Streams of rounds, and the ordered pair of each of their edges.

    Attributes
    ----------
    edge_pair : int64 array, shape (edges,)
        Row of its pair; stream s has the edges ``edge_first[s] : edge_first[s+1]``.
    edge_first : int64 array, shape (streams+1,)
    src, dst : int64 arrays, shape (pairs,)
    payload_share : float64 array, shape (pairs,)
        Payload over the bytes of whole packets.
    payload_bytes : float64 array, shape (pairs,)
    transfers : bool array, shape (pairs,)
        Whether a pair has more to do than to be neighbors in a ring.
    apart : bool array, shape (pairs,)
        Whether it is a row of tasks whose pairs have rows of their own.
    """

    streams: Streams
    edge_pair: Ints
    edge_first: Ints
    src: Ints
    dst: Ints
    payload_share: Floats
    payload_bytes: Floats
    transfers: Bools
    apart: Bools


def make_connections(
    graph: TaskGraph, fabric: Fabric, options: SimulationOptions, apart: Bools | None = None
) -> Connections:
    """Return the connections of all communication tasks; rings go in member order.

    Parameters
    ----------
    apart : bool array, shape (tasks,), optional
        Tasks whose pairs have rows of their own: their bytes do not go the same way as those of the others.

    Raises
    ------
    InvalidInput
        If transfers are to keep to paths.
    """
    if options.split != "spread":
        raise InvalidInput(
            f"split: transfers on {fabric.name} keep to no path, since its circuits change, got {options.split}; "
            "use spread"
        )
    book = EdgeBook(fabric)
    streams = make_streams(graph, fabric, replace(options, packet=PacketOptions()), book)
    edge_first = np.concatenate(([0], np.cumsum(streams.edges))).astype(np.int64)
    stream = np.repeat(np.arange(len(streams.task)), streams.edges)
    # streams of one ring share its edges in the book; here each has its own
    edge = np.arange(len(stream)) - np.repeat(edge_first[:-1] - streams.edge_first, streams.edges)
    src, dst = book.ends()
    side = np.zeros(len(stream), np.int64) if apart is None else apart[streams.task[stream]].astype(np.int64)
    key, pair = np.unique(2 * (src * graph.servers + dst)[edge] + side, return_inverse=True)
    payload = sum_by(pair, (streams.rounds * streams.size_bytes)[stream].astype(np.float64), len(key))
    packed = sum_by(
        pair, (streams.rounds * occupancy_bytes(streams.size_bytes))[stream].astype(np.float64), len(key)
    )
    task = streams.task[stream]
    transfers = np.zeros(len(key), np.bool_)
    transfers[pair[(graph.kind[task] == TRANSFER) | (graph.collective[task] == ALL_TO_ALL)]] = True
    first, second = np.divmod(key // 2, graph.servers)
    return Connections(
        streams, pair, edge_first, first, second, payload / packed, payload, transfers, key % 2 == 1
    )


def state_of(graph: TaskGraph, connections: Connections) -> State:
    """Return the state of the engine before anything has begun; its classes are the pairs."""
    streams, pairs = connections.streams, len(connections.src)
    size_bytes = occupancy_bytes(streams.size_bytes).astype(np.float64)
    return first_state(
        graph,
        make_rounds(streams.task_first, connections.edge_first, streams.rounds, pairs),
        make_sharing(
            connections.edge_pair,
            np.repeat(size_bytes, streams.edges),
            np.ones(len(connections.edge_pair)),
            pairs,
        ),
    )


def tolerance_of(connections: Connections, options: SimulationOptions) -> float:
    """Return within which part of the elapsed time changes are handled together: the usual one over the most rounds."""
    if options.tolerance is not None:
        return options.tolerance
    streams = connections.streams
    few = streams.connections <= EXACT_CONNECTIONS
    return 0.0 if few else COARSE_TOLERANCE / int(streams.rounds.max())
