"""All connections of a task graph by pairs of servers, before anyone knows which circuits they will take."""

from dataclasses import dataclass, replace

import numpy as np

from topoopt.collectives import occupancy_bytes
from topoopt.errors import InvalidInput
from topoopt.routing import Fabric
from topoopt.simulate.flows import ALL_TO_ALL
from topoopt.simulate.link_classes import sum_by
from topoopt.simulate.options import SimulationOptions
from topoopt.simulate.packet.edges import EdgeBook
from topoopt.simulate.packet.options import PacketOptions
from topoopt.simulate.packet.streams import Streams, make_streams
from topoopt.simulate.reconfigurable.kernel import State
from topoopt.simulate.task_graph import TRANSFER, Floats, Ints, TaskGraph

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


def first_state(graph: TaskGraph, connections: Connections) -> State:
    """Return the state before anything has begun: the last of its tasks precedes those that wait for nothing."""
    streams, tasks, devices = connections.streams, len(graph), graph.devices
    edges, pairs = len(connections.edge_pair), len(connections.src)
    roots = np.flatnonzero(graph.predecessors == 0)

    def ints(size: int, value: int = 0) -> Ints:
        return np.full(size, value, np.int64)

    return State(
        device=np.append(graph.device, -1),
        duration=np.append(graph.duration_s, 0.0),
        successor_first=np.append(graph.successor_first, len(graph.successor) + len(roots)),
        successor=np.concatenate([graph.successor, roots]),
        waiting=np.append(np.maximum(graph.predecessors, 1), 0),
        task_stream=np.append(streams.task_first, len(streams.task)),
        open_streams=ints(tasks + 1),
        start=np.full(tasks + 1, np.nan),
        finish=np.full(tasks + 1, np.nan),
        after=ints(tasks + 1, -1),
        head=ints(devices, -1),
        tail=ints(devices, -1),
        busy=ints(devices),
        dirty=ints(devices),
        is_dirty=ints(devices),
        stream_task=streams.task,
        edge_first=connections.edge_first,
        rounds_left=streams.rounds.copy(),
        open_edges=ints(len(streams.task)),
        stream_bytes=occupancy_bytes(streams.size_bytes).astype(np.float64),
        edge_stream=np.repeat(np.arange(len(streams.task)), streams.edges),
        edge_pair=connections.edge_pair,
        ends_at=np.zeros(edges),
        next_edge=ints(edges, -1),
        first_edge=ints(pairs, -1),
        served=np.zeros(pairs),
        connections=np.zeros(pairs),
        level=np.zeros(pairs),
        entered=np.zeros(pairs),
        opening=np.zeros(pairs),
        active=ints(pairs),
        entering=ints(edges),
        running=ints(pairs),
        keys=np.zeros(tasks + edges + 2),
        codes=ints(tasks + edges + 2, tasks),
        watch=ints(tasks + 1),
        stops=ints(2 * tasks + 2),
        tally=np.array([0, 1, 0, 0, 0]),
        clock=np.zeros(1),
    )
