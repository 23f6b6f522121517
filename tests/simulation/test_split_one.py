"""Every transfer on one path of its pair, drawn as a switch hashes a connection."""

import numpy as np
import pytest

from topoopt.finder import FabricRequest, FabricShape, build_fabric
from topoopt.routing import Fabric, chosen_paths, cumulative_weights, make_routes, path_table
from topoopt.simulation import (
    COLLECTIVE,
    TRANSFER,
    SimResult,
    SimulationOptions,
    TaskGraph,
    TaskRows,
    simulate,
    task_graph_from_edges,
)
from topoopt.topologies import Link, topology_from_links

MEGA = 1_000_000
SWITCHES = FabricShape(switches=True)


def at_once(servers: int, *rows: TaskRows) -> TaskGraph:
    nothing = np.zeros(0, np.int64)
    return task_graph_from_edges(servers, list(rows), nothing, nothing)


def transfers(src: list[int], dst: list[int], size_bytes: int) -> TaskRows:
    return TaskRows(TRANSFER, len(src), src=np.array(src), dst=np.array(dst), size_bytes=size_bytes)


def run(graph: TaskGraph, fabric: Fabric, split: str, seed: int = 0, simulator: str = "flow") -> SimResult:
    return simulate(simulator, graph, fabric, SimulationOptions(split=split, seed=seed))


def two_ways() -> Fabric:
    """Return servers 0, 1 with fast links to a switch each, which two slow ways over switches join."""
    cables = [(0, 2, 200e9), (2, 3, 100e9), (2, 4, 100e9), (3, 5, 100e9), (4, 5, 100e9), (5, 1, 200e9)]
    links = [Link(*ends, rate) for a, b, rate in cables for ends in ((a, b), (b, a))]
    topology = topology_from_links("test", 2, links, 6)
    return Fabric("test", topology, make_routes("ecmp", topology), {})


@pytest.mark.parametrize("simulator", ["flow", "analytic"])
def test_two_transfers_take_twice_as_long_if_they_collide(simulator: str) -> None:
    graph, fabric = at_once(2, transfers([0, 0], [1, 1], 100 * MEGA)), two_ways()
    alone_s = run(at_once(2, transfers([0], [1], 100 * MEGA)), fabric, "one").iteration_time_s
    assert alone_s == pytest.approx(8e-3, rel=0.01)
    collisions = 0
    for seed in range(40):
        draws = np.array([0.5, 1.0])
        first, second = chosen_paths(np.array([0, 2]), draws, np.zeros(2, np.int64), np.arange(2), seed)
        time_s = run(graph, fabric, "one", seed, simulator).iteration_time_s
        assert time_s == pytest.approx(16e-3 if first == second else 8e-3, rel=0.01)
        collisions += first == second
    assert 8 <= collisions <= 32  # half of 40 draws, within four standard deviations


def test_bytes_are_on_the_links_of_the_drawn_paths_and_on_no_others() -> None:
    fabric = build_fabric("fat-tree", FabricRequest(54, 1, 100e9, shape=SWITCHES))
    rng = np.random.default_rng(1)
    src = rng.integers(0, 54, 80)
    dst = (src + rng.integers(1, 54, 80)) % 54
    result = run(at_once(54, transfers(src.tolist(), dst.tolist(), MEGA)), fabric, "one", seed=5)
    table = path_table(fabric, src, dst)
    cumulative = cumulative_weights(table.pair_first, table.weight)
    expected = np.zeros(len(fabric.topology))
    for path in chosen_paths(table.pair_first, cumulative, np.arange(80), np.arange(80), 5):
        expected[table.link[table.path_first[path] : table.path_first[path + 1]]] += MEGA
    assert result.link_bytes.tolist() == expected.tolist()


def test_collisions_in_a_fat_tree_cost_time_that_spreading_saves() -> None:
    # A permutation between pods: spread, every link carries one flow; hashed, some carry several.
    fabric = build_fabric(
        "fat-tree", FabricRequest(128, 1, 100e9, server_bandwidth_bps=100e9, shape=SWITCHES)
    )
    everyone = np.arange(128)
    graph = at_once(128, transfers(everyone.tolist(), ((everyone + 64) % 128).tolist(), 100 * MEGA))
    assert run(graph, fabric, "spread").iteration_time_s == pytest.approx(8e-3, rel=0.01)
    times = [run(graph, fabric, "one", seed).iteration_time_s for seed in range(3)]
    assert min(times) >= 16e-3
    assert run(graph, fabric, "one", 1).finish_s.tolist() == run(graph, fabric, "one", 1).finish_s.tolist()
    assert run(graph, fabric, "one", 0).finish_s.tolist() != run(graph, fabric, "one", 1).finish_s.tolist()


def test_one_is_spread_where_a_pair_has_one_path() -> None:
    members = tuple(range(16))
    fabric = build_fabric("ideal-switch", FabricRequest(16, 1, 100e9, (members,)))
    sums = TaskRows(COLLECTIVE, 1, size_bytes=64 * MEGA, collective=0, members=(members,))
    graph = at_once(16, transfers([0, 3, 5], [1, 1, 2], MEGA), sums)
    assert run(graph, fabric, "one").finish_s.tolist() == run(graph, fabric, "spread").finish_s.tolist()


def test_each_edge_of_a_ring_takes_one_path_and_each_collective_draws_anew() -> None:
    members = tuple(range(0, 54, 3))  # one server in each rack
    fabric = build_fabric("fat-tree", FabricRequest(54, 1, 100e9, (members,), shape=SWITCHES))
    sums = TaskRows(COLLECTIVE, 2, size_bytes=18 * MEGA, collective=0, members=(members, members))
    one = at_once(54, TaskRows(COLLECTIVE, 1, size_bytes=18 * MEGA, collective=0, members=(members,)))
    edge_bytes = 2 * 17 * MEGA
    topology = fabric.topology
    alone, both = (run(graph, fabric, "one", 2).link_bytes for graph in (one, at_once(54, sums)))
    out = topology.src < 54
    assert set(alone[out & (alone > 0)].tolist()) == {edge_bytes}
    assert set((alone / edge_bytes % 1).tolist()) == {0.0}
    assert np.bincount(topology.src, alone)[list(members)].tolist() == [edge_bytes] * 18
    assert both.sum() == 2 * alone.sum()
    assert both.tolist() != (2 * alone).tolist()
    spread = run(one, fabric, "spread").link_bytes
    assert spread.sum() == pytest.approx(alone.sum())
    assert not (spread / edge_bytes % 1 == 0).all()


def test_rings_that_have_links_of_their_own_keep_them() -> None:
    members = tuple(range(12))
    fabric = build_fabric(
        "topoopt", FabricRequest(12, 4, 25e9, (members,), shape=FabricShape(strides=(1, 5)))
    )
    graph = at_once(12, TaskRows(COLLECTIVE, 1, size_bytes=48 * MEGA, collective=0, members=(members,)))
    for seed in range(2):
        assert (
            run(graph, fabric, "one", seed).link_bytes.tolist()
            == run(graph, fabric, "spread").link_bytes.tolist()
        )
