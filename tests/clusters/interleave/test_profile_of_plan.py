"""Profiles of simulated jobs: by hand on a small job, and with all bytes on the links of a real one."""

import numpy as np
import pytest

from topoopt.base.errors import InvalidInput
from topoopt.clusters.interleave import busiest_uplink, profiles_of_links
from topoopt.finder import FabricRequest, build_fabric
from topoopt.routing import Fabric
from topoopt.simulation import (
    COLLECTIVE,
    COLLECTIVES,
    COMPUTE,
    SIMULATORS,
    TRANSFER,
    TaskGraph,
    TaskRows,
    simulate,
    task_graph_from_edges,
)

BANDWIDTH_BPS = 1e9
SERVERS = 4
COMPUTE_S = 0.1
SIZE_BYTES = 10**6
GROUP = tuple(range(SERVERS))
RING_BYTES = 2 * (SERVERS - 1) / SERVERS * SIZE_BYTES
"""What each server sends in a ring AllReduce."""


def data_parallel(iterations: int = 1) -> TaskGraph:
    """Return iterations of which each computes, and then sums its gradients over all servers."""
    rows, src, dst = [], [], []
    for number in range(iterations):
        rows.append(TaskRows(COMPUTE, SERVERS, COMPUTE_S, server=np.arange(SERVERS), iteration=number))
        rows.append(_sum(number))
        first = number * (SERVERS + 1)
        for server in range(SERVERS):
            src.append(first + server)
            dst.append(first + SERVERS)
            if number:
                src.append(first - 1)
                dst.append(first + server)
    return task_graph_from_edges(SERVERS, rows, np.array(src), np.array(dst))


def _sum(iteration: int) -> TaskRows:
    kind = COLLECTIVES.index("allreduce")
    return TaskRows(
        COLLECTIVE, 1, size_bytes=SIZE_BYTES, collective=kind, members=(GROUP,), iteration=iteration
    )


def ring() -> Fabric:
    return build_fabric("topoopt", FabricRequest(SERVERS, 2, BANDWIDTH_BPS, (GROUP,)))


@pytest.mark.parametrize("name", SIMULATORS)
def test_a_data_parallel_job_is_silent_and_then_sends_its_gradients(name: str) -> None:
    fabric = build_fabric("ideal-switch", FabricRequest(SERVERS, 1, BANDWIDTH_BPS, (GROUP,)))
    result = simulate(name, data_parallel(), fabric)
    link = busiest_uplink(result, fabric)
    profile = profiles_of_links("dp", result, fabric, [link])[link]
    assert profile.iteration_time_s == result.iteration_time_s
    assert profile.size_bytes == pytest.approx(result.link_bytes[fabric.topology.link_id(*link)], rel=1e-9)
    assert profile.size_bytes == pytest.approx(RING_BYTES, rel=0.01)
    assert profile.phases[0].start_s == pytest.approx(COMPUTE_S, rel=0.005)
    assert profile.phases[-1].end_s == pytest.approx(result.iteration_time_s, rel=0.005)
    seconds = RING_BYTES * 8 / BANDWIDTH_BPS
    assert profile.duty * profile.iteration_time_s == pytest.approx(seconds, rel=0.1)


def test_iterations_that_follow_one_another_have_the_mean_profile_of_those_in_the_middle() -> None:
    fabric = ring()
    alone = simulate("flow", data_parallel(), fabric)
    several = simulate("flow", data_parallel(5), fabric)
    link = busiest_uplink(alone, fabric)
    one, mean = (profiles_of_links("dp", result, fabric, [link])[link] for result in (alone, several))
    assert mean.iteration_time_s == pytest.approx(one.iteration_time_s, rel=1e-6)
    assert mean.size_bytes == pytest.approx(one.size_bytes, rel=1e-6)
    starts = [profile.phases[0].start_s for profile in (one, mean)]
    assert starts[1] == pytest.approx(starts[0], rel=1e-3)


def test_a_tolerance_says_how_many_phases_there_are() -> None:
    fabric = ring()
    sizes = TaskRows(TRANSFER, 4, src=0, dst=1, size_bytes=np.array([400_000, 10_000, 300_000, 200_000]))
    waits = TaskRows(COMPUTE, 4, np.array([0.0, 0.05, 0.052, 0.1]), server=np.arange(4))
    graph = task_graph_from_edges(SERVERS, [waits, sizes], np.arange(4), np.arange(4, 8))
    result = simulate("flow", graph, fabric)
    counts = [
        len(profiles_of_links("a", result, fabric, [(0, 1)], tolerance)[0, 1].phases)
        for tolerance in (0.001, 0.02, 0.5)
    ]
    assert counts[0] >= counts[1] == 3 >= counts[2]


def test_a_link_that_is_not_there_is_one_line() -> None:
    fabric = ring()
    result = simulate("analytic", data_parallel(), fabric)
    for ends in ((0, 99), (0, 0), (-1, 0)):
        with pytest.raises(InvalidInput, match=f"has no link {ends[0]}-{ends[1]}; nodes are 0..3"):
            profiles_of_links("a", result, fabric, [ends])
