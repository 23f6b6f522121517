"""Traffic extraction against an enumeration of single bytes, and the published per-pair bytes."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topoopt.workloads import Operator, OperatorGraph, Weight
from topoopt.workloads.strategy import (
    OperatorSplit,
    ParallelStrategy,
    data_parallel,
    edge_transfers,
    extract_traffic,
    weight_shards,
)

SERVERS = 12


def two_layers(width: int) -> OperatorGraph:
    dense = frozenset({"batch", "out", "in"})
    first = Operator("first", "dense", (), (Weight("kernel", 48),), width, splits=dense)
    second = Operator("second", "dense", (0,), (Weight("kernel", 48),), 4, splits=dense)
    return OperatorGraph("two", (first, second), 1)


@st.composite
def splits(draw: st.DrawFn) -> OperatorSplit:
    parts = draw(st.sampled_from([1, 2, 3, 4, 6, 12]))
    channel = draw(st.sampled_from([k for k in (1, 2, 3, 4, 6, 12) if parts % k == 0]))
    dim = draw(st.sampled_from(["out", "in"])) if channel > 1 else "none"
    start = draw(st.integers(0, SERVERS // parts - 1))
    return OperatorSplit(parts // channel, start, channel, dim)


def owner_ranges(
    split: OperatorSplit, part: int, batch: int, width: int, divides: bool
) -> set[tuple[int, int]]:
    b, c = divmod(part, split.channel_degree)
    samples = range(b * batch // split.batch_degree, (b + 1) * batch // split.batch_degree)
    cut = split.channel_degree if divides else 1
    c = c if divides else 0
    return {(s, w) for s in samples for w in range(c * width // cut, (c + 1) * width // cut)}


@settings(max_examples=60)
@given(splits(), splits(), st.integers(12, 20), st.integers(1, 7))
def test_edge_bytes_equal_an_enumeration_of_single_bytes(
    source: OperatorSplit, target: OperatorSplit, batch: int, width: int
) -> None:
    strategy = ParallelStrategy(SERVERS, (source, target))
    edge = edge_transfers(two_layers(width), strategy, 0, 1, batch)
    found = Counter[tuple[int, int]]()
    for i, j, size in zip(edge.producer_part, edge.consumer_part, edge.size_bytes, strict=True):
        found[int(i), int(j)] += int(size)
    expected = Counter[tuple[int, int]]()
    for i in range(source.parts):
        made = owner_ranges(source, i, batch, width, source.channel_dim == "out")
        for j in range(target.parts):
            wanted = owner_ranges(target, j, batch, width, target.channel_dim == "in")
            if made & wanted:
                expected[i, j] = len(made & wanted)
    assert +found == expected


def test_a_column_then_row_split_pair_of_layers_talks_only_inside_each_server() -> None:
    strategy = ParallelStrategy(SERVERS, (OperatorSplit(3, 0, 4, "out"), OperatorSplit(3, 0, 4, "in")))
    edge = edge_transfers(two_layers(8), strategy, 0, 1, 12)
    assert (edge.src == edge.dst).all()


def test_equal_data_parallel_layers_move_no_activations() -> None:
    traffic = extract_traffic(
        two_layers(8), ParallelStrategy(SERVERS, (OperatorSplit(12), OperatorSplit(12))), 24
    )
    assert traffic.mp_bytes == 0
    assert traffic.allreduce_bytes == 96
    assert [group.members for group in traffic.allreduce] == [tuple(range(12))]


def test_a_change_of_data_parallel_degree_moves_bytes_even_on_shared_servers() -> None:
    strategy = ParallelStrategy(SERVERS, (OperatorSplit(12), OperatorSplit(6)))
    edge = edge_transfers(two_layers(8), strategy, 0, 1, 24)
    assert edge.size_bytes.sum() == 24 * 8
    assert (edge.src != edge.dst).any()


@pytest.mark.parametrize(("factor", "expected"), [(1, 2 * 262_144), (2, 2 * 524_288)])
def test_a_placed_table_exchanges_the_published_bytes_with_every_other_server(
    factor: int, expected: int
) -> None:
    """25dlrm_128 of the authors: one transfer is 524,288 bytes with b=512, dim=128, factor 2."""
    table = Operator("table", "embedding", (), (Weight("rows", 10),), 128 * 4, splits=frozenset({"rows"}))
    dense = Operator("top", "concat", (0,), (), 4)
    graph = OperatorGraph("one table", (table, dense), 128)
    strategy = data_parallel(graph, 128)
    traffic = extract_traffic(graph, strategy, 128 * 4 * 128, factor)
    pairs = {(t.src, t.dst): t.size_bytes for t in traffic.transfers}
    assert pairs[0, 5] == pairs[5, 0] == expected // 2
    assert traffic.mp_bytes == 127 * expected


def test_tensor_parallel_shards_are_replicated_by_the_data_parallel_groups() -> None:
    strategy = ParallelStrategy(SERVERS, (OperatorSplit(3, 0, 4, "out"), OperatorSplit(12)))
    shards = weight_shards(two_layers(8), strategy, 0)
    assert [shard.members for shard in shards] == [(0, 4, 8), (1, 5, 9), (2, 6, 10), (3, 7, 11)]
    assert sum(shard.size_bytes for shard in shards) == 48
