"""From a strategy to exact traffic: overlaps of index boxes, weight shards, AllReduce groups.

Part ``b·C + c`` of an operator produces batch range b and, of its output's bytes per sample, range c (``out``,
``columns``), or partial sums of all of them (``in``, ``rows``). A consumer's part needs its own batch range and, if
it is split on ``in``, its own range of the bytes per sample. What two parts on different servers share must
move: activations forward, as many gradient bytes backward (TopoOpt section 7; FlexFlow's rule).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from topoopt.workloads.graph import OperatorGraph
from topoopt.workloads.strategy.strategy import OperatorSplit, ParallelStrategy
from topoopt.workloads.traffic import AllReduceGroup, Traffic, Transfers, merged_traffic

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

    ``embedding_bytes_factor`` multiplies what embedding tables send; the authors' graphs carry 2.
    """
    source, target = strategy.splits[producer], strategy.splits[consumer]
    width = graph.operators[producer].output_bytes_per_sample
    factor = embedding_bytes_factor if graph.operators[producer].is_embedding else 1
    source_batch, target_batch, samples = _overlaps(
        _boundaries(global_batch, source.batch_degree), _boundaries(global_batch, target.batch_degree)
    )
    source_channel, target_channel, widths = _channel_overlaps(source, target, width)
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
    """Return the shards of every weight tensor of an operator and who replicates them."""
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
    """Return all that one iteration moves: AllReduce of replicas, activations and their gradients."""
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


def _channel_overlaps(
    source: OperatorSplit, target: OperatorSplit, width: int
) -> tuple[IntArray, IntArray, IntArray]:
    whole = np.array([0, width], np.int64)
    divides = source.channel_dim in ("out", "columns")
    produced = _boundaries(width, source.channel_degree) if divides else whole
    needed = _boundaries(width, target.channel_degree) if target.channel_dim == "in" else whole
    left, right, widths = _overlaps(produced, needed)
    if not divides and source.channel_degree > 1:  # every part holds partial sums of everything
        left, right, widths = _for_each_part(source.channel_degree, left, right, widths)
    if target.channel_dim != "in" and target.channel_degree > 1:  # every part reads everything
        right, left, widths = _for_each_part(target.channel_degree, right, left, widths)
    return left, right, widths


def _for_each_part(
    parts: int, repeated: IntArray, other: IntArray, widths: IntArray
) -> tuple[IntArray, IntArray, IntArray]:
    assert not repeated.any()
    return np.repeat(np.arange(parts), len(other)), np.tile(other, parts), np.tile(widths, parts)
