"""From a model and a strategy to a task graph: what one training iteration does, and what waits for what.

Per operator and part a forward and a backward compute task. A forward part waits for the producers' parts
that overlap its index boxes; what lies on another server comes by a transfer. The backward pass mirrors it.
The replicas of a weight tensor are AllReduced when the backward part of each is done.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from topoopt.errors import InvalidInput
from topoopt.simulate.task_graph import (
    COLLECTIVE,
    COLLECTIVES,
    COMPUTE,
    PHASES,
    TRANSFER,
    Ints,
    TaskGraph,
    TaskRows,
    distinct,
    task_graph_from_edges,
)
from topoopt.strategy import ParallelStrategy, edge_transfers, part_samples, weight_shards
from topoopt.workload import OperatorGraph, OperatorTimer

DEFAULT_INTRA_SERVER_BANDWIDTH_BPS = 200e9
"""25 GB/s between the accelerators of a server, as in the authors' simulations."""

_FORWARD, _BACKWARD, _ACTIVATION, _GRADIENT, _ALLREDUCE = (
    PHASES.index(name) for name in ("forward", "backward", "activation", "gradient", "allreduce")
)


@dataclass(frozen=True, eq=False)
class _Parts:
    """Compute tasks of one iteration, numbered from 0: forward parts first, then backward parts."""

    count: Ints  # parts of each operator
    forward: Ints  # number of each operator's first forward part
    backward: Ints  # likewise; the last operator's come first
    server: Ints  # of each compute task
    duration_s: np.ndarray[tuple[int], np.dtype[np.float64]]
    operator: Ints

    @property
    def total(self) -> int:
        """Compute tasks of one iteration."""
        return len(self.server)


@dataclass(frozen=True, eq=False)
class _Messages:
    """Overlaps between compute tasks: dependencies and, where the servers differ, transfers."""

    before: Ints
    after: Ints
    src: Ints
    dst: Ints
    size_bytes: Ints
    operator: Ints
    phase: Ints

    def of(self, chosen: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> "_Messages":
        """Return some rows."""
        columns = (self.before, self.after, self.src, self.dst, self.size_bytes, self.operator, self.phase)
        return _Messages(*(column[chosen] for column in columns))


@dataclass(frozen=True, eq=False)
class _Sync:
    """One AllReduce and the numbers of the forward and backward tasks that hold its replicas."""

    operator: int
    members: tuple[int, ...]
    size_bytes: int
    delay_s: float
    forward: Ints
    backward: Ints


def build_task_graph(
    graph: OperatorGraph,
    strategy: ParallelStrategy,
    timer: OperatorTimer,
    accelerators_per_server: int,
    intra_server_bandwidth_bps: float = DEFAULT_INTRA_SERVER_BANDWIDTH_BPS,
    embedding_bytes_factor: int = 1,
    iterations: int = 1,
    bucket_bytes: int = 0,
) -> TaskGraph:
    """Return the task graph of ``iterations`` training iterations.

    Before the AllReduce of S bytes over servers, each server reduces over its accelerators, which takes
    2·S / accelerators / intra-server bandwidth; not for embedding tables, which live on one of them. A tensor
    without replicas on other servers has only that delay.

    ``bucket_bytes`` above 0 joins gradients of equal replica groups, in the order of the backward pass, into
    AllReduces of at least so many bytes (the last of a group may be smaller), as data-parallel frameworks do.

    In iteration i+1 a forward part waits for its own backward part and its own AllReduces of iteration i: the
    next forward pass overlaps the tail of the AllReduces, layer by layer.

    Raises
    ------
    InvalidInput
        If a count is below 1 or the strategy does not fit the model.
    """
    for name, value in (("accelerators_per_server", accelerators_per_server), ("iterations", iterations)):
        if value < 1:
            raise InvalidInput(f"task graph: {name} must be >= 1, got {value}")
    if len(strategy.splits) != len(graph.operators):
        raise InvalidInput(
            f"task graph: the strategy splits {len(strategy.splits)} operators, "
            f"model {graph.name} has {len(graph.operators)}"
        )
    batch = graph.batch_per_accelerator * accelerators_per_server * strategy.servers
    parts = _parts(graph, strategy, timer, batch)
    messages = _messages(graph, strategy, parts, batch, embedding_bytes_factor)
    per_byte_s = 0.0 if accelerators_per_server == 1 else 8.0 / intra_server_bandwidth_bps
    syncs = list(_syncs(graph, strategy, parts, 2.0 * per_byte_s / accelerators_per_server))
    if bucket_bytes:
        syncs = _bucketed(syncs, bucket_bytes)
    return _assemble(graph, strategy.servers, parts, messages, syncs, iterations)


def _parts(graph: OperatorGraph, strategy: ParallelStrategy, timer: OperatorTimer, batch: int) -> _Parts:
    count = np.array([split.parts for split in strategy.splits], np.int64)
    total = int(count.sum())
    forward = np.cumsum(count) - count
    backward = 2 * total - np.cumsum(count)
    server = np.zeros(2 * total, np.int64)
    duration_s = np.zeros(2 * total)
    operator = np.zeros(2 * total, np.int64)
    for index, (op, split) in enumerate(zip(graph.operators, strategy.splits, strict=True)):
        time = timer.time(op, part_samples(split, batch), split.channel_degree)
        for first, seconds in ((forward[index], time.forward_s), (backward[index], time.backward_s)):
            chosen = slice(first, first + count[index])
            server[chosen] = split.servers(strategy.servers)
            duration_s[chosen] = seconds
            operator[chosen] = index
    return _Parts(count, forward, backward, server, duration_s, operator)


def _messages(
    graph: OperatorGraph, strategy: ParallelStrategy, parts: _Parts, batch: int, factor: int
) -> _Messages:
    columns: list[tuple[Ints, ...]] = []
    for index, op in enumerate(graph.operators):
        own = np.arange(parts.count[index])
        here = parts.server[parts.forward[index] + own]
        columns.append(
            _rows(
                parts.forward[index] + own, parts.backward[index] + own, here, here, 0 * own, index, _BACKWARD
            )
        )
        for producer in op.inputs:
            edge = edge_transfers(graph, strategy, producer, index, batch, factor)
            made, used = edge.producer_part, edge.consumer_part
            size = np.asarray(edge.size_bytes, np.int64)
            ahead = parts.forward[producer] + made, parts.forward[index] + used
            back = parts.backward[index] + used, parts.backward[producer] + made
            columns.append(_rows(*ahead, edge.src, edge.dst, size, producer, _ACTIVATION))
            columns.append(_rows(*back, edge.dst, edge.src, size, producer, _GRADIENT))
    return _Messages(*(np.concatenate(column) for column in zip(*columns, strict=True)))


def _rows(
    before: Ints, after: Ints, src: Ints, dst: Ints, size: Ints, operator: int, phase: int
) -> tuple[Ints, ...]:
    return before, after, src, dst, size, np.full(len(before), operator), np.full(len(before), phase)


def _syncs(
    graph: OperatorGraph, strategy: ParallelStrategy, parts: _Parts, delay_s_per_byte: float
) -> Iterator[_Sync]:
    for index, op in enumerate(graph.operators):
        place = {server: part for part, server in enumerate(strategy.splits[index].servers(strategy.servers))}
        delay = 0.0 if op.is_embedding else delay_s_per_byte
        for shard in weight_shards(graph, strategy, index):
            if len(shard.members) < 2 and not delay * shard.size_bytes:
                continue
            own = np.array([place[server] for server in shard.members], np.int64)
            yield _Sync(
                index,
                shard.members,
                shard.size_bytes,
                delay * shard.size_bytes,
                parts.forward[index] + own,
                parts.backward[index] + own,
            )


def _bucketed(syncs: list[_Sync], bucket_bytes: int) -> list[_Sync]:
    """Join syncs of equal members, the last operators' first, until a bucket is full."""
    done: list[_Sync] = []
    filling: dict[tuple[int, ...], list[_Sync]] = {}
    for sync in sorted(syncs, key=lambda row: -row.operator):
        bucket = filling.setdefault(sync.members, [])
        bucket.append(sync)
        if sum(row.size_bytes for row in bucket) >= bucket_bytes:
            done.append(_joined(filling.pop(sync.members)))
    return done + [_joined(bucket) for bucket in filling.values()]


def _joined(bucket: list[_Sync]) -> _Sync:
    return _Sync(
        bucket[-1].operator,
        bucket[0].members,
        sum(row.size_bytes for row in bucket),
        sum(row.delay_s for row in bucket),
        distinct(np.concatenate([row.forward for row in bucket])),
        distinct(np.concatenate([row.backward for row in bucket])),
    )


def _assemble(
    graph: OperatorGraph,
    servers: int,
    parts: _Parts,
    messages: _Messages,
    syncs: list[_Sync],
    iterations: int,
) -> TaskGraph:
    remote = (messages.src != messages.dst) & (messages.size_bytes > 0)
    local, transfers = messages.of(~remote), messages.of(remote)
    sizes = len(transfers.before), len(syncs)
    tasks = parts.total + sum(sizes)
    transfer_ids = parts.total + np.arange(sizes[0])
    first_sync = parts.total + sizes[0]
    rows: list[TaskRows] = []
    before, after = [], []
    for iteration in range(iterations):
        rows += _task_rows(parts, transfers, syncs, iteration)
        edges = [
            (local.before, local.after),
            (transfers.before, transfer_ids),
            (transfer_ids, transfers.after),
            *((sync.backward, np.full(len(sync.backward), first_sync + i)) for i, sync in enumerate(syncs)),
        ]
        before += [source + iteration * tasks for source, _ in edges]
        after += [target + iteration * tasks for _, target in edges]
        if iteration:
            held = [
                (_backward_of(parts), np.arange(parts.total // 2)),
                *((np.full(len(sync.forward), first_sync + i), sync.forward) for i, sync in enumerate(syncs)),
            ]
            before += [source + (iteration - 1) * tasks for source, _ in held]
            after += [target + iteration * tasks for _, target in held]
    names = tuple(op.name for op in graph.operators)
    return task_graph_from_edges(servers, rows, np.concatenate(before), np.concatenate(after), names)


def _backward_of(parts: _Parts) -> Ints:
    """Return the backward task of every forward task."""
    operator = parts.operator[: parts.total // 2]
    return parts.backward[operator] + np.arange(parts.total // 2) - parts.forward[operator]


def _task_rows(
    parts: _Parts, transfers: _Messages, syncs: list[_Sync], iteration: int
) -> tuple[TaskRows, ...]:
    half = parts.total // 2
    return (
        TaskRows(
            COMPUTE,
            parts.total,
            parts.duration_s,
            server=parts.server,
            operator=parts.operator,
            phase=np.repeat([_FORWARD, _BACKWARD], half),
            iteration=iteration,
        ),
        TaskRows(
            TRANSFER,
            len(transfers.before),
            src=transfers.src,
            dst=transfers.dst,
            size_bytes=transfers.size_bytes,
            operator=transfers.operator,
            phase=transfers.phase,
            iteration=iteration,
        ),
        TaskRows(
            COLLECTIVE,
            len(syncs),
            np.array([sync.delay_s for sync in syncs]),
            size_bytes=np.array([sync.size_bytes for sync in syncs], np.int64),
            collective=COLLECTIVES.index("allreduce"),
            members=tuple(sync.members for sync in syncs),
            operator=np.array([sync.operator for sync in syncs], np.int64),
            phase=_ALLREDUCE,
            iteration=iteration,
        ),
    )
