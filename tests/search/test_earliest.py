"""Earliest starts hold whatever the servers do first and however long communication takes."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topoopt.base.arrays import Floats
from topoopt.jobs import Job, operators_of
from topoopt.routing import Fabric
from topoopt.search import simulated
from topoopt.search.bounds.transfer_windows import Earliest, earliest
from topoopt.search.candidates.candidate import fabric_for
from topoopt.search.proposals.mcmc import SearchProblem, make_problem
from topoopt.simulation import COMPUTE, TRANSFER, TaskGraph, TaskRows, task_graph_from_edges
from topoopt.workloads.strategy import ParallelStrategy, data_parallel

MakeJob = Callable[..., Job]
RandomStrategy = Callable[[SearchProblem, np.random.Generator, float], ParallelStrategy]
Ints = list[int]


def computes(servers: Ints, durations_s: list[float], edges: list[tuple[int, int]]) -> TaskGraph:
    """Return compute tasks that wait for each other."""
    rows = TaskRows(COMPUTE, len(servers), np.array(durations_s), server=np.array(servers))
    before, after = np.array(edges, np.int64).reshape(-1, 2).T
    return task_graph_from_edges(max(servers) + 1, [rows], before, after)


def test_a_chain_waits_for_all_before_it() -> None:
    found = earliest(computes([0, 1, 0], [1.0, 2.0, 4.0], [(0, 1), (1, 2)]))
    assert found.start_s.tolist() == [0, 1, 3]
    assert found.least_time_s == 7


def test_two_branches_on_one_server_are_done_one_after_the_other() -> None:
    """Both have to be done before the last; a longest chain alone would let it start at 3."""
    found = earliest(computes([0, 0, 0], [3.0, 2.0, 1.0], [(0, 2), (1, 2)]))
    assert found.start_s.tolist() == [0, 0, 5]
    assert found.least_time_s == 6


def test_two_branches_on_two_servers_are_not() -> None:
    found = earliest(computes([0, 1, 0], [3.0, 2.0, 1.0], [(0, 2), (1, 2)]))
    assert found.start_s.tolist() == [0, 0, 3]


def test_a_server_needs_time_for_all_its_work() -> None:
    """Three tasks that wait for none of the others, one of them for another server."""
    found = earliest(computes([0, 0, 0, 1], [3.0, 2.0, 1.0, 0.5], [(3, 0)]))
    assert found.start_s.tolist() == [0.5, 0, 0, 0]
    assert found.least_time_s == 6


def test_an_empty_graph_takes_no_time() -> None:
    rows = TaskRows(TRANSFER, 1, src=0, dst=1, size_bytes=5)
    nothing = np.zeros(0, np.int64)
    found = earliest(task_graph_from_edges(2, [rows], nothing, nothing))
    assert found.least_time_s == 0
    assert found.start_s.tolist() == [0]


def any_schedule(graph: TaskGraph, rng: np.random.Generator) -> tuple[Floats, float]:
    """Return starts and end when servers take up ready work in random order and communication takes random time."""
    takes_s = np.where(graph.kind == COMPUTE, graph.duration_s, rng.exponential(1.0, len(graph)))
    takes_s[(graph.kind != COMPUTE) & (rng.random(len(graph)) < 0.5)] = 0.0
    waiting, ready_s = graph.predecessors.copy(), np.zeros(len(graph))
    start_s, free_s = np.full(len(graph), np.nan), np.zeros(graph.servers)
    open_tasks = list(np.flatnonzero(waiting == 0))
    while open_tasks:
        task = open_tasks.pop(rng.integers(len(open_tasks)))
        server = graph.server[task]
        start_s[task] = max(ready_s[task], free_s[server]) if server >= 0 else ready_s[task]
        end_s = start_s[task] + takes_s[task]
        if server >= 0:
            free_s[server] = end_s
        for other in graph.successor[graph.successor_first[task] : graph.successor_first[task + 1]]:
            ready_s[other] = max(ready_s[other], end_s)
            waiting[other] -= 1
            if not waiting[other]:
                open_tasks.append(other)
    return start_s, float((start_s + takes_s).max())


def check(found: Earliest, start_s: Floats, end_s: float) -> None:
    assert (found.start_s <= start_s + 1e-9).all()
    assert found.least_time_s <= end_s + 1e-9


@settings(max_examples=100)
@given(data=st.data(), seed=st.integers(0, 2**32))
def test_no_schedule_is_earlier(data: st.DataObject, seed: int) -> None:
    rng = np.random.default_rng(seed)
    tasks = data.draw(st.integers(2, 14))
    servers = data.draw(st.integers(1, 4))
    kinds = rng.random(tasks) < 0.7
    order = [*np.flatnonzero(kinds), *np.flatnonzero(~kinds)]  # compute tasks are numbered first
    number = {int(place): index for index, place in enumerate(order)}
    edges = [(number[a], number[b]) for b in range(tasks) for a in range(b) if rng.random() < 0.3]
    count = int(kinds.sum())
    rows = [
        TaskRows(
            COMPUTE, count, rng.integers(1, 9, count).astype(float), server=rng.integers(0, servers, count)
        ),
        TaskRows(TRANSFER, tasks - count, src=0, dst=0, size_bytes=1),
    ]
    before, after = np.array(edges, np.int64).reshape(-1, 2).T
    graph = task_graph_from_edges(servers, rows, before, after)
    found = earliest(graph)
    for _ in range(5):
        check(found, *any_schedule(graph, rng))


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_a_job_is_never_earlier(
    share: float, small_dlrm: Job, random_strategy: RandomStrategy, fabric: Callable[[str, int], Fabric]
) -> None:
    rng = np.random.default_rng(1)
    problem = make_problem(small_dlrm, fabric("circulant", 16))
    strategy = random_strategy(problem, rng, share)
    graph = simulated(small_dlrm, strategy, fabric("ideal-switch", 16)).graph
    found = earliest(graph)
    for _ in range(10):
        check(found, *any_schedule(graph, rng))


def test_data_parallel_work_is_bounded_by_its_simulation(small_job: MakeJob) -> None:
    """Where one task follows another the bound is what free communication takes."""
    job = small_job(8)
    strategy = data_parallel(operators_of(job).graph, 8)
    result = simulated(job, strategy, fabric_for(job, strategy))
    found = earliest(result.graph)
    assert found.least_time_s == pytest.approx(result.compute_time_s, rel=1e-12)


def test_without_room_for_sets_only_chains_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("topoopt.search.bounds.transfer_windows.LARGEST_SETS_BYTES", 0)
    found = earliest(computes([0, 0, 0], [3.0, 2.0, 1.0], [(0, 2), (1, 2)]))
    assert found.start_s.tolist() == [0, 0, 3]
    assert found.least_time_s == 6
