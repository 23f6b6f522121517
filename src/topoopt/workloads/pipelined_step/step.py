"""PipelinedStep: one training iteration of a model in pipeline stages, by durations and bytes.

It is independent of transformers: its callers convert shapes to seconds and bytes, and ranks to servers. The task
graph, the closed form and the traffic of an iteration are all made from it. Communication within a server is part
of the durations; only communication between servers is given in bytes.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil

import numpy as np
from numpy.typing import NDArray

from topoopt.base.arrays import Ints
from topoopt.base.errors import InvalidInput, check_fields
from topoopt.workloads.pipelined_step.schedules import ORDERS, Order, Schedule
from topoopt.workloads.ring_law import RING_PASSES
from topoopt.workloads.traffic import AllReduceGroup, AllToAllGroup, Traffic, Transfers, merged_traffic

PASSES = ("forward", "backward", "weights")
"""Passes of a micro-batch through a chunk. ``weights`` computes the gradients of weights: a separate pass where the
schedule splits the backward pass, otherwise part of it."""
COLLECTIVE_KINDS = ("allreduce", "reduce-scatter", "all-gather", "all-to-all")
MOMENTS = ("before", "inside", "after")
"""Moment of an exchange relative to its pass. ``before``: the pass waits for it, and it starts as soon as the previous
pass starts. ``inside``: pass and exchange alternate, and each waits for the other. ``after``: only the optimizer waits
for it."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """A collective over servers that goes with every pass of a micro-batch through one chunk.

    Attributes
    ----------
    chunk : int
    direction : str
        A name in :data:`PASSES`.
    moment : str
        A name in :data:`MOMENTS`.
    replicas : tuple of int
        Replicas whose workers take part: it begins when all are ready.
    members : tuple of int
        Servers, in ring order.
    collective : str
        A name in :data:`COLLECTIVE_KINDS`.
    size_bytes : int
        Buffer of one member, of all ``count`` operations of one pass together. An all-to-all sends
        ``size_bytes / len(members)`` from each member to each.
    count : int
        Operations of one pass.
    delay_s : float
        Time of the preceding work within the servers, all operations together.
    pair_bytes : tuple of tuples of int
        Bytes of a non-uniform all-to-all, ``[source][destination]``, all operations together; ``size_bytes`` is
        ignored then.
    turn : int
        Order of the exchanges at one moment of one pass: lower turns come first, equal turns run at the same time.
    nic_s : float
        Time of an accelerator's own NIC for its sends, all operations together; 0 where the accelerators that take
        part have all NICs of their servers.
    """

    chunk: int
    direction: str
    moment: str
    replicas: tuple[int, ...]
    members: tuple[int, ...]
    collective: str
    size_bytes: int
    count: int = 1
    delay_s: float = 0.0
    pair_bytes: tuple[tuple[int, ...], ...] = ()
    turn: int = 0
    nic_s: float = 0.0

    def __post_init__(self) -> None:
        check_fields(self, direction=PASSES, moment=MOMENTS, collective=COLLECTIVE_KINDS)
        if self.count < 1:
            raise InvalidInput(f"exchange: count: expected an integer >= 1, got {self.count}")
        if self.pair_bytes and (self.moment == "before" or self.collective != "all-to-all"):
            raise InvalidInput(
                f"exchange: pair_bytes are of an all-to-all inside or after a pass, "
                f"not of {self.collective} {self.moment}"
            )
        sides = {len(self.pair_bytes), *(len(row) for row in self.pair_bytes)}
        if self.pair_bytes and sides != {len(self.members)}:
            raise InvalidInput(f"exchange: pair_bytes must have {len(self.members)} rows and columns")


MOST_BUCKETS = 8


@dataclass(frozen=True, slots=True)
class Synchronization:
    """Gradients of a group of workers, summed once an iteration, during or after the last micro-batch.

    Attributes
    ----------
    chunks, replicas : tuples of int
        The workers of these chunks in these replicas take part.
    members : tuple of int
        Servers, in ring order.
    collective : str
        ``allreduce``, or ``reduce-scatter`` where the optimizer's state is shared out.
    size_bytes : int
        Buffer of one member.
    delay_s : float
        Time inside the servers before it.
    gather_bytes, gather_delay_s : int, float
        Parameters that are gathered after the optimizer, buffer of one member; 0 where every worker has them.
    turn : int
        A worker begins with those of the lowest turn; those of equal turns run concurrently.
    overlap : float
        Share of the gradients that leaves during the last backward pass of their chunks, in equal buckets; the rest
        leaves after it. The same share of the parameters is gathered beside the next forward passes, up to the first
        backward pass.
    nic_s, gather_nic_s : float
        See the exchange; for the gradients and for the parameters.
    """

    chunks: tuple[int, ...]
    replicas: tuple[int, ...]
    members: tuple[int, ...]
    collective: str
    size_bytes: int
    delay_s: float = 0.0
    gather_bytes: int = 0
    gather_delay_s: float = 0.0
    turn: int = 0
    overlap: float = 0.0
    nic_s: float = 0.0
    gather_nic_s: float = 0.0

    def __post_init__(self) -> None:
        check_fields(self, collective=COLLECTIVE_KINDS[:2])
        if not 0 <= self.overlap <= 1:
            raise InvalidInput(f"synchronization: overlap: expected 0 to 1, got {self.overlap:g}")

    @property
    def buckets(self) -> tuple[float, ...]:
        """Shares of the gradients in the order in which they leave; the last leaves after the pass.

        Examples
        --------
        >>> Synchronization((0,), (0, 1), (0, 1), "allreduce", 8, overlap=0.75).buckets
        (0.25, 0.25, 0.25, 0.25)
        """
        if not self.overlap or not (self.size_bytes or self.delay_s):
            return (1.0,)
        early = max(ceil(1 / max(1 - self.overlap, 1 / MOST_BUCKETS) - 1e-9), 2) - 1
        return (*[self.overlap / early] * early, 1 - self.overlap)


Rows = tuple[Ints, Ints, Ints]
"""Source, destination and bytes."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A virtual stage: the layers that a worker runs in sequence for one micro-batch.

    Attributes
    ----------
    forward_s, backward_s : float
        Time of one micro-batch with everything that stays inside a server: kernels, recomputation (in the
        backward pass), collectives among accelerators of one server.
    output_bytes : int
        Activations that each part of a worker sends to the like part of the next chunk's worker, per micro-batch.
        As many bytes of gradients come back. 0 for the last chunk.
    output_delay_s : float
        Time to start each of these transfers.
    blocking : bool
        Whether a worker continues only after its transfer from this chunk to the next has arrived.
    inside_s : float
        Part of both passes spent in collectives within a server. It changes no time, it only labels it.
    weights_s : float
        Part of ``backward_s`` that computes the gradients of weights, for which no other chunk waits.
    """

    forward_s: float
    backward_s: float
    output_bytes: int = 0
    output_delay_s: float = 0.0
    blocking: bool = False
    inside_s: float = 0.0
    weights_s: float = 0.0


@dataclass(frozen=True, eq=False)
class PipelinedStep:
    """An iteration by one of :data:`ORDERS`; 1F1B is interleaved where there are more chunks than stages.

    A *worker* is the accelerators that hold one stage of one replica of the model; it works as one device.

    Attributes
    ----------
    servers : int
        Servers are numbered from 0.
    micro_batches : int
        Micro-batches per replica through a chunk; with DualPipe half of them, since as many enter at the other
        end.
    chunks : tuple of Chunk
        Chunks, on the stages given by :attr:`chunk_stage`. With DualPipe, those from the other end come second.
    part_servers : int64 array, shape (stages, replicas, parts)
        Server of each part of each worker; one part where every worker fits into a server.
    exchanges : tuple of Exchange
    synchronizations : tuple of Synchronization
    optimizer_s : float
        Time of the optimizer on every worker, once its gradients have arrived.
    schedule : str
        A name in :data:`ORDERS`.
    """

    servers: int
    micro_batches: int
    chunks: tuple[Chunk, ...]
    part_servers: Ints
    exchanges: tuple[Exchange, ...] = ()
    synchronizations: tuple[Synchronization, ...] = ()
    optimizer_s: float = 0.0
    schedule: str = "1f1b"

    def __post_init__(self) -> None:
        shape = self.part_servers.shape
        if len(shape) != 3 or min(shape) < 1:
            raise InvalidInput(
                f"pipelined step: part_servers: expected stages × replicas × parts, got {shape}"
            )
        lowest, highest = int(self.part_servers.min()), int(self.part_servers.max())
        if lowest < 0 or highest >= self.servers:
            raise InvalidInput(
                f"pipelined step: a part is on server {highest}, allowed are 0..{self.servers - 1}"
            )
        _check_number("pipelined step: micro_batches", self.micro_batches, 1)
        _check_seconds("optimizer_s", self.optimizer_s)
        check_fields(self, schedule=ORDERS)
        self._check_chunks()
        for one in self.exchanges:
            if one.direction == "weights" and not self.splits:
                raise InvalidInput(
                    f"pipelined step: schedule {self.schedule} has no passes for gradients of weights; give the "
                    f"exchange of chunk {one.chunk} direction=backward"
                )
            self._check_group((one.chunk,), one.replicas, one.members)
        for sync in self.synchronizations:
            self._check_group(sync.chunks, sync.replicas, sync.members)

    def _check_chunks(self) -> None:
        count, stages = len(self.chunks), self.stages
        if count % stages or not count:
            raise InvalidInput(
                f"pipelined step: {count} chunks cannot be shared by {stages} stages evenly; "
                f"allowed are {stages}, {2 * stages}, {3 * stages}, …"
            )
        self._order.check(stages, count // stages, self.micro_batches)
        for index, chunk in enumerate(self.chunks):
            for name in ("forward_s", "backward_s", "output_delay_s", "inside_s", "weights_s"):
                _check_seconds(f"chunk {index}: {name}", getattr(chunk, name))
            if chunk.weights_s > chunk.backward_s:
                raise InvalidInput(
                    f"pipelined step: chunk {index}: weights_s {chunk.weights_s:g} is part of backward_s "
                    f"{chunk.backward_s:g} and cannot be longer"
                )
            _check_number(f"chunk {index}: output_bytes", chunk.output_bytes, 0)

    def _check_group(
        self, chunks: tuple[int, ...], replicas: tuple[int, ...], members: tuple[int, ...]
    ) -> None:
        limits = (("chunk", chunks, len(self.chunks)), ("replica", replicas, self.replicas))
        for name, numbers, count in (*limits, ("server", members, self.servers)):
            if (
                not numbers
                or not 0 <= min(numbers) <= max(numbers) < count
                or len(set(numbers)) < len(numbers)
            ):
                raise InvalidInput(
                    f"pipelined step: a group's {name}s must be different ones of 0..{count - 1}, got {numbers}"
                )

    @property
    def stages(self) -> int:
        """Workers of one replica."""
        return int(self.part_servers.shape[0])

    @property
    def replicas(self) -> int:
        """Copies of the model, each with micro-batches of its own."""
        return int(self.part_servers.shape[1])

    @property
    def chunks_per_stage(self) -> int:
        """1, or more where the schedule is interleaved; 2 with DualPipe."""
        return len(self.chunks) // self.stages

    @property
    def ends(self) -> int:
        """Number of pipeline ends at which micro-batches enter."""
        return self._order.ends

    @property
    def splits(self) -> bool:
        """Whether gradients of weights are passes of their own."""
        return self._order.splits

    @property
    def _order(self) -> Order:
        return ORDERS[self.schedule]

    @cached_property
    def chunk_stage(self) -> Ints:
        """Stage of each chunk: ``c % stages``; from the other end the last stage comes first."""
        forth = np.arange(len(self.chunks)) % self.stages
        return (
            forth if self.ends == 1 else np.concatenate((forth[: self.stages], forth[self.stages - 1 :: -1]))
        )

    def chunks_on(self, stage: int) -> tuple[Chunk, ...]:
        """Return the chunks of a stage, in their order."""
        return tuple(self.chunks[chunk] for chunk in np.flatnonzero(self.chunk_stage == stage).tolist())

    def neighbor(self, chunk: int, step: int) -> int | None:
        """Return the chunk that comes next (1) or before (-1), if there is one."""
        length = len(self.chunks) // self.ends
        return chunk + step if 0 <= chunk % length + step < length else None

    @cached_property
    def last_chunks(self) -> tuple[int, ...]:
        """Chunks at which micro-batches turn back: the last one from each end."""
        length = len(self.chunks) // self.ends
        return tuple(range(length - 1, len(self.chunks), length))

    @cached_property
    def pass_s(self) -> NDArray[np.float64]:
        """Seconds of the passes through each chunk, shape (directions, chunks)."""
        forward, backward, weights = np.array(
            [[chunk.forward_s, chunk.backward_s, chunk.weights_s] for chunk in self.chunks]
        ).T
        return np.stack((forward, backward - weights, weights) if self.splits else (forward, backward))

    def order_of(self, stage: int) -> Schedule:
        """Return the order in which the workers of a stage take their passes."""
        return self._order.of_stage(stage, self.stages, self.chunks_per_stage, self.micro_batches)

    @cached_property
    def worker_accelerator(self) -> Ints:
        """Device index of each worker on its first part's server, shape (stages, replicas)."""
        server = self.part_servers[:, :, 0].ravel()
        order = np.argsort(server, kind="stable")
        first = np.searchsorted(server[order], server[order])
        device = np.empty(len(server), np.int64)
        device[order] = np.arange(len(server)) - first
        return device.reshape(self.stages, self.replicas)

    @cached_property
    def traffic(self) -> Traffic:
        """Traffic between servers in one iteration.

        A reduce-scatter or all-gather of S bytes counts as an AllReduce of S/2, which puts as much on the wire.
        """
        return iteration_traffic(
            self.servers, self.micro_batches, self._sent(), self.exchanges, self.synchronizations
        )

    def _sent(self) -> Rows:
        columns: list[Rows] = [(np.zeros(0, np.int64),) * 3]
        for index, chunk in enumerate(self.chunks):
            after = self.neighbor(index, 1)
            if after is None:
                continue
            here, there = (self.part_servers[self.chunk_stage[one]].ravel() for one in (index, after))
            size = np.full(len(here), chunk.output_bytes * self.micro_batches)
            columns += [(here, there, size), (there, here, size)]
        src, dst, size = (np.concatenate(column) for column in zip(*columns, strict=True))
        return src, dst, size


def _check_number(what: str, value: int, least: int) -> None:
    if value < least:
        raise InvalidInput(f"{what}: expected an integer >= {least}, got {value}")


def _check_seconds(what: str, value: float) -> None:
    if not 0 <= value < float("inf"):
        raise InvalidInput(f"pipelined step: {what}: expected seconds >= 0, got {value}")


def iteration_traffic(
    servers: int,
    micro_batches: int,
    sent: Rows,
    exchanges: Sequence[Exchange],
    synchronizations: Sequence[Synchronization],
) -> Traffic:
    """Return the traffic of an iteration from the bytes ``sent`` between chunks and the exchanges of groups."""
    rings: Counter[tuple[int, ...]] = Counter()
    exchanged: list[AllToAllGroup] = []
    rows = [sent]
    for one in exchanges:
        if one.pair_bytes:
            members = np.array(one.members, np.int64)
            sizes = np.array(one.pair_bytes, np.int64).ravel() * micro_batches
            rows.append((np.repeat(members, len(members)), np.tile(members, len(members)), sizes))
        elif one.collective == "all-to-all":
            pair = one.size_bytes // len(one.members)
            exchanged.append(AllToAllGroup(tuple(sorted(one.members)), pair * micro_batches))
        else:
            rings[tuple(sorted(one.members))] += RING_PASSES[one.collective] * one.size_bytes * micro_batches
    for sync in synchronizations:
        swept = RING_PASSES[sync.collective] * sync.size_bytes + sync.gather_bytes
        rings[tuple(sorted(sync.members))] += swept
    groups = [AllReduceGroup(members, twice // 2) for members, twice in rings.items()]
    columns = (np.concatenate(column) for column in zip(*rows, strict=True))
    return merged_traffic(servers, groups, exchanged, Transfers(*columns))
