"""Task graphs in the making: a draft that numbers tasks, and the iteration of a model under a strategy.

Each operator part has a forward and a backward compute task. A forward part waits for the producers' parts that
overlap its index boxes; data from another server comes by a transfer. The backward pass mirrors it. The replicas
of a weight tensor are AllReduced when the backward part of each is done.

The batch may be computed in several pieces, whose exchanges then overlap with the computing of the next ones.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from topoopt.base.answers import fields_of
from topoopt.base.arrays import Floats, Ints, Ints32
from topoopt.base.errors import InvalidInput
from topoopt.simulation.task_graph import (
    COLLECTIVE,
    COLLECTIVES,
    COMPUTE,
    PHASES,
    TRANSFER,
    TaskGraph,
    TaskRows,
    distinct,
    task_graph_from_edges,
)
from topoopt.workloads import (
    OperatorGraph,
    OperatorTimer,
    ParallelStrategy,
    edge_transfers,
    part_samples,
    weight_shards,
)


@dataclass(slots=True)
class Draft:
    """Tasks of one iteration, and which wait for which.

    Attributes
    ----------
    rows : list of TaskRows
    edges : list of (before, after)
        Tasks of one iteration.
    held : list of (before, after)
        ``after`` is of the next iteration.
    count : int
        Tasks so far.
    """

    rows: list[TaskRows] = field(default_factory=list)
    edges: list[tuple[Ints, Ints]] = field(default_factory=list)
    held: list[tuple[Ints, Ints]] = field(default_factory=list)
    count: int = 0

    def add(self, rows: TaskRows) -> Ints:
        """Return the numbers of new tasks, shape (rows.count,)."""
        first = self.count
        self.rows.append(rows)
        self.count += rows.count
        return np.arange(first, self.count)

    def add_barrier(self, server: int, count: int) -> Ints:
        """Return the numbers of tasks that take no time: transfers of nothing from a server to itself."""
        return self.add(TaskRows(TRANSFER, count, src=server, dst=server))

    def add_collective(
        self,
        kind: str,
        members: tuple[int, ...],
        size_bytes: int,
        delay_s: float,
        count: int,
        label: int,
        phase: int,
    ) -> Ints:
        """Return the numbers of ``count`` equal collectives; for one server only the delay."""
        row = TaskRows(
            COLLECTIVE,
            count,
            delay_s,
            size_bytes=size_bytes,
            collective=COLLECTIVES.index(kind),
            members=(members,) * count,
            operator=label,
            phase=phase,
        )
        return self.add(row)

    def no_sooner(self, ready: Ints, done: Ints, server: int, least_s: float) -> Ints:
        """Return tasks that end with ``done``, at least ``least_s`` after each column of ``ready``."""
        if not least_s:
            return done
        pause = self.add(TaskRows(COLLECTIVE, len(done), least_s, members=((server,),) * len(done)))
        self.wait(ready, pause)
        end = self.add_barrier(server, len(done))
        self.wait(np.stack([pause, done]), end)
        return end

    def wait(self, before: Ints, after: Ints, *, next_iteration: bool = False) -> None:
        """Add a dependency of each of ``after`` on its ``before``; the two are broadcast against each other."""
        both = np.broadcast_arrays(before, after)
        pair = both[0].ravel(), both[1].ravel()
        (self.held if next_iteration else self.edges).append(pair)

    def graph(self, servers: int, iterations: int, names: tuple[str, ...]) -> TaskGraph:
        """Return the graph of ``iterations`` iterations."""
        if iterations == 1:  # nothing is copied: of many tasks there are more edges
            return task_graph_from_edges(
                servers, self.rows, _draft_joined(self.edges, 0), _draft_joined(self.edges, 1), names
            )
        number = np.arange(iterations)[:, None] * self.count
        within = [(number + _draft_joined(self.edges, side)).ravel() for side in (0, 1)]
        across = [
            (number[: iterations - 1] + side * self.count + _draft_joined(self.held, side)).ravel()
            for side in (0, 1)
        ]
        rows = [replace(row, iteration=turn) for turn in range(iterations) for row in self.rows]
        before, after = (np.concatenate(pair) for pair in zip(within, across, strict=True))
        return task_graph_from_edges(servers, rows, before, after, names)


FIRST_BUCKET_BYTES = 1024 * 1024
"""Size of a group's first bucket, so that its AllReduce begins early (PyTorch's ``kDefaultFirstBucketBytes``)."""


@dataclass(frozen=True, eq=False)
class Sync:
    """One AllReduce and the numbers of the forward and backward tasks that hold its replicas."""

    operator: int
    members: tuple[int, ...]
    size_bytes: int
    delay_s: float
    forward: Ints
    backward: Ints


DEFAULT_INTRA_SERVER_BANDWIDTH_BPS = 200e9
"""25 GB/s between the accelerators of a server, as in the authors' simulations."""
_FORWARD, _BACKWARD, _ACTIVATION, _GRADIENT, _ALLREDUCE = (
    PHASES.index(name) for name in ("forward", "backward", "activation", "gradient", "allreduce")
)


@dataclass(frozen=True, eq=False)
class _Parts:
    """Compute tasks of one piece of an iteration, numbered from 0: forward parts first, then backward parts."""

    count: Ints  # parts of each operator
    forward: Ints  # number of each operator's first forward part
    backward: Ints  # likewise; the last operator's come first
    server: Ints  # of each compute task
    duration_s: Floats
    operator: Ints

    @property
    def total(self) -> int:
        """Compute tasks of one piece."""
        return len(self.server)

    def of_pieces(self, pieces: int, tasks: Ints) -> Ints:
        """Return the numbers of some tasks in every piece, shape (pieces, tasks)."""
        return np.arange(pieces)[:, None] * self.total + tasks


class _Messages(NamedTuple):
    """Overlaps between compute tasks: dependencies and, where the servers differ, transfers."""

    before: Ints
    after: Ints
    src: Ints
    dst: Ints
    size_bytes: Ints
    operator: Ints
    phase: Ints

    def of(self, chosen: NDArray[np.bool_]) -> "_Messages":
        """Return some rows."""
        return _Messages(*(column[chosen] for column in self))

    def in_pieces(self, pieces: int, tasks: int) -> "_Messages":
        """Return the messages of every piece, each of ``tasks`` compute tasks, whose sizes sum to these."""
        if pieces == 1:
            return self
        piece = np.arange(pieces)[:, None]
        size_bytes = self.size_bytes * (piece + 1) // pieces - self.size_bytes * piece // pieces
        again = _Messages(*(np.tile(column, pieces) for column in self))
        offset = np.repeat(piece * tasks, len(self.before))
        return again._replace(
            before=again.before + offset, after=again.after + offset, size_bytes=size_bytes.ravel()
        )


class IterationCosts(NamedTuple):
    """Settings that determine the tasks of training iterations beside graph, strategy and timer."""

    accelerators_per_server: int
    intra_server_bandwidth_bps: float = DEFAULT_INTRA_SERVER_BANDWIDTH_BPS
    embedding_bytes_factor: int = 1
    iterations: int = 1
    bucket_bytes: int = 0
    microbatches: int = 1


def build_task_graph(
    graph: OperatorGraph,
    strategy: ParallelStrategy,
    timer: OperatorTimer,
    counted: IterationCosts,
) -> TaskGraph:
    """Return the task graph of training iterations.

    Before the AllReduce of S bytes over servers, each server reduces over its accelerators, which takes
    2·S / accelerators / intra-server bandwidth; not for embedding tables, which live on one of them. A tensor
    without replicas on other servers has only that delay.

    ``bucket_bytes`` above 0 joins gradients of equal replica groups into buckets, see ``search/gradient_buckets.py``.

    With several micro-batches, each part computes equal pieces of its samples one after the other, and sends each piece
    as soon as it is done. The timer gives the duration of a piece. Gradients are summed and AllReduced after the last
    piece; an embedding table is updated after the lookups of all pieces.

    In iteration i+1 a forward part waits for its own backward part and its own AllReduces of iteration i: the
    next forward pass overlaps the tail of the AllReduces, layer by layer.

    Raises
    ------
    InvalidInput
        If a count is below 1 or the strategy does not fit the model.
    """
    for name in ("accelerators_per_server", "iterations", "microbatches"):
        if getattr(counted, name) < 1:
            raise InvalidInput(f"task graph: {name} must be >= 1, got {getattr(counted, name)}")
    accelerators, pieces = counted.accelerators_per_server, counted.microbatches
    if len(strategy.splits) != len(graph.operators):
        raise InvalidInput(
            f"task graph: the strategy splits {len(strategy.splits)} operators, "
            f"model {graph.name} has {len(graph.operators)}"
        )
    batch = graph.batch_per_accelerator * accelerators * strategy.servers
    count = np.array([split.parts for split in strategy.splits], np.int64)
    total = int(count.sum())
    forward = np.cumsum(count) - count
    backward = 2 * total - np.cumsum(count)
    server = np.zeros(2 * total, np.int64)
    duration_s = np.zeros(2 * total)
    operator = np.zeros(2 * total, np.int64)
    for index, (op, split) in enumerate(zip(graph.operators, strategy.splits, strict=True)):
        time = timer.time(op, part_samples(split, batch) / pieces, split.channel_degree)
        for first, seconds in ((forward[index], time.forward_s), (backward[index], time.backward_s)):
            chosen = slice(first, first + count[index])
            server[chosen] = split.servers(strategy.servers)
            duration_s[chosen] = seconds
            operator[chosen] = index
    parts = _Parts(count, forward, backward, server, duration_s, operator)
    messages = _messages(graph, strategy, parts, batch, counted.embedding_bytes_factor).in_pieces(
        pieces, parts.total
    )
    remote = (messages.src != messages.dst) & (messages.size_bytes > 0)
    local, transfers = messages.of(~remote), messages.of(remote)
    per_byte_s = 0.0 if accelerators == 1 else 8.0 / counted.intra_server_bandwidth_bps
    syncs = list(_syncs(graph, strategy, parts, 2.0 * per_byte_s / accelerators))
    if counted.bucket_bytes:
        syncs = in_buckets(syncs, counted.bucket_bytes)
    draft = _assembled(graph, parts, (local, transfers), syncs, pieces)
    return draft.graph(strategy.servers, counted.iterations, tuple(op.name for op in graph.operators))


def _messages(
    graph: OperatorGraph, strategy: ParallelStrategy, parts: _Parts, batch: int, factor: int
) -> _Messages:
    rows: list[tuple[Ints, ...]] = []
    labels: list[tuple[int, int]] = []  # operator and phase of each
    for index, op in enumerate(graph.operators):
        own = np.arange(parts.count[index])
        ahead, back = parts.forward[index] + own, parts.backward[index] + own
        rows.append((ahead, back, parts.server[ahead], parts.server[ahead], 0 * own))
        labels.append((index, _BACKWARD))
        for producer in op.inputs:
            edge = edge_transfers(graph, strategy, producer, index, batch, factor)
            made, used, size = edge.producer_part, edge.consumer_part, np.asarray(edge.size_bytes, np.int64)
            rows.append(
                (parts.forward[producer] + made, parts.forward[index] + used, edge.src, edge.dst, size)
            )
            rows.append(
                (parts.backward[index] + used, parts.backward[producer] + made, edge.dst, edge.src, size)
            )
            labels += [(producer, _ACTIVATION), (producer, _GRADIENT)]
    label = np.repeat(np.array(labels, np.int64).T, [len(row[0]) for row in rows], axis=1)
    return _Messages(*(np.concatenate(column) for column in zip(*rows, strict=True)), *label)


def _syncs(
    graph: OperatorGraph, strategy: ParallelStrategy, parts: _Parts, delay_s_per_byte: float
) -> Iterator[Sync]:
    for index, op in enumerate(graph.operators):
        place = {server: part for part, server in enumerate(strategy.splits[index].servers(strategy.servers))}
        delay = 0.0 if op.is_embedding else delay_s_per_byte
        for shard in weight_shards(graph, strategy, index):
            if len(shard.members) < 2 and not delay * shard.size_bytes:
                continue
            own = np.array([place[server] for server in shard.members], np.int64)
            yield Sync(
                index,
                shard.members,
                shard.size_bytes,
                delay * shard.size_bytes,
                parts.forward[index] + own,
                parts.backward[index] + own,
            )


def _assembled(
    graph: OperatorGraph, parts: _Parts, messages: tuple[_Messages, _Messages], syncs: list[Sync], pieces: int
) -> Draft:
    local, transfers = messages
    draft, half = Draft(), parts.total // 2
    draft.add(
        TaskRows(
            COMPUTE,
            pieces * parts.total,
            np.tile(parts.duration_s, pieces),
            server=np.tile(parts.server, pieces),
            operator=np.tile(parts.operator, pieces),
            phase=np.tile(np.repeat([_FORWARD, _BACKWARD], half), pieces),
        )
    )
    sent = draft.add(
        TaskRows(
            TRANSFER,
            len(transfers.before),
            **fields_of(transfers, "src", "dst", "size_bytes", "operator", "phase"),
        )
    )
    draft.wait(local.before, local.after)
    draft.wait(transfers.before, sent)
    draft.wait(sent, transfers.after)
    operator, forward = parts.operator[:half], np.arange(half)
    backward = parts.backward[operator] + forward - parts.forward[operator]
    ends = parts.of_pieces(pieces, backward)
    draft.wait(ends[:, None], parts.of_pieces(pieces, forward), next_iteration=True)
    if pieces > 1:  # no piece looks up what another has updated
        table = np.array([op.is_embedding for op in graph.operators])[operator]
        draft.wait(parts.of_pieces(pieces, forward[table])[:, None], ends[:, table])
    for sync in syncs:
        done = draft.add_collective(
            "allreduce", sync.members, sync.size_bytes, sync.delay_s, 1, sync.operator, _ALLREDUCE
        )
        draft.wait(parts.of_pieces(pieces, sync.backward), done)
        draft.wait(done, parts.of_pieces(pieces, sync.forward), next_iteration=True)
    return draft


def in_buckets(syncs: Iterable[Sync], bucket_bytes: int) -> list[Sync]:
    """Return the AllReduces of whole buckets; those of different groups of replicas are apart.

    From the last tensor to the first, which is the order of the backward pass, a bucket takes one after the other until
    it holds ``bucket_bytes``: it may be larger by nearly its last tensor, which is never cut, and the last of a group
    may be smaller. The first of each group is full at :data:`FIRST_BUCKET_BYTES`.

    References
    ----------
    .. [1] PyTorch, ``compute_bucket_assignment_by_size`` in ``torch/csrc/distributed/c10d/reducer.cpp``. There each
       process group is a module wrapped on its own, and newer versions leave out the small first bucket where a size is
       given (pull request 121640).
    """
    done: list[Sync] = []
    filling: dict[tuple[int, ...], list[Sync]] = {}
    limits: dict[tuple[int, ...], int] = {}
    for sync in reversed(list(syncs)):
        bucket = filling.setdefault(sync.members, [])
        bucket.append(sync)
        limit = limits.get(sync.members, min(FIRST_BUCKET_BYTES, bucket_bytes))
        if sum(row.size_bytes for row in bucket) >= limit:
            done.append(_joined(filling.pop(sync.members)))
            limits[sync.members] = bucket_bytes
    return done + [_joined(bucket) for bucket in filling.values()]


def _joined(bucket: list[Sync]) -> Sync:
    return Sync(
        bucket[-1].operator,
        bucket[0].members,
        sum(row.size_bytes for row in bucket),
        sum(row.delay_s for row in bucket),
        distinct(np.concatenate([row.forward for row in bucket])),
        distinct(np.concatenate([row.backward for row in bucket])),
    )


def _draft_joined(pairs: list[tuple[Ints, Ints]], side: int) -> Ints32:
    sides = [np.zeros(0, np.int64), *[pair[side] for pair in pairs]]
    return np.concatenate(sides, dtype=np.int32, casting="same_kind")
