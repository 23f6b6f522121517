"""A strategy in words says how many operators are split in which way."""

from topoopt.pages.operators_page import MOST_LINES, strategy_words
from topoopt.workloads import Operator, OperatorGraph, load_model
from topoopt.workloads.strategy import OperatorSplit, ParallelStrategy, data_parallel


def test_data_parallel_dlrm_in_two_lines() -> None:
    graph = load_model("dlrm-16")
    assert strategy_words(graph, data_parallel(graph, 16)) == [
        "23 dense, 1 concat: data parallel in 16, on 16 servers",
        "16 embedding tables: whole, on 16 servers",
    ]


def test_tables_and_layers_that_are_split() -> None:
    ops = (
        Operator("t", "embedding", (), (), 4),
        Operator("a", "dense", (0,), (), 4),
        Operator("b", "dense", (1,), (), 4),
    )
    splits = (OperatorSplit(1, 1, 2, "columns"), OperatorSplit(4, 0, 2, "out"), OperatorSplit(1, 3))
    assert strategy_words(OperatorGraph("m", ops, 1), ParallelStrategy(8, splits)) == [
        "1 embedding table: columns split in 2, on 2 servers",
        "1 dense: output channels split in 2, data parallel in 4, on 8 servers",
        "1 dense: on one server, on 1 server",
    ]


def test_many_ways_end_in_a_count() -> None:
    ops = tuple(Operator(f"op{i}", "dense", (), (), 4) for i in range(12))
    degrees = [1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 24]
    splits = tuple(OperatorSplit(degree) for degree in degrees)
    lines = strategy_words(OperatorGraph("m", ops, 1), ParallelStrategy(120, splits))
    assert len(lines) == MOST_LINES
    assert lines[-1] == "5 more, in 5 other ways: see the plan file"
