"""Schedules played send by send agree with the one flow that a ring is elsewhere."""

import pytest

from topoopt.collectives import SCHEDULES, closed_form_time_s, make_schedule
from topoopt.errors import InvalidInput
from topoopt.routing import Fabric, make_routes
from topoopt.simulate import SIMULATORS, schedule_task_graph, simulate
from topoopt.topology import Topology, circulant, ideal_switch

GIBIBYTE = 2**30


def on(topology: Topology) -> Fabric:
    return Fabric("test", topology, make_routes("single-shortest", topology), {})


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_ring_played_send_by_send_takes_the_measured_time(simulator: str) -> None:
    """162.122466400 ms less the compute task of 1 ms, from the original packet simulator."""
    graph = schedule_task_graph(make_schedule("ring", 16), range(16), GIBIBYTE)
    result = simulate(simulator, graph, on(circulant(16, [1], 100e9)))
    assert result.iteration_time_s == pytest.approx(161.122466400e-3, abs=1e-12)


@pytest.mark.parametrize(
    "name", sorted(set(SCHEDULES) - {"multi-ring", "hierarchical", "double-binary-tree"})
)
def test_large_collectives_through_a_switch_approach_their_closed_forms(name: str) -> None:
    graph = schedule_task_graph(make_schedule(name, 8), range(8), GIBIBYTE)
    result = simulate("flow", graph, on(ideal_switch(8, 100e9)))
    latency_s = 4e-6 + 8936 * 8 / 100e9
    expected = closed_form_time_s(name, 8, GIBIBYTE, latency_s, 100e9)
    assert result.iteration_time_s == pytest.approx(expected, rel=1e-3)


def test_ranks_sit_on_any_servers() -> None:
    graph = schedule_task_graph(make_schedule("ring", 3), (9, 2, 5), 3_000_000, servers=12)
    moved = {(int(a), int(b)) for a, b in zip(graph.src, graph.dst, strict=True) if a != b}
    assert moved == {(9, 2), (2, 5), (5, 9)}
    assert graph.servers == 12


def test_a_rank_without_a_server_is_an_error() -> None:
    with pytest.raises(InvalidInput, match="schedule ring: needs 4 members, one a rank, got 3"):
        schedule_task_graph(make_schedule("ring", 4), range(3), 100)
