"""Memory by cause, counted by hand on small strategies."""

import pytest

from topoopt.base.errors import InvalidInput
from topoopt.workloads import Operator, OperatorGraph, Weight
from topoopt.workloads.strategy import OperatorSplit, ParallelStrategy, memory_use

TABLE = Operator("table", "embedding", (), (Weight("rows", 1000),), 16, splits=frozenset({"rows", "columns"}))
DENSE = Operator(
    "dense", "dense", (0,), (Weight("kernel", 400),), 8, splits=frozenset({"batch", "out", "in"})
)
GRAPH = OperatorGraph("small", (TABLE, DENSE), 10)


def test_memory_of_a_table_and_a_replicated_layer() -> None:
    strategy = ParallelStrategy(2, (OperatorSplit(1, 1), OperatorSplit(2)))
    first, second = memory_use(GRAPH, strategy, global_batch=80, accelerators_per_server=4)
    assert (first.parameters_bytes, first.gradients_bytes, first.embedding_bytes) == (400, 400, 0)
    assert first.activations_bytes == 8 * 40 / 4
    assert second.embedding_bytes == 1000
    assert second.activations_bytes == 8 * 40 / 4 + 16 * 80 / 4
    assert second.total_bytes == 400 + 400 + 1000 + second.activations_bytes


def test_splitting_on_output_channels_divides_parameters_and_activations() -> None:
    strategy = ParallelStrategy(2, (OperatorSplit(1, 0, 2, "rows"), OperatorSplit(1, 0, 2, "out")))
    use = memory_use(GRAPH, strategy, 80, 4, optimizer="adam")[0]
    assert use.parameters_bytes == 200
    assert use.optimizer_bytes == 400
    assert use.embedding_bytes == 3 * 500
    assert use.activations_bytes == 8 * 80 / 2 / 4 + 16 * 80 / 4


def test_tables_of_one_server_fill_its_accelerators_evenly() -> None:
    graph = OperatorGraph("tables", (TABLE,) * 5, 10)
    strategy = ParallelStrategy(2, (OperatorSplit(1, 0),) * 5)
    assert memory_use(graph, strategy, 80, 4)[0].embedding_bytes == 2000


def test_an_unknown_optimizer_is_named_with_the_known_ones() -> None:
    with pytest.raises(InvalidInput, match="adam"):
        memory_use(GRAPH, ParallelStrategy(2, (OperatorSplit(1), OperatorSplit(2))), 80, 4, "adamw")
