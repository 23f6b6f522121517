"""Collectives played transfer by transfer: as the law of the ring has it, as the textbooks have it, the quickest."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from tests.collectives.closed_forms import closed_form_time_s, hierarchical_time_s
from topoopt.base.errors import InvalidInput
from topoopt.base.units import format_time
from topoopt.collectives import (
    ALGORITHMS,
    COLLECTIVE_NAMES,
    ON_WIRINGS,
    Algorithm,
    along,
    moves_on_links,
    rank_moves,
)
from topoopt.collectives.algorithms.ring import ring
from topoopt.finder import FabricRequest, build_fabric
from topoopt.routing import Fabric, make_routes
from topoopt.simulation import (
    COLLECTIVE,
    COLLECTIVES,
    COMPUTE,
    SIMULATORS,
    SimResult,
    SimulationOptions,
    TaskGraph,
    TaskRows,
    choose_and_simulate,
    collective_options,
    flow_table,
    simulate,
    task_graph_from_edges,
)
from topoopt.simulation.tasks.collective_schedules import MOST_PLAYED, with_schedules
from topoopt.topologies import Topology, broadcast_steps, circulant, ideal_switch

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "simulate.md"
GIBIBYTE, MEGABYTE = 2**30, 1_000_000
ALLREDUCES = [name for name, row in ALGORITHMS.items() if row.collective == "allreduce"]
STEP_S = 4e-6 + 8936 * 8 / 100e9  # of one transfer through a switch: two links, a handshake


def on(topology: Topology) -> Fabric:
    return Fabric("test", topology, make_routes("single-shortest", topology), {})


def job(
    members: Sequence[int], *sizes: int, servers: int = 16, kind: str = "allreduce", delay_s: float = 0.0
) -> TaskGraph:
    """Collectives of the given sizes one after the other, each after a compute task of 1 ms."""
    rows = []
    for size in sizes:
        rows += [
            TaskRows(COMPUTE, 1, 1e-3, server=members[0]),
            TaskRows(
                COLLECTIVE,
                1,
                delay_s,
                size_bytes=size,
                collective=COLLECTIVES.index(kind),
                members=(tuple(members),),
            ),
        ]
    chain = np.arange(2 * len(sizes))
    return task_graph_from_edges(servers, rows, chain[:-1], chain[1:])


def played(
    algorithm: str, graph: TaskGraph, fabric: Fabric, simulator: str = "flow", ring_model: str = "stepped"
) -> SimResult:
    return simulate(simulator, graph, fabric, SimulationOptions(ring_model, algorithm))


def took_s(result: SimResult) -> float:
    """Of the one collective, after its compute task."""
    return float(result.finish_s[1]) - 1e-3


@pytest.fixture
def ring_by_sends(monkeypatch: pytest.MonkeyPatch) -> str:
    """A ring that the simulators play send by send, like any other schedule."""
    assert isinstance(ALGORITHMS, dict)
    monkeypatch.setitem(ALGORITHMS, "sends", Algorithm(collective="allreduce", schedules=(ring,)))
    return "sends"


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_ring_played_send_by_send_takes_the_measured_time(simulator: str, ring_by_sends: str) -> None:
    """162.122466400 ms less the compute task of 1 ms, from the original packet simulator."""
    result = played(ring_by_sends, job(range(16), GIBIBYTE), on(circulant(16, [1], 100e9)), simulator)
    assert took_s(result) == pytest.approx(161.122466400e-3, abs=1e-12)


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_ring_played_send_by_send_goes_along_all_rings_of_a_fabric(
    simulator: str, ring_by_sends: str
) -> None:
    fabric = build_fabric("topoopt", FabricRequest(16, 4, 100e9, (tuple(range(16)),)))
    assert len(fabric.rings[tuple(range(16))]) > 1
    graph = job(range(16), GIBIBYTE)
    whole = simulate(simulator, graph, fabric)
    sends = played(ring_by_sends, graph, fabric, simulator)
    assert sends.iteration_time_s == pytest.approx(whole.iteration_time_s, rel=1e-9)
    assert sends.link_bytes == pytest.approx(whole.link_bytes)


@pytest.mark.parametrize("simulator", SIMULATORS)
@pytest.mark.parametrize("name", ["halving-doubling", "parameter-server", "pairwise"])
def test_large_collectives_through_a_switch_approach_their_closed_forms(name: str, simulator: str) -> None:
    size = 64 * MEGABYTE
    graph = job(range(8), size, servers=8, kind=ALGORITHMS[name].collective)
    result = played(name, graph, on(ideal_switch(8, 100e9)), simulator)
    assert took_s(result) == pytest.approx(closed_form_time_s(name, 8, size, STEP_S, 100e9), rel=2e-3)


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_hierarchical_through_a_switch_approaches_its_closed_form(simulator: str) -> None:
    result = played("hierarchical", job(range(12), 64 * MEGABYTE), on(ideal_switch(16, 100e9)), simulator)
    expected = hierarchical_time_s(3, 4, 64 * MEGABYTE, STEP_S, 100e9)
    assert took_s(result) == pytest.approx(expected, rel=2e-3)


def test_a_tree_is_cut_into_more_chunks_the_larger_the_message() -> None:
    fabric, transfers = on(ideal_switch(16, 100e9)), []
    for size in (4_000, 4 * MEGABYTE, 400 * MEGABYTE):
        result = played("tree", job(range(16), size), fabric)
        assert result.algorithms[0].algorithm == "tree"
        transfers.append(result.algorithms[0].transfers)
    assert transfers == sorted(set(transfers))


@pytest.mark.parametrize("name", ALLREDUCES)
@pytest.mark.parametrize("members", [tuple(range(16)), (9, 2, 5), (3, 12)])
def test_every_algorithm_puts_its_bytes_on_the_wire(name: str, members: tuple[int, ...]) -> None:
    """At least 2(n-1)/n·S a member, which is the least, and what the sends of the schedule add up to."""
    n, size = len(members), 48 * MEGABYTE
    result = played(name, job(members, size), on(ideal_switch(16, 100e9)))
    assert result.demanded_bytes >= 2 * (n - 1) * size * (1 - 1e-6)
    makes = ALGORITHMS[name].schedules
    sends = {
        sum(len(step) for step in schedule.steps) / schedule.pieces
        for schedule in (make(n) for make in makes)
    }
    assert any(result.demanded_bytes == pytest.approx(each * size, rel=1e-3) for each in sends)


def test_ranks_sit_on_the_members_servers() -> None:
    graph, _ = with_schedules(
        job((9, 2, 5), 3 * MEGABYTE), on(ideal_switch(16, 100e9)), collective_options("multi-ring")
    )
    moved = {(int(a), int(b)) for a, b in zip(graph.src, graph.dst, strict=True) if a != b}
    assert moved == {(9, 2), (2, 5), (5, 9), (2, 9), (5, 2), (9, 5)}


def test_several_orders_share_the_bytes() -> None:
    one = rank_moves("tree", 4)[0]
    both = along(one, [(4, 5, 6, 7), (7, 6, 5, 4)])
    assert both.transfer_bytes(1000).sum() == one.transfer_bytes(1000).sum()
    assert list(both.step) == sorted(both.step)


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_tasks_keep_their_numbers_and_the_delay_before_a_collective(simulator: str) -> None:
    fabric = on(ideal_switch(16, 100e9))
    graph = job(range(16), 8 * MEGABYTE, 4000)
    quick = played("tree", graph, fabric, simulator)
    late = played("tree", job(range(16), 8 * MEGABYTE, 4000, delay_s=2e-3), fabric, simulator)
    assert quick.graph.kind[[0, 2]].tolist() == [COMPUTE, COMPUTE]
    assert quick.start_s[2] == pytest.approx(quick.finish_s[1])
    assert late.finish_s[1] == pytest.approx(quick.finish_s[1] + 2e-3, abs=1e-11)
    assert late.iteration_time_s == pytest.approx(quick.iteration_time_s + 4e-3, abs=1e-11)
    assert quick.compute_time_s == pytest.approx(2e-3)


def test_iterations_stay_apart() -> None:
    once = job(range(8), MEGABYTE, MEGABYTE, servers=8)
    twice = dataclasses.replace(once, iteration=np.array([0, 0, 1, 1]))
    fabric = on(ideal_switch(8, 100e9))
    result = played("halving-doubling", twice, fabric)
    assert result.graph.iterations == 2
    assert result.iteration_time_s == pytest.approx(
        played("halving-doubling", job(range(8), MEGABYTE, servers=8), fabric).iteration_time_s
    )


@pytest.mark.parametrize("topology", [ideal_switch(16, 100e9), circulant(16, [1, 3], 100e9)])
@pytest.mark.parametrize("size", [4_000, 400_000, 40 * MEGABYTE])
def test_auto_takes_the_quickest_of_all_algorithms(topology: Topology, size: int) -> None:
    fabric = on(topology)
    names = (*ALLREDUCES, *ON_WIRINGS)
    rows = {name: played(name, job(range(16), size), fabric) for name in (*names, "auto")}
    chosen = rows["auto"].algorithms[0]
    quickest = min(names, key=lambda name: rows[name].iteration_time_s)
    assert took_s(rows["auto"]) == pytest.approx(took_s(rows[quickest]), rel=0.01)
    assert took_s(rows[chosen.algorithm]) == pytest.approx(took_s(rows["auto"]), rel=1e-12)


def test_auto_decides_by_group_and_size() -> None:
    fabric = on(ideal_switch(16, 100e9))
    result = played("auto", job(range(16), 400_000, 4_000, 4_000), fabric)
    rows = [(row.size_bytes, row.count, row.algorithm) for row in result.algorithms]
    assert rows == [(400_000, 1, "halving-doubling"), (4_000, 2, "parameter-server")]
    assert all(row.collective == "allreduce" and row.members == tuple(range(16)) for row in result.algorithms)
    assert sum(row.count * (row.alone_s or 0) for row in result.algorithms) == pytest.approx(
        result.exposed_communication_s, rel=1e-9
    )


def test_the_closed_form_of_a_ring_is_what_the_simulator_says() -> None:
    fabric = build_fabric("topoopt", FabricRequest(16, 4, 100e9, (tuple(range(16)),)))
    graph = job(range(16), 400 * MEGABYTE)
    result = played("auto", graph, fabric)
    assert result.algorithms[0].algorithm == "ring"
    assert result.algorithms[0].alone_s == pytest.approx(took_s(result), rel=1e-9)


@pytest.mark.parametrize("simulator", SIMULATORS)
@pytest.mark.parametrize("strides", [[1, 3], [3, 4]])
def test_breadth_first_broadcast_takes_its_steps_and_bytes(simulator: str, strides: list[int]) -> None:
    """On links of their own, in every simulator: 2·T_L steps of a handshake and U shards, in whole packets."""
    topology, size = circulant(16, strides, 100e9), 64 * MEGABYTE
    result = played("bfb", job(range(16), size), on(topology), simulator)
    steps = broadcast_steps(topology)
    alpha_s = 2e-6 + 1 * 8 / 100e9
    shards = 2 * sum(float(fullest) for fullest in steps.fullest)
    alone_s = 2 * steps.steps * alpha_s + shards * size / 16 * 8 / 100e9
    assert took_s(result) <= alone_s * 1.001
    assert took_s(result) >= 2 * 15 / 16 * size * 8 / 400e9
    assert result.link_bytes == pytest.approx(np.full(64, 2 * 15 * size / 64), rel=1e-3)
    assert result.algorithms[0].algorithm == "bfb"


def test_broadcast_is_for_groups_that_their_links_join() -> None:
    """Others keep their rings, and so do groups behind a switch."""
    behind = played("bfb", job(range(16), MEGABYTE), on(ideal_switch(16, 100e9)))
    assert [row.algorithm for row in behind.algorithms] == ["ring"]
    even = played("bfb", job(range(0, 16, 2), MEGABYTE), on(circulant(16, [2, 3], 100e9)))
    assert [row.algorithm for row in even.algorithms] == ["bfb"]
    apart = played("bfb", job(range(0, 16, 2), MEGABYTE), on(circulant(16, [1, 3], 100e9)))
    assert [row.algorithm for row in apart.algorithms] == ["ring"]


def test_auto_takes_rings_when_it_has_taken_transfers_enough() -> None:
    """The last collectives have what is quickest: of 1,200 AllReduces each of 96 transfers or more."""
    fabric = on(circulant(8, [1, 3], 100e9))
    one = min(len(moves) for moves in moves_on_links("bfb", fabric.topology, tuple(range(8))))
    count = MOST_PLAYED // one + 100
    result = played("auto", job(range(8), *[4_000] * count, servers=8), fabric, "analytic")
    rings, broadcasts = result.algorithms
    assert (rings.algorithm, broadcasts.algorithm) == ("ring", "bfb")
    assert rings.count + broadcasts.count == count
    assert MOST_PLAYED - broadcasts.transfers < broadcasts.count * broadcasts.transfers <= MOST_PLAYED


def test_an_algorithm_leaves_alone_what_it_cannot_do() -> None:
    fabric = on(ideal_switch(16, 100e9))
    for kind, name in (("reduce-scatter", "tree"), ("all-to-all", "auto"), ("allreduce", "pairwise")):
        graph = job(range(16), MEGABYTE, kind=kind)
        result = played(name, graph, fabric)
        assert result.algorithms == ()
        assert result.graph is graph


def test_circuits_that_change_carry_schedules_and_keep_the_ring_by_default() -> None:
    groups = (tuple(range(8)),)
    fabric = build_fabric("ocs-reconfig", FabricRequest(8, 4, 100e9, groups))
    graph = job(range(8), 40 * MEGABYTE, servers=8)
    tree, auto = played("tree", graph, fabric), played("auto", graph, fabric)
    assert tree.algorithms[0].alone_s is None
    assert tree.iteration_time_s > 1e-3
    assert auto.algorithms[0].algorithm == "ring"
    assert auto.iteration_time_s == simulate("flow", graph, fabric).iteration_time_s


def test_flows_of_a_schedule_have_rows_of_their_own() -> None:
    fabric = on(ideal_switch(16, 100e9))
    result = played("parameter-server", job(range(16), MEGABYTE), fabric)
    table = flow_table(result, fabric)
    assert len(table) == 30
    assert set(table.size_bytes.tolist()) == {MEGABYTE}


def test_the_guide_shows_what_is_measured() -> None:
    sizes = {"4 KB": 4_096, "400 KB": 400_000, "400 MB": 400 * MEGABYTE}
    lines = [line for line in GUIDE.read_text().splitlines() if line.startswith(("| S |", "| 4 ", "| 400 "))]
    table = [[cell.strip(" `") for cell in line.strip("|").split("|")] for line in lines]
    assert len(table) == 1 + 2 * len(sizes)
    for size, name, *cells, chosen in table[1:]:
        fabric = build_fabric(name, FabricRequest(16, 4, 100e9, (tuple(range(16)),)))
        graph = job(range(16), sizes[size])
        for algorithm, shown in zip(table[0][2:-1], cells, strict=True):
            assert format_time(took_s(played(algorithm, graph, fabric))) == shown, (size, name, algorithm)
        assert played("auto", graph, fabric).algorithms[0].algorithm == chosen


def test_the_fidelity_chooser_plays_schedules_too() -> None:
    fabric = on(ideal_switch(16, 100e9))
    choice = choose_and_simulate(job(range(16), 4_000), fabric, collective_options("auto"))
    assert choice.result.algorithms[0].algorithm == "parameter-server"
    assert took_s(choice.result) == pytest.approx(choice.result.algorithms[0].alone_s)


def test_rings_by_both_names_are_one() -> None:
    assert collective_options("ring") == collective_options("stepped") == SimulationOptions()
    assert collective_options("bulk") == SimulationOptions(ring_model="bulk")
    assert [collective_options(name).algorithm for name in COLLECTIVE_NAMES[2:]] == list(COLLECTIVE_NAMES[2:])


def test_mistakes_are_one_line_errors() -> None:
    with pytest.raises(InvalidInput, match='collective: unknown name "treee"; did you mean tree'):
        collective_options("treee")
    with pytest.raises(
        InvalidInput, match="only a ring is simulated among more than 1024 servers, this has 1025"
    ):
        played("tree", job(range(1025), 10, servers=1025), on(ideal_switch(1025, 1e9)))
    many = job(range(128), *[MEGABYTE] * 100, servers=128)
    with pytest.raises(InvalidInput, match="collective: 100 collectives by multi-ring would be 65"):
        played("multi-ring", many, on(ideal_switch(128, 1e9)))
