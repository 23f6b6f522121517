"""Servers in lockstep are one: which tasks are alike, and that nothing is lost by it."""

import numpy as np
import pytest

from tests.clusters.shared_jobs import MEGABYTE, reducer, training
from topoopt.clusters.shared_job import lockstep
from topoopt.simulation import COLLECTIVE, COMPUTE, TRANSFER, TaskGraph, TaskRows, task_graph_from_edges


def rows_of(graph: TaskGraph, task: int) -> tuple[float, ...]:
    return float(graph.kind[task]), float(graph.duration_s[task]), float(graph.size_bytes[task])


@pytest.mark.parametrize("servers", [2, 3, 8, 16])
def test_a_data_parallel_job_has_as_many_steps_on_any_number_of_servers(servers: int) -> None:
    graph = training(np.random.default_rng(0), servers, layers=4)
    steps = lockstep(graph)
    # four layers forward and backward, the exchange, four AllReduces
    assert len(steps) == 4 + 1 + 4 + 4
    assert steps.device.max() == 0
    assert not steps.computes_without_waiting


@pytest.mark.parametrize("seed", range(20))
def test_tasks_of_a_step_do_the_same_and_wait_for_the_same_steps(seed: int) -> None:
    graph = irregular(np.random.default_rng(seed))
    steps = lockstep(graph)
    source = np.repeat(np.arange(len(graph)), np.diff(graph.successor_first))
    for step in range(len(steps)):
        tasks = np.flatnonzero(steps.step == step).tolist()
        assert steps.first_task[step] == tasks[0]
        assert len({rows_of(graph, task) for task in tasks}) == 1
        before = {tuple(sorted(steps.step[source[graph.successor == task]].tolist())) for task in tasks}
        after = {tuple(sorted(steps.step[graph.successor[source == task]].tolist())) for task in tasks}
        assert len(before) == len(after) == 1
        devices = graph.device[tasks]
        assert (devices < 0).all() or len(set(devices.tolist())) == len(tasks), "two of a queue are never one"
        assert set(steps.before[steps.after == step].tolist()) == set(next(iter(before)))


def irregular(rng: np.random.Generator) -> TaskGraph:
    """Few kinds of tasks with random dependencies, so that some are alike by chance."""
    count, servers = int(rng.integers(5, 30)), 3
    rows = []
    for _ in range(count):
        kind = int(rng.integers(3))
        if kind == COMPUTE:
            rows.append(TaskRows(COMPUTE, 1, float(rng.integers(1, 3)), server=int(rng.integers(servers))))
        elif kind == TRANSFER:
            src = int(rng.integers(servers))
            rows.append(TaskRows(TRANSFER, 1, src=src, dst=(src + 1) % servers, size_bytes=MEGABYTE))
        else:
            rows.append(TaskRows(COLLECTIVE, 1, size_bytes=MEGABYTE, collective=0, members=((0, 1, 2),)))
    ends = np.sort(rng.integers(0, count, (count // 2, 2)), axis=1)
    ends = ends[ends[:, 0] < ends[:, 1]]
    return task_graph_from_edges(servers, rows, ends[:, 0], ends[:, 1])


def test_a_slow_server_is_no_one_elses_equal() -> None:
    rows = [
        TaskRows(COMPUTE, 3, np.array([1.0, 1.0, 2.0]), server=np.arange(3)),
        TaskRows(COMPUTE, 3, 1.0, server=np.arange(3)),
    ]
    steps = lockstep(task_graph_from_edges(3, rows, np.arange(3), 3 + np.arange(3)))
    assert steps.step.tolist() == [0, 0, 1, 2, 2, 3]
    assert steps.device.tolist() == [steps.device[0], steps.device[1], steps.device[0], steps.device[1]]
    assert steps.device[0] != steps.device[1]
    assert steps.free_finish_s.tolist() == [1.0, 2.0, 2.0, 3.0]


def test_equal_tasks_of_one_server_stay_apart() -> None:
    rows = [TaskRows(COMPUTE, 4, 1.0, server=np.array([0, 0, 1, 1]))]
    none = np.zeros(0, np.int64)
    assert lockstep(task_graph_from_edges(2, rows, none, none)).step.tolist() == [0, 1, 0, 1]


def test_a_job_that_only_reduces_at_the_end_computes_without_waiting() -> None:
    assert lockstep(reducer(4, MEGABYTE, 1e-3)).computes_without_waiting
