"""Edges of a task graph by the task that they leave, against sets."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topoopt.base.errors import InvalidInput
from topoopt.simulation import COMPUTE, TaskRows, task_graph_from_edges

TASKS = 9


@given(st.lists(st.tuples(st.integers(0, TASKS - 2), st.integers(1, TASKS - 1)), max_size=60))
def test_each_edge_counts_once_and_those_of_a_task_ascend(pairs: list[tuple[int, int]]) -> None:
    edges = [(a, b) for a, b in pairs if a < b]
    before, after = np.array(edges, np.int64).reshape(-1, 2).T
    graph = task_graph_from_edges(1, [TaskRows(COMPUTE, TASKS, server=0)], before, after)
    for task in range(TASKS):
        found = graph.successor[graph.successor_first[task] : graph.successor_first[task + 1]].tolist()
        assert found == sorted({b for a, b in edges if a == task})
    assert graph.predecessors.tolist() == [len({a for a, b in edges if b == task}) for task in range(TASKS)]


def test_an_edge_to_a_task_that_there_is_not_is_refused() -> None:
    rows = [TaskRows(COMPUTE, 2, server=0)]
    with pytest.raises(InvalidInput, match=r"an edge names task 2, of 0\.\.1"):
        task_graph_from_edges(1, rows, np.array([0]), np.array([2]))
