"""A task graph is checked once, when it is made."""

import numpy as np
import pytest

from topoopt.base.errors import InvalidInput
from topoopt.simulation import (
    COLLECTIVE,
    COMPUTE,
    TRANSFER,
    TaskGraph,
    TaskRows,
    pair_demands,
    task_graph_from_edges,
)


def computes(count: int, edges: list[tuple[int, int]], **columns: float) -> TaskGraph:
    rows = [TaskRows(COMPUTE, count, **{"server": 0, "duration_s": 1.0, **columns})]  # type: ignore[arg-type]
    pairs = np.array(edges, np.int64).reshape(-1, 2)
    return task_graph_from_edges(2, rows, pairs[:, 0], pairs[:, 1])


def test_edges_become_rows_of_successors_and_repeats_count_once() -> None:
    graph = computes(3, [(0, 2), (0, 1), (1, 2), (0, 2)])
    assert graph.successor[graph.successor_first[0] : graph.successor_first[1]].tolist() == [1, 2]
    assert graph.predecessors.tolist() == [0, 1, 2]


def test_collectives_keep_their_members_in_ring_order() -> None:
    groups = ((1, 0, 3), (2, 3))
    rows = [
        TaskRows(TRANSFER, 1, src=0, dst=1, size_bytes=5),
        TaskRows(COLLECTIVE, 2, size_bytes=np.array([7, 8]), collective=0, members=groups),
    ]
    graph = task_graph_from_edges(4, rows, np.zeros(0, np.int64), np.zeros(0, np.int64))
    assert [graph.members(task) for task in range(3)] == [(), *groups]


def test_a_task_takes_few_bytes() -> None:
    """Numbers of tasks and servers take four, what has a handful of values one, what is alike in all of them none."""
    graph = computes(100, [(0, 1)])
    widths = {
        name: getattr(graph, name).strides[0] for name in ("kind", "phase", "collective", "src", "successor")
    }
    assert widths == {"kind": 1, "phase": 1, "collective": 1, "src": 4, "successor": 4}
    assert graph.iteration.strides == graph.accelerator.strides == (0,)
    assert graph.iterations == 1
    assert "waited_for" not in vars(graph), "the circles are looked for once; what that takes is not kept"


def test_columns_that_differ_are_stored_in_full() -> None:
    rows = [TaskRows(COMPUTE, 2, server=0, iteration=turn, accelerator=np.array([0, 3])) for turn in range(2)]
    graph = task_graph_from_edges(1, rows, np.zeros(0, np.int64), np.zeros(0, np.int64))
    assert graph.iteration.tolist() == [0, 0, 1, 1]
    assert graph.accelerator.tolist() == [0, 3, 0, 3]
    assert graph.device.tolist() == [0, 3, 0, 3]


def test_pairs_of_many_servers_are_told_apart() -> None:
    """Their numbers are source × servers + destination, which four bytes do not hold."""
    servers = 60_000
    rows = [TaskRows(TRANSFER, 1, src=servers - 1, dst=servers - 2, size_bytes=5)]
    _, src, dst, _ = pair_demands(
        task_graph_from_edges(servers, rows, np.zeros(0, np.int64), np.zeros(0, np.int64))
    )
    assert (src * servers + dst).tolist() == [(servers - 1) * servers + servers - 2]


def test_a_circle_is_named() -> None:
    with pytest.raises(InvalidInput, match="wait for each other in a circle") as error:
        computes(5, [(0, 1), (1, 2), (2, 3), (3, 1), (3, 4)])
    assert [f"(task {t})" in str(error.value) for t in range(5)] == [False, True, True, True, False]


def test_a_task_that_waits_for_itself_is_named() -> None:
    with pytest.raises(InvalidInput, match=r"circle: task 1 other on server 0 \(task 1\)$"):
        computes(2, [(0, 1), (1, 1)])


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"server": 2}, r"server must be in 0\.\.1, got 2"),
        ({"duration_s": -1.0}, r"duration_s must be >= 0, got -1\.0"),
        ({"duration_s": float("nan")}, "duration_s must be >= 0, got nan"),
    ],
)
def test_values_out_of_range_are_one_line_errors(columns: dict[str, float], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        computes(1, [], **columns)


def test_a_member_outside_the_servers_is_an_error() -> None:
    none = np.zeros(0, np.int64)
    rows = [TaskRows(COLLECTIVE, 1, collective=0, members=((0, 2),))]
    with pytest.raises(InvalidInput, match=r"a member of a collective is not in 0\.\.1"):
        task_graph_from_edges(2, rows, none, none)
