"""Another order of tasks is the same graph, and results come back under the graph's own numbers."""

from dataclasses import fields

import numpy as np
import pytest

from benchmarks.reference_replay import task_graph
from topoopt.finder import FabricRequest, build_fabric
from topoopt.simulation import PacketOptions, SimulationOptions, TaskGraph, simulate
from topoopt.simulation.task_graph import COLUMNS, renumbered, start_order

DLRM = "40dlrm_16"


def same(a: TaskGraph, b: TaskGraph) -> bool:
    return all(np.array_equal(getattr(a, one.name), getattr(b, one.name)) for one in fields(TaskGraph))


def test_seed_0_keeps_the_order_of_numbers() -> None:
    graph = task_graph(DLRM)
    assert start_order(4, 0).tolist() == [0, 1, 2, 3]
    assert same(renumbered(graph, start_order(len(graph), 0)), graph)


def test_every_seed_is_an_order_of_its_own() -> None:
    orders = {tuple(start_order(50, seed).tolist()) for seed in range(5)}
    assert len(orders) == 5
    assert all(sorted(order) == list(range(50)) for order in orders)


def test_tasks_keep_their_columns_members_and_successors() -> None:
    graph = task_graph(DLRM)
    order = start_order(len(graph), 3)
    other = renumbered(graph, order)
    for name in (*COLUMNS, "predecessors"):
        assert np.array_equal(getattr(other, name), getattr(graph, name)[order]), name
    for new, old in enumerate(order.tolist()):
        assert other.members(new) == graph.members(old)
        following = other.successor[other.successor_first[new] : other.successor_first[new + 1]]
        expected = graph.successor[graph.successor_first[old] : graph.successor_first[old + 1]]
        assert sorted(order[following].tolist()) == sorted(expected.tolist())


def test_every_column_of_a_task_is_renumbered() -> None:
    tables = {"member_first", "member", "successor_first", "successor"}
    other = {"servers", "operator_names"}
    assert {one.name for one in fields(TaskGraph)} == {*COLUMNS, "predecessors"} | tables | other


@pytest.mark.parametrize("seed", [1, 2])
def test_where_nothing_is_ready_together_the_seed_changes_nothing(seed: int) -> None:
    graph = task_graph("800vgg_16")
    fabric = build_fabric(
        "ideal-switch", FabricRequest(16, 1, 800e9, graph.groups, server_bandwidth_bps=800e9)
    )
    packet = PacketOptions(log_flows=True)
    first = simulate("packet", graph, fabric, SimulationOptions(packet=packet))
    other = simulate("packet", graph, fabric, SimulationOptions(seed=seed, packet=packet))
    assert other.graph is graph
    computes = graph.server >= 0
    assert np.array_equal(first.finish_s[computes], other.finish_s[computes])
    assert first.iteration_time_s == other.iteration_time_s
    assert first.flows is not None
    assert other.flows is not None
    assert sorted(first.flows.task.tolist()) == sorted(other.flows.task.tolist())
