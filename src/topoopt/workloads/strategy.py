"""ParallelStrategy: the split of each operator and the placement of its parts.

From a strategy to exact traffic: overlaps of index boxes, weight shards, AllReduce groups.

Part ``b·C + c`` of an operator produces batch range b and, of its output's bytes per sample, range c (``out``,
``columns``), or partial sums of all of them (``in``, ``rows``). A consumer's part needs its own batch range and, if
it is split on ``in``, its own range of the bytes per sample. What two parts on different servers share must
move: activations forward, as many gradient bytes backward (TopoOpt section 7; FlexFlow's rule).

Memory of the fullest accelerator of every server, by cause.

Dense operators are replicated over a server's accelerators, which share the batch of their part. An embedding table
sits on one accelerator: tables of a server go, largest first, to the emptiest one. Embedding gradients are
sparse and update in place, so tables have no gradient buffer.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from topoopt.base.errors import InvalidInput, check_known
from topoopt.workloads.operator_graph import OperatorGraph
from topoopt.workloads.traffic import AllReduceGroup, Traffic, Transfers, merged_traffic


@dataclass(frozen=True, slots=True, order=True)
class OperatorSplit:
    """Split of one operator over servers.

    The operator has ``batch_degree × channel_degree`` parts. Part ``b·channel_degree + c`` holds the b-th
    contiguous range of the batch and the c-th contiguous range of the channel dimension, and sits on
    ``start + (b·channel_degree + c)·n/parts``: parts are in ascending order of servers.

    Attributes
    ----------
    batch_degree : int
        Data-parallel degree: replicas of the weights.
    start : int
        First server, in 0 .. n/parts - 1.
    channel_degree : int
        Tensor-parallel degree, 1 for none.
    channel_dim : str
        Dimension split: ``none``, ``out`` or ``in`` (linear layers), ``rows`` or ``columns`` (embedding tables).
    """

    batch_degree: int
    start: int = 0
    channel_degree: int = 1
    channel_dim: str = "none"

    def __post_init__(self) -> None:
        if self.batch_degree < 1 or self.channel_degree < 1:
            raise InvalidInput(
                f"operator split: degrees must be >= 1, got {self.batch_degree}×{self.channel_degree}"
            )
        if (self.channel_dim == "none") != (self.channel_degree == 1):
            raise InvalidInput(
                f"operator split: channel_degree {self.channel_degree} does not go "
                f"with channel_dim {self.channel_dim}"
            )

    @property
    def parts(self) -> int:
        """Number of servers used."""
        return self.batch_degree * self.channel_degree

    def servers(self, servers: int) -> tuple[int, ...]:
        """Return the server of each part, ascending.

        Examples
        --------
        >>> OperatorSplit(batch_degree=4, start=1).servers(12)
        (1, 4, 7, 10)
        """
        if servers % self.parts or not 0 <= self.start < servers // self.parts:
            raise InvalidInput(
                f"operator split: {self.parts} parts from server {self.start} do not fit "
                f"{servers} servers evenly"
            )
        step = servers // self.parts
        return tuple(range(self.start, servers, step))

    def replica_groups(self, servers: int) -> tuple[tuple[int, ...], ...]:
        """Return the servers of each channel range's replicas, shape (channel_degree, batch_degree)."""
        placed = self.servers(servers)
        return tuple(placed[c :: self.channel_degree] for c in range(self.channel_degree))


@dataclass(frozen=True, slots=True)
class ParallelStrategy:
    """One :class:`OperatorSplit` per operator of a graph, on ``servers`` servers.

    A transformer in pipeline stages has no operators: its strategy is one of the layouts of
    :class:`topoopt.jobs.TransformerWork`, by its place.
    """

    servers: int
    splits: tuple[OperatorSplit, ...]
    layout: int = 0

    def __post_init__(self) -> None:
        for split in self.splits:
            split.servers(self.servers)


def data_parallel(graph: OperatorGraph, servers: int) -> ParallelStrategy:
    """Return the authors' starting point: replicas on all servers, table t on server t mod n."""
    splits, placed = [], 0
    for op in graph.operators:
        if op.is_embedding:
            splits.append(OperatorSplit(1, placed % servers))
            placed += 1
        else:
            splits.append(OperatorSplit(servers if "batch" in op.splits else 1))
    return ParallelStrategy(servers, tuple(splits))


IntArray = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class EdgeTransfers:
    """Overlaps between the parts of a producer and of a consumer; all arrays have shape (overlaps,).

    Rows with ``src == dst`` stay on one server: a dependency, nothing on the wire. The backward pass carries
    the same bytes from ``dst`` to ``src``.
    """

    producer: int
    consumer: int
    producer_part: IntArray
    consumer_part: IntArray
    src: IntArray
    dst: IntArray
    size_bytes: IntArray


@dataclass(frozen=True, slots=True)
class WeightShard:
    """The slice of one weight tensor that ``members`` hold replicas of."""

    weight_index: int
    members: tuple[int, ...]
    size_bytes: int


def part_samples(split: OperatorSplit, global_batch: int) -> float:
    """Return the samples of the global batch that one part works on.

    Examples
    --------
    >>> part_samples(OperatorSplit(batch_degree=128), 65536)
    512.0
    """
    return global_batch / split.batch_degree


def edge_transfers(
    graph: OperatorGraph,
    strategy: ParallelStrategy,
    producer: int,
    consumer: int,
    global_batch: int,
    embedding_bytes_factor: int = 1,
) -> EdgeTransfers:
    """Return every overlap of the parts of two neighboring operators.

    ``embedding_bytes_factor`` multiplies the bytes that embedding tables send; the authors' graphs carry 2.
    """
    source, target = strategy.splits[producer], strategy.splits[consumer]
    width = graph.operators[producer].output_bytes_per_sample
    factor = embedding_bytes_factor if graph.operators[producer].is_embedding else 1
    source_batch, target_batch, samples = _overlaps(
        _boundaries(global_batch, source.batch_degree), _boundaries(global_batch, target.batch_degree)
    )
    whole = np.array([0, width], np.int64)
    divides = source.channel_dim in ("out", "columns")
    produced = _boundaries(width, source.channel_degree) if divides else whole
    needed = _boundaries(width, target.channel_degree) if target.channel_dim == "in" else whole
    source_channel, target_channel, widths = _overlaps(produced, needed)
    if not divides and source.channel_degree > 1:  # every part holds partial sums of everything
        source_channel, target_channel, widths = _for_each_part(
            source.channel_degree, source_channel, target_channel, widths
        )
    if target.channel_dim != "in" and target.channel_degree > 1:  # every part reads everything
        target_channel, source_channel, widths = _for_each_part(
            target.channel_degree, target_channel, source_channel, widths
        )
    producer_part = np.add.outer(source_batch * source.channel_degree, source_channel).ravel()
    consumer_part = np.add.outer(target_batch * target.channel_degree, target_channel).ravel()
    size_bytes = np.multiply.outer(samples, widths).ravel() * factor
    return EdgeTransfers(
        producer,
        consumer,
        producer_part,
        consumer_part,
        np.asarray(source.servers(strategy.servers), np.int64)[producer_part],
        np.asarray(target.servers(strategy.servers), np.int64)[consumer_part],
        size_bytes,
    )


def weight_shards(graph: OperatorGraph, strategy: ParallelStrategy, index: int) -> tuple[WeightShard, ...]:
    """Return the shards of every weight tensor of an operator and their replicas."""
    split = strategy.splits[index]
    groups = split.replica_groups(strategy.servers)
    return tuple(
        WeightShard(weight_index, members, size)
        for weight_index, weight in enumerate(graph.operators[index].weights)
        for members, size in zip(groups, _shares(weight.size_bytes, split.channel_degree), strict=True)
    )


def extract_traffic(
    graph: OperatorGraph, strategy: ParallelStrategy, global_batch: int, embedding_bytes_factor: int = 1
) -> Traffic:
    """Return the traffic of one iteration: AllReduce of replicas, activations and their gradients."""
    groups = [
        AllReduceGroup(shard.members, shard.size_bytes)
        for index in range(len(graph.operators))
        for shard in weight_shards(graph, strategy, index)
        if len(shard.members) > 1
    ]
    edges = [
        edge_transfers(graph, strategy, producer, consumer, global_batch, embedding_bytes_factor)
        for consumer, op in enumerate(graph.operators)
        for producer in op.inputs
    ]
    if not edges:
        return merged_traffic(strategy.servers, groups)
    src = np.concatenate([edge.src for edge in edges])
    dst = np.concatenate([edge.dst for edge in edges])
    size_bytes = np.concatenate([edge.size_bytes for edge in edges])
    both_ways = Transfers(
        np.concatenate([src, dst]), np.concatenate([dst, src]), np.concatenate([size_bytes, size_bytes])
    )
    return merged_traffic(strategy.servers, groups, (), both_ways)


def _boundaries(extent: int, parts: int) -> IntArray:
    return np.arange(parts + 1, dtype=np.int64) * extent // parts


def _shares(extent: int, parts: int) -> list[int]:
    return [int(size) for size in np.diff(_boundaries(extent, parts))]


def _overlaps(left: IntArray, right: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Return (left index, right index, length) of the overlaps of two partitions of one interval."""
    cuts = np.union1d(left, right)
    lengths = np.diff(cuts)
    starts = cuts[:-1]
    return (
        np.searchsorted(left, starts, side="right") - 1,
        np.searchsorted(right, starts, side="right") - 1,
        lengths,
    )


def _for_each_part(
    parts: int, repeated: IntArray, other: IntArray, widths: IntArray
) -> tuple[IntArray, IntArray, IntArray]:
    assert not repeated.any()
    return np.repeat(np.arange(parts), len(other)), np.tile(other, parts), np.tile(widths, parts)


OPTIMIZER_BYTES_PER_PARAMETER_BYTE = {"sgd": 0, "momentum": 1, "adam": 2}
"""Optimizer state in units of the float32 parameter: none, one buffer, two moments."""


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """Bytes on the fullest accelerator of one server."""

    server: int
    parameters_bytes: float
    gradients_bytes: float
    optimizer_bytes: float
    embedding_bytes: float
    activations_bytes: float

    @property
    def total_bytes(self) -> float:
        """Sum of all causes."""
        return sum(self.by_cause.values())

    @property
    def by_cause(self) -> dict[str, float]:
        """Bytes by purpose."""
        return {
            "parameters": self.parameters_bytes,
            "gradients": self.gradients_bytes,
            "optimizer": self.optimizer_bytes,
            "tables": self.embedding_bytes,
            "activations": self.activations_bytes,
        }


def memory_use(
    graph: OperatorGraph,
    strategy: ParallelStrategy,
    global_batch: int,
    accelerators_per_server: int,
    optimizer: str = "sgd",
) -> tuple[MemoryUse, ...]:
    """Return the memory of every server's fullest accelerator, shape (servers,).

    Raises
    ------
    InvalidInput
        For an optimizer outside :data:`OPTIMIZER_BYTES_PER_PARAMETER_BYTE`.
    """
    check_known("optimizer", optimizer, OPTIMIZER_BYTES_PER_PARAMETER_BYTE)
    states = OPTIMIZER_BYTES_PER_PARAMETER_BYTE[optimizer]
    parameters = [0.0] * strategy.servers
    activations = [0.0] * strategy.servers
    tables: list[list[float]] = [[] for _ in range(strategy.servers)]
    for op, split in zip(graph.operators, strategy.splits, strict=True):
        output_bytes = op.output_bytes_per_sample * part_samples(split, global_batch)
        if split.channel_dim in ("out", "columns"):
            output_bytes /= split.channel_degree
        share = op.parameter_bytes / split.channel_degree
        for server in split.servers(strategy.servers):
            activations[server] += output_bytes / accelerators_per_server
            if op.is_embedding:
                tables[server].append(share)
            else:
                parameters[server] += share
    return tuple(
        MemoryUse(
            server,
            parameters[server],
            parameters[server],
            states * parameters[server],
            (1 + states) * fullest_bin(tables[server], accelerators_per_server),
            activations[server],
        )
        for server in range(strategy.servers)
    )


def fullest_bin(sizes: list[float], bins: int) -> float:
    """Return the fullest bin's content when sizes go, largest first, to the emptiest bin.

    Examples
    --------
    >>> fullest_bin([5.0, 5.0, 5.0], 2)
    10.0
    """
    filled = [0.0] * bins
    for size in sorted(sizes, reverse=True):
        emptiest = filled.index(min(filled))
        filled[emptiest] += size
    return max(filled)
