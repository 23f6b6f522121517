"""The critical path is a chain without holes, whose parts sum to the time of the last task."""

import itertools

import numpy as np
import pytest

from topoopt.pages.timelines import critical_path, time_by_phase
from topoopt.routing import DirectRoutes, Fabric
from topoopt.simulation import (
    COMPUTE,
    PHASES,
    TRANSFER,
    SimResult,
    SimulationOptions,
    TaskRows,
    simulate,
    task_graph_from_edges,
)
from topoopt.topologies import circulant

FORWARD, ACTIVATION = PHASES.index("forward"), PHASES.index("activation")


def two_servers() -> SimResult:
    """Two servers and one link each way: two computations on server 0, 1 GB to server 1, one computation there.

    The second computation of server 0 takes longer than the transfer, but nobody waits for it.
    """
    compute = TaskRows(
        COMPUTE,
        3,
        duration_s=np.array([0.5, 0.05, 0.25]),
        server=np.array([0, 0, 1]),
        operator=np.array([0, 1, 2]),
        phase=FORWARD,
    )
    moved = TaskRows(TRANSFER, 1, src=0, dst=1, size_bytes=10**9, operator=0, phase=ACTIVATION)
    graph = task_graph_from_edges(2, [compute, moved], np.array([0, 3]), np.array([3, 2]), ("a", "b", "c"))
    topology = circulant(2, [1], 100e9, latency_s=0.0)
    return simulate(
        "analytic", graph, Fabric("pair", topology, DirectRoutes(topology), {}), SimulationOptions()
    )


def test_a_chain_that_can_be_followed_by_hand() -> None:
    result = two_servers()
    steps = critical_path(result)
    assert [step.task for step in steps] == [0, 3, 2]
    seconds = time_by_phase(steps)
    assert seconds == pytest.approx({"forward": 0.75, "activation": 0.08})  # 8 Gb at 100 Gb/s


def test_a_computation_waits_for_the_one_before_it_on_its_accelerator() -> None:
    nothing = np.zeros(0, np.int64)
    rows = TaskRows(
        COMPUTE, 3, duration_s=np.array([1.0, 2.0, 4.0]), server=np.zeros(3, np.int64), phase=FORWARD
    )
    topology = circulant(2, [1], 100e9)
    graph = task_graph_from_edges(2, [rows], nothing, nothing)
    result = simulate(
        "analytic", graph, Fabric("pair", topology, DirectRoutes(topology), {}), SimulationOptions()
    )
    assert [step.task for step in critical_path(result)] == [0, 1, 2]


def test_the_parts_of_a_plan_sum_to_its_iteration_time(result: SimResult) -> None:
    steps = critical_path(result)
    assert steps[0].start_s == 0
    assert all(a.finish_s == b.start_s for a, b in itertools.pairwise(steps))
    assert sum(time_by_phase(steps).values()) == pytest.approx(result.iteration_time_s)
    assert steps[-1].finish_s == result.finish_s.max()
