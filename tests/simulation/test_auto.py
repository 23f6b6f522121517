"""The fidelity chooser: closed forms where nothing contends, fair shares elsewhere, and an honest error."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from topoopt.finder import FabricRequest, FabricShape, build_fabric
from topoopt.routing import Fabric, make_routes
from topoopt.simulation import (
    COLLECTIVE,
    COLLECTIVES,
    COMPUTE,
    TRANSFER,
    SimulationOptions,
    TaskGraph,
    TaskRows,
    choose_and_simulate,
    expected_error,
    flexnet_fabric,
    flexnet_task_graph,
    read_fbuf,
    simulate,
    task_graph_from_edges,
)
from topoopt.topologies import Link, topology_from_links

GRAPHS = Path(__file__).parents[2] / "examples" / "taskgraphs"


def transfers(servers: int, ends: list[tuple[int, int]], size_bytes: int, in_turn: bool = False) -> TaskGraph:
    """Transfers at once, or each after the one before it."""
    src, dst = np.array(ends).T
    before = np.arange(len(ends) - 1 if in_turn else 0)
    rows = [TaskRows(TRANSFER, len(ends), src=src, dst=dst, size_bytes=size_bytes)]
    return task_graph_from_edges(servers, rows, before, before + 1)


def switch(servers: int) -> Fabric:
    return build_fabric("ideal-switch", FabricRequest(servers, 1, 100e9))


def test_what_shares_no_link_is_a_closed_form() -> None:
    choice = choose_and_simulate(transfers(4, [(0, 1), (2, 3)], 10_000_000), switch(4))
    assert choice.result.simulator == "analytic"
    assert choice.expected_error.largest == 0
    # spec of the packet model: 10 MB over two hops at 100 Gb/s and 1 µs, 1120 packets of 8936 bytes
    per_byte = 8 / 100e9
    assert choice.result.iteration_time_s == pytest.approx(
        2 * (per_byte + 1e-6) + 1121 * 8936 * per_byte + 2e-6, rel=1e-12
    )


def test_what_shares_a_link_is_shared_fairly() -> None:
    choice = choose_and_simulate(transfers(3, [(0, 2), (1, 2)], 10_000_000), switch(3))
    assert choice.result.simulator == "flow"
    assert "share" in choice.reason
    assert choice.expected_error.runs > 0


def test_transfers_over_one_link_in_turn_do_not_contend() -> None:
    ends = [(0, 1), (0, 1), (0, 1)]
    assert (
        choose_and_simulate(transfers(2, ends, 10**6, in_turn=True), switch(2)).result.simulator == "analytic"
    )
    assert choose_and_simulate(transfers(2, ends, 10**6), switch(2)).result.simulator == "flow"


def test_a_link_that_two_use_at_once_is_seen_although_neither_is_late() -> None:
    """Each transfer is held up by its own link; first come, first served on the fast one costs no time."""
    links = [Link(0, 3, 100e9), Link(1, 3, 100e9), Link(3, 2, 400e9)]
    topology = topology_from_links("star", 3, links, nodes=4)
    fabric = Fabric("star", topology, make_routes("ecmp", topology, 0), {})
    graph = transfers(3, [(0, 2), (1, 2)], 10**7)
    alone = simulate("analytic", transfers(3, [(0, 2)], 10**7), fabric)
    assert simulate("analytic", graph, fabric).finish_s == pytest.approx([alone.iteration_time_s] * 2)
    assert choose_and_simulate(graph, fabric).result.simulator == "flow"


def test_rings_on_links_of_their_own_are_a_closed_form_and_two_collectives_are_not() -> None:
    group = tuple(range(8))
    fabric = build_fabric("topoopt", FabricRequest(8, 4, 25e9, (group,), shape=FabricShape(strides=(1, 3))))
    for count, simulator in ((1, "analytic"), (2, "flow")):
        rows = TaskRows(
            COLLECTIVE,
            count,
            size_bytes=10**8,
            collective=COLLECTIVES.index("allreduce"),
            members=(group,) * count,
        )
        nothing = np.zeros(0, np.int64)
        choice = choose_and_simulate(task_graph_from_edges(8, [rows], nothing, nothing), fabric)
        assert choice.result.simulator == simulator


def test_circuits_that_change_are_for_the_flow_simulator() -> None:
    fabric = build_fabric("sip-ml", FabricRequest(4, 2, 100e9))
    choice = choose_and_simulate(transfers(4, [(0, 1)], 10**6), fabric)
    assert (choice.result.simulator, choice.reason) == ("flow", "circuits change under way")


@settings(max_examples=150)
@example([(0, 1, 1, 204), (0, 1, 1, 207)])  # the packet that opens the second waits behind the first's data
@given(
    st.lists(
        st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(1, 10**6), st.integers(0, 300)),
        min_size=1,
        max_size=6,
    )
)
def test_a_closed_form_is_what_fair_shares_and_packets_give(asked: list[tuple[int, int, int, int]]) -> None:
    """Transfers that begin at any time: where the chooser says that none contends, all simulators agree."""
    asked = [(a, b, size, wait) for a, b, size, wait in asked if a != b] or [(0, 1, 1, 0)]
    src, dst, size, wait = np.array(asked).T
    count = len(asked)
    rows = [
        TaskRows(
            COMPUTE,
            count,
            duration_s=wait * 1e-6,
            server=np.zeros(count, np.int64),
            accelerator=np.arange(count),
        ),
        TaskRows(TRANSFER, count, src=src, dst=dst, size_bytes=size),
    ]
    graph = task_graph_from_edges(6, rows, np.arange(count), count + np.arange(count))
    choice = choose_and_simulate(graph, switch(6))
    flow = simulate("flow", graph, switch(6), SimulationOptions(tolerance=0.0))
    if choice.result.simulator == "analytic":
        np.testing.assert_allclose(choice.result.finish_s, flow.finish_s, rtol=1e-9)
        packet = simulate("packet", graph, switch(6))
        np.testing.assert_allclose(choice.result.finish_s, packet.finish_s, rtol=1e-9, atol=2e-12)


def test_each_kind_of_traffic_has_its_measured_error() -> None:
    """DLRM's graphs, CANDLE's and pure AllReduce fall into three classes, in order of their errors."""
    largest = []
    for name in ("100vgg_16", "100dlrm_16", "100candle_16"):
        flexnet = read_fbuf(GRAPHS / f"{name}.fbuf.xz")
        graph = flexnet_task_graph(flexnet)
        fabric = flexnet_fabric(flexnet, graph.groups)
        choice = choose_and_simulate(graph, fabric)
        packet = simulate("packet", graph, fabric)
        off = abs(choice.result.iteration_time_s / packet.iteration_time_s - 1)
        assert off <= choice.expected_error.largest
        assert choice.expected_error.median <= choice.expected_error.p90 <= choice.expected_error.largest
        assert not choice.expected_error.caution
        largest.append(choice.expected_error.median)
    assert largest == sorted(set(largest))


def test_a_synchronized_all_to_all_of_windows_is_a_known_exception() -> None:
    ends = [(a, b) for a in range(8) for b in range(8) if a != b]
    short = simulate("flow", transfers(8, ends, 100 * 8936), switch(8))
    long = simulate("flow", transfers(8, ends, 10_000 * 8936), switch(8))
    assert "packets take" in expected_error(short).caution
    assert not expected_error(long).caution
    packet = simulate("packet", transfers(8, ends, 100 * 8936), switch(8))
    assert packet.iteration_time_s > 1.3 * short.iteration_time_s
