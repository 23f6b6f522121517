"""The noun PipelinedStep: one training iteration of a model in pipeline stages, by durations and bytes.

It knows nothing of transformers: whoever makes it has already turned shapes into seconds and bytes, and ranks into
servers. The task graph, the closed form and the traffic of an iteration are all made from it. What stays inside a
server is part of the durations; only what servers send each other is told by bytes.
"""

from collections import Counter
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from topoopt.errors import InvalidInput, unknown_name
from topoopt.traffic import AllReduceGroup, AllToAllGroup, Ints, Traffic, Transfers, merged_traffic

PASSES = ("forward", "backward")
COLLECTIVE_KINDS = ("allreduce", "reduce-scatter", "all-gather", "all-to-all")
MOMENTS = ("before", "inside", "after")
"""When an exchange of a pass takes place. ``before``: the pass waits for it, and it begins as soon as the pass before
begins. ``inside``: pass and exchange take turns, and neither goes on without the other. ``after``: nobody waits for it
but the optimizer."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """One virtual stage: the layers that a worker runs one after the other for one micro-batch.

    Attributes
    ----------
    forward_s, backward_s : float
        Time of one micro-batch with everything that stays inside a server: kernels, recomputation (in the
        backward pass), collectives among accelerators of one server.
    output_bytes : int
        Activations that each part of a worker sends to the like part of the next chunk's worker, per micro-batch.
        As many bytes of gradients come back. 0 for the last chunk.
    """

    forward_s: float
    backward_s: float
    output_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Exchange:
    """A collective over servers that goes with every pass of a micro-batch through one chunk.

    Attributes
    ----------
    chunk : int
    direction : str
        One of :data:`PASSES`.
    moment : str
        One of :data:`MOMENTS`.
    replicas : tuple of int
        Replicas whose workers take part: it begins when all are ready.
    members : tuple of int
        Servers, in ring order.
    collective : str
        One of :data:`COLLECTIVE_KINDS`.
    size_bytes : int
        Buffer of one member, of all ``count`` operations of one pass together. An all-to-all sends
        ``size_bytes / len(members)`` from each member to each.
    count : int
        Operations of one pass.
    delay_s : float
        What goes before inside the servers, of all operations together.
    pair_bytes : tuple of tuples of int
        Of an all-to-all that is not uniform: bytes from each member to each, ``[source][destination]``, of all
        operations together; ``size_bytes`` is not read then.
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

    def __post_init__(self) -> None:
        _check_word("direction", self.direction, PASSES)
        _check_word("moment", self.moment, MOMENTS)
        _check_word("collective", self.collective, COLLECTIVE_KINDS)
        _check_number("exchange: count", self.count, 1)
        sides = {len(self.pair_bytes), *(len(row) for row in self.pair_bytes)}
        if self.pair_bytes and sides != {len(self.members)}:
            raise InvalidInput(f"exchange: pair_bytes must have {len(self.members)} rows and columns")


@dataclass(frozen=True, slots=True)
class Synchronization:
    """Gradients that workers have in common, summed once an iteration, after the last micro-batch.

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
        What goes before inside the servers.
    gather_bytes, gather_delay_s : int, float
        Parameters that are gathered after the optimizer, buffer of one member; 0 where all have them.
    """

    chunks: tuple[int, ...]
    replicas: tuple[int, ...]
    members: tuple[int, ...]
    collective: str
    size_bytes: int
    delay_s: float = 0.0
    gather_bytes: int = 0
    gather_delay_s: float = 0.0

    def __post_init__(self) -> None:
        _check_word("collective", self.collective, COLLECTIVE_KINDS[:2])


@dataclass(frozen=True, eq=False)
class PipelinedStep:
    """An iteration of 1F1B, or of interleaved 1F1B where there are more chunks than stages.

    A *worker* is the accelerators that hold one stage of one replica of the model; it works as one device.

    Attributes
    ----------
    servers : int
        Servers are numbered from 0.
    micro_batches : int
        Of each replica.
    chunks : tuple of Chunk
        Chunk c runs on stage ``c % stages``.
    part_servers : int64 array, shape (stages, replicas, parts)
        Where the parts of each worker are; one part where every worker fits into a server.
    exchanges : tuple of Exchange
    synchronizations : tuple of Synchronization
    gradient_buckets : int
        0: gradients leave when their worker is done with all its passes. k ≥ 1: they leave in k equal buckets,
        one after the other, while the last backward pass of their chunk goes on.
    optimizer_s : float
        On every worker, when its gradients are there.
    """

    servers: int
    micro_batches: int
    chunks: tuple[Chunk, ...]
    part_servers: Ints
    exchanges: tuple[Exchange, ...] = ()
    synchronizations: tuple[Synchronization, ...] = ()
    gradient_buckets: int = 0
    optimizer_s: float = 0.0

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
        _check_number("pipelined step: gradient_buckets", self.gradient_buckets, 0)
        _check_seconds("optimizer_s", self.optimizer_s)
        self._check_chunks()
        for one in self.exchanges:
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
        if count > stages and self.micro_batches % stages:
            lower = self.micro_batches // stages * stages
            near = " or ".join(str(value) for value in (lower, lower + stages) if value)
            raise InvalidInput(
                f"micro-batches: the interleaved schedule needs a multiple of {stages} stages, "
                f"got {self.micro_batches}; nearest: {near}"
            )
        for index, chunk in enumerate(self.chunks):
            _check_seconds(f"chunk {index}: forward_s", chunk.forward_s)
            _check_seconds(f"chunk {index}: backward_s", chunk.backward_s)
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
        """1, or more where the schedule is interleaved."""
        return len(self.chunks) // self.stages

    @cached_property
    def worker_accelerator(self) -> Ints:
        """Which device of its first part's server a worker is, shape (stages, replicas)."""
        server = self.part_servers[:, :, 0].ravel()
        order = np.argsort(server, kind="stable")
        first = np.searchsorted(server[order], server[order])
        device = np.empty(len(server), np.int64)
        device[order] = np.arange(len(server)) - first
        return device.reshape(self.stages, self.replicas)

    @cached_property
    def traffic(self) -> Traffic:
        """What servers send each other in one iteration.

        A reduce-scatter or all-gather of S bytes counts as an AllReduce of S/2, which puts as much on the wire.
        """
        rings: Counter[tuple[int, ...]] = Counter()
        exchanged: list[AllToAllGroup] = []
        rows = [self._sent()]
        for one in self.exchanges:
            if one.pair_bytes:
                rows.append(_pair_rows(one, self.micro_batches))
            elif one.collective == "all-to-all":
                pair = one.size_bytes // len(one.members)
                exchanged.append(AllToAllGroup(tuple(sorted(one.members)), pair * self.micro_batches))
            else:
                twice = 2 if one.collective == "allreduce" else 1
                rings[tuple(sorted(one.members))] += twice * one.size_bytes * self.micro_batches
        for sync in self.synchronizations:
            twice = 2 if sync.collective == "allreduce" else 1
            rings[tuple(sorted(sync.members))] += twice * sync.size_bytes + sync.gather_bytes
        groups = [AllReduceGroup(members, twice // 2) for members, twice in rings.items()]
        columns = (np.concatenate(column) for column in zip(*rows, strict=True))
        return merged_traffic(self.servers, groups, exchanged, Transfers(*columns))

    def _sent(self) -> tuple[Ints, Ints, Ints]:
        """Return source, destination and bytes of all activations and their gradients."""
        columns: list[tuple[Ints, Ints, Ints]] = [(np.zeros(0, np.int64),) * 3]
        for index, chunk in enumerate(self.chunks[:-1]):
            here = self.part_servers[index % self.stages].ravel()
            there = self.part_servers[(index + 1) % self.stages].ravel()
            size = np.full(len(here), chunk.output_bytes * self.micro_batches)
            columns += [(here, there, size), (there, here, size)]
        src, dst, size = (np.concatenate(column) for column in zip(*columns, strict=True))
        return src, dst, size


def _pair_rows(one: Exchange, micro_batches: int) -> tuple[Ints, Ints, Ints]:
    members = np.array(one.members, np.int64)
    sizes = np.array(one.pair_bytes, np.int64).ravel() * micro_batches
    return np.repeat(members, len(members)), np.tile(members, len(members)), sizes


def _check_word(what: str, word: str, allowed: tuple[str, ...]) -> None:
    if word not in allowed:
        raise unknown_name(what, word, allowed)


def _check_number(what: str, value: int, least: int) -> None:
    if value < least:
        raise InvalidInput(f"{what}: expected an integer >= {least}, got {value}")


def _check_seconds(what: str, value: float) -> None:
    if not 0 <= value < float("inf"):
        raise InvalidInput(f"pipelined step: {what}: expected seconds >= 0, got {value}")
