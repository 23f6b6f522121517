"""The flow simulator on regional circuits: turns, changes, fallback, and what it has in common with fixed links."""

from dataclasses import replace

import numpy as np
import pytest

from topoopt.base.arrays import Ints
from topoopt.base.errors import InvalidInput
from topoopt.finder import FabricRequest, FabricShape, build_fabric, exchange_time_s, regional_circuits
from topoopt.routing import Fabric, Path, explicit_routes
from topoopt.simulation import (
    COLLECTIVE,
    COLLECTIVES,
    COMPUTE,
    TRANSFER,
    SimResult,
    SimulationOptions,
    TaskGraph,
    TaskRows,
    link_statistics,
    simulate,
    task_graph_from_edges,
)
from topoopt.topologies import topology_from_arrays

NOTHING = np.zeros(0, np.int64)
GB = 10**9
ALL_TO_ALL = COLLECTIVES.index("all-to-all")
EXACT = SimulationOptions(tolerance=0.0)
SMALL = 1e-4
"""Overheads of opening connections, in seconds: beside transfers of 10 ms and more."""


def mixnet(servers: int, degree: int = 8, **shape: object) -> Fabric:
    return build_fabric("mixnet", FabricRequest(servers, degree, 100e9, shape=FabricShape(**shape)))  # type: ignore[arg-type]


def exchanges(
    members: tuple[int, ...], pair_bytes: int, times: int, compute_s: float, iterations: int = 1
) -> TaskGraph:
    """Return computing on all members and an all-to-all, by turns."""
    k = len(members)
    rows, before, after = [], [], []
    turn = np.arange(k + 1)
    for number in range(times * iterations):
        iteration = number // times
        rows.append(TaskRows(COMPUTE, k, compute_s, server=np.array(members), iteration=iteration))
        size = pair_bytes * k
        rows.append(
            TaskRows(
                COLLECTIVE, 1, size_bytes=size, collective=ALL_TO_ALL, members=(members,), iteration=iteration
            )
        )
        first = number * (k + 1)
        before.append(first + turn[:-1])
        after.append(np.full(k, first + k))
        if number:
            before.append(np.full(k, first - 1))
            after.append(first + turn[:-1])
    return task_graph_from_edges(max(members) + 1, rows, np.concatenate(before), np.concatenate(after))


def uneven(demand: np.ndarray, servers: int) -> TaskGraph:
    """Return an all-to-all of given bytes for each pair: a beginning, transfers, an end."""
    src, dst = np.nonzero(demand)
    rows = [
        TaskRows(COLLECTIVE, 1, collective=ALL_TO_ALL, members=((0,),)),
        TaskRows(TRANSFER, 1, src=0, dst=0),
        TaskRows(TRANSFER, len(src), src=src, dst=dst, size_bytes=demand[src, dst].astype(np.int64)),
    ]
    sent = 2 + np.arange(len(src))
    before = np.concatenate([[0], np.zeros(len(src), np.int64), sent])
    after = np.concatenate([[1], sent, np.ones(len(src), np.int64)])
    return task_graph_from_edges(servers, rows, before, after)


@pytest.mark.parametrize(("hiding", "changes"), [("all-but-first", 1), ("none", 1)])
def test_equal_exchanges_are_wired_once(hiding: str, changes: int) -> None:
    graph = exchanges(tuple(range(8)), GB, 3, 0.01)
    demand = np.full((8, 8), float(GB))
    each_s = exchange_time_s(demand, regional_circuits(demand, 6), 100e9, 200e9)
    assert each_s == pytest.approx(0.08)
    found = simulate("flow", graph, mixnet(8, hiding=hiding), EXACT)
    assert found.iteration_time_s == pytest.approx(3 * (0.01 + each_s) + changes * 0.025, abs=SMALL)


def test_a_change_of_idle_ports_overlaps_computing() -> None:
    """Idle from the start, the ports are wired for 10 ms when the all-to-all is ready; 15 ms are waited for."""
    graph = exchanges((0, 1), GB, 1, 0.01)
    found = simulate("flow", graph, mixnet(2, hiding="overlapped"), EXACT)
    assert found.iteration_time_s == pytest.approx(0.025 + 8.0 / 600, abs=SMALL)
    long = exchanges((0, 1), GB, 1, 0.05)
    found = simulate("flow", long, mixnet(2, hiding="overlapped"), EXACT)
    assert found.iteration_time_s == pytest.approx(0.05 + 8.0 / 600, abs=SMALL)


@pytest.mark.parametrize(("hiding", "waited_s"), [("all-but-first", 0.025), ("none", 0.1)])
def test_circuits_follow_demands_that_change(hiding: str, waited_s: float) -> None:
    """One port each; 0 sends to 1 and to 2 in turn, four times."""
    first, second = np.zeros((2, 3, 3))
    first[0, 1], second[0, 2] = GB, GB
    graphs = [uneven(demand, 3) for demand in (first, second, first, second)]
    found = simulate("flow", chained(graphs), mixnet(3, 2, hiding=hiding), EXACT)
    assert found.iteration_time_s == pytest.approx(4 * 0.08 + waited_s, abs=SMALL)


def chained(graphs: list[TaskGraph]) -> TaskGraph:
    """Return graphs of a beginning and an end (tasks 0 and 1) one after the other."""
    rows, before, after = [], [], []
    previous, count = 0, 0
    for graph in graphs:
        rows.append(
            TaskRows(
                graph.kind, len(graph), graph.duration_s, src=graph.src, dst=graph.dst, size_bytes=graph.size_bytes,
                collective=graph.collective, members=((0,),),
            )
        )  # fmt: skip
        source = np.repeat(np.arange(len(graph)), np.diff(graph.successor_first))
        before.append(source + count)
        after.append(graph.successor + count)
        if count:
            before.append(np.array([previous + 1]))
            after.append(np.array([count]))
        previous, count = count, count + len(graph)
    return task_graph_from_edges(graphs[0].servers, rows, np.concatenate(before), np.concatenate(after))


def test_constant_circuits_are_like_links_of_their_own() -> None:
    """Skewed bytes on 6 servers: the same as the flow simulator on a graph of tree and circuits that stay."""
    demand = np.random.default_rng(5).gamma(0.8, 1e8, (6, 6)).round()
    np.fill_diagonal(demand, 0.0)
    graph = uneven(demand, 6)
    fabric = mixnet(6, 5, delay_s=0.0)
    circuits = regional_circuits(demand, 4, "break")
    ours = simulate("flow", graph, fabric, EXACT)
    fixed = simulate("flow", graph, with_links(fabric, circuits), EXACT)
    assert ours.iteration_time_s == pytest.approx(fixed.iteration_time_s, rel=1e-9)
    expected = exchange_time_s(demand, circuits, 100e9, 100e9)
    assert ours.iteration_time_s == pytest.approx(expected, rel=0.2)
    assert ours.iteration_time_s >= expected
    assert ours.hop_bytes.sum() == pytest.approx(demand.sum())
    assert ours.hop_bytes[1] == pytest.approx(demand[circuits > 0].sum())


def with_links(fabric: Fabric, circuits: Ints) -> Fabric:
    """Return the electrical fabric with fixed links for circuits, taken by the pairs that have one."""
    tree = fabric.topology
    src, dst = np.nonzero(circuits)
    topology = topology_from_arrays(
        "direct",
        tree.servers,
        np.concatenate([tree.src, src]),
        np.concatenate([tree.dst, dst]),
        np.concatenate([tree.bandwidth_bps, circuits[src, dst] * 100e9]),
        np.full(len(tree) + len(src), tree.latency_s[0]),
        nodes=tree.nodes,
    )
    paths: list[Path] = []
    for a in range(tree.servers):
        for b in range(tree.servers):
            if a != b:
                own = (Path((a, b)),) if circuits[a, b] else fabric.routes.paths(a, b)
                paths += own
    return Fabric("direct", topology, explicit_routes(topology, paths), {})


def test_pairs_of_two_regions_take_the_electrical_fabric() -> None:
    graph = exchanges((0, 1, 2, 3), GB, 1, 0.0)
    found = simulate("flow", graph, mixnet(4, 4, region_servers=2, delay_s=0.0), EXACT)
    # each server sends 2 GB to the other region over its one electrical port of 100 Gb/s
    assert found.iteration_time_s == pytest.approx(0.16, abs=SMALL)
    rows = {(row.src, row.dst): row.bytes for row in link_statistics(found, mixnet(4, 4, region_servers=2))}
    assert rows[0, 1] == rows[2, 3] == pytest.approx(GB)
    assert (0, 2) not in rows


def test_exchanges_that_share_a_server_take_turns() -> None:
    """Both are ready at once; the second is wired when the first is done."""
    rows = [
        TaskRows(COLLECTIVE, 1, size_bytes=2 * GB, collective=ALL_TO_ALL, members=(pair,))
        for pair in ((0, 1), (1, 2), (3, 4))
    ]
    graph = task_graph_from_edges(5, rows, NOTHING, NOTHING)
    found = simulate("flow", graph, mixnet(5, 5, delay_s=0.01, hiding="none"), EXACT)
    each_s = 0.01 + 8.0 / 400
    assert found.finish_s == pytest.approx([each_s, 2 * each_s, each_s], abs=SMALL)


def test_a_job_without_exchanges_has_circuits_wired_once_for_its_transfers() -> None:
    rows = [
        TaskRows(TRANSFER, 2, src=np.array([0, 0]), dst=np.array([1, 2]), size_bytes=np.array([3 * GB, GB])),
        TaskRows(COLLECTIVE, 1, size_bytes=GB, collective=0, members=((0, 1, 2),)),
    ]
    graph = task_graph_from_edges(3, rows, NOTHING, NOTHING)
    found = simulate("flow", graph, mixnet(3, 4), EXACT)
    # two circuits to 1 and one to 2; the ring has the electrical port for itself
    assert found.finish_s[:2] == pytest.approx([0.12, 0.08], abs=SMALL)
    assert found.finish_s[2] == pytest.approx(4 / 3 * 0.08, abs=2 * SMALL)


def test_the_first_exchange_of_every_iteration_is_waited_for() -> None:
    demands = [np.zeros((3, 3)) for _ in range(2)]
    demands[0][0, 1] = demands[1][0, 2] = GB
    graph = chained([uneven(demand, 3) for demand in demands * 2])
    second = replace(graph, iteration=(np.arange(len(graph)) >= len(graph) // 2).astype(np.int64))
    fabric = mixnet(3, 2)
    assert last(simulate("flow", second, fabric, EXACT)) == pytest.approx(4 * 0.08 + 2 * 0.025, abs=SMALL)


def last(result: SimResult) -> float:
    return float(result.finish_s.max())


def test_other_simulators_say_what_to_use() -> None:
    graph = exchanges((0, 1), GB, 1, 0.0)
    for simulator in ("analytic", "packet"):
        with pytest.raises(InvalidInput, match="simulator=flow"):
            simulate(simulator, graph, mixnet(2))
    with pytest.raises(InvalidInput, match="use spread"):
        simulate("flow", graph, mixnet(2), SimulationOptions(split="one"))
