"""Flow rows: every simulator's flows with names, completion times and slowdowns; links with what they carried."""

from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from topoopt.finder import FabricRequest, build_fabric
from topoopt.routing import Fabric
from topoopt.simulation import (
    COLLECTIVE,
    COLLECTIVES,
    TRANSFER,
    PacketOptions,
    SimulationOptions,
    TaskGraph,
    TaskRows,
    flexnet_fabric,
    flexnet_task_graph,
    flow_rows,
    flow_table,
    link_statistics,
    read_fbuf,
    simulate,
    task_graph_from_edges,
)

GRAPHS = Path(__file__).parents[2] / "examples" / "taskgraphs"
LOGGED = SimulationOptions(packet=PacketOptions(log_flows=True))


def job(name: str) -> tuple[TaskGraph, Fabric]:
    flexnet = read_fbuf(GRAPHS / f"{name}.fbuf.xz")
    graph = flexnet_task_graph(flexnet)
    return graph, flexnet_fabric(flexnet, graph.groups)


def one_transfer(size_bytes: int) -> TaskGraph:
    nothing = np.zeros(0, np.int64)
    rows = [TaskRows(TRANSFER, 1, src=0, dst=1, size_bytes=size_bytes, phase=2, operator=0)]
    return task_graph_from_edges(2, rows, nothing, nothing, ("dense",))


@pytest.mark.parametrize(
    ("simulator", "fabric"),
    [
        (simulator, fabric)
        for simulator in ("analytic", "flow", "packet")
        for fabric in ("ideal-switch", "topoopt", "fat-tree", "ocs-reconfig")
        if (simulator, fabric) != ("analytic", "ocs-reconfig")  # it knows no circuits that change
    ],
)
def test_a_transfer_alone_has_slowdown_one(simulator: str, fabric: str) -> None:
    graph, built = one_transfer(1_000_000), build_fabric(fabric, FabricRequest(2, 1, 100e9))
    (row,) = flow_rows(simulate(simulator, graph, built, LOGGED), built)
    assert (row.task, row.operator, row.phase, row.src, row.dst) == (0, "dense", "activation", 0, 1)
    assert row.bytes == 1_000_000
    assert row.fct_s == pytest.approx(row.finish_s - row.start_s)
    assert row.slowdown == pytest.approx(1, rel=1e-9)
    assert (row.packets is None) == (simulator != "packet")


@pytest.mark.parametrize("name", ["100dlrm_16", "taskgraph12"])
def test_no_flow_is_faster_than_alone(name: str) -> None:
    graph, fabric = job(name)
    for simulator in ("analytic", "flow", "packet"):
        slowdown = flow_table(simulate(simulator, graph, fabric, LOGGED), fabric).slowdown
        assert slowdown.min() >= 1 - 1e-9
        assert slowdown.max() > 2


def test_connections_of_packets_carry_the_bytes_of_the_flows() -> None:
    graph, fabric = job("taskgraph12")
    flow = flow_table(simulate("flow", graph, fabric), fabric)
    packet = flow_table(simulate("packet", graph, fabric, LOGGED), fabric)
    for task in np.flatnonzero(graph.kind == TRANSFER).tolist():
        assert packet.size_bytes[packet.task == task].sum() == flow.size_bytes[flow.task == task].sum()
    assert packet.size_bytes.sum() == pytest.approx(flow.size_bytes.sum(), rel=1e-3)  # chunks are cut down


def test_rows_come_in_pieces_without_a_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, fabric = job("taskgraph12")
    result = simulate("flow", graph, fabric)
    whole = list(flow_rows(result, fabric))
    monkeypatch.setattr(import_module("topoopt.simulation.link_counters"), "PIECE", 7)
    assert list(flow_rows(result, fabric)) == whole


def test_flows_come_in_the_order_in_which_they_ended() -> None:
    graph, fabric = job("100dlrm_16")
    for simulator in ("flow", "packet"):
        finish_s = flow_table(simulate(simulator, graph, fabric, LOGGED), fabric).finish_s
        assert (np.diff(finish_s) >= 0).all()


def test_collectives_have_a_flow_for_each_member_or_pair() -> None:
    kinds = [COLLECTIVES.index(kind) for kind in ("allreduce", "all-to-all", "all-gather")]
    rows = TaskRows(COLLECTIVE, 3, size_bytes=3_000, collective=np.array(kinds), members=((0, 1, 2),) * 3)
    nothing = np.zeros(0, np.int64)
    graph = task_graph_from_edges(3, [rows], nothing, nothing)
    fabric = build_fabric("ideal-switch", FabricRequest(3, 1, 100e9))
    table = flow_table(simulate("flow", graph, fabric), fabric)
    found = [
        sorted(zip(*(column[table.task == task].tolist() for column in (table.src, table.dst)), strict=True))
        for task in range(3)
    ]
    around = [(0, 1), (1, 2), (2, 0)]
    assert found == [around, [(a, b) for a in range(3) for b in range(3) if a != b], around]
    assert [set(table.size_bytes[table.task == task].tolist()) for task in range(3)] == [
        {4000},
        {1000},
        {2000},
    ]


def test_links_carry_what_the_result_says() -> None:
    graph, fabric = job("taskgraph12")
    for simulator in ("flow", "packet"):
        result = simulate(simulator, graph, fabric)
        rows = link_statistics(result, fabric)
        assert [row.bytes for row in rows] == pytest.approx(result.link_bytes.tolist())
        assert 0 < max(row.utilization for row in rows) <= 1
        for row in rows:
            assert row.utilization == pytest.approx(
                row.bytes * 8 / row.bandwidth_bps / result.finish_s.max(), rel=1e-9
            )
    assert sum(row.packets or 0 for row in rows) == result.packet.packet_hops if result.packet else False


def test_circuits_are_pairs_of_servers_that_had_bytes() -> None:
    fabric = build_fabric("sip-ml", FabricRequest(4, 1, 100e9))
    nothing = np.zeros(0, np.int64)
    rows = [TaskRows(TRANSFER, 1, src=2, dst=1, size_bytes=1_000_000)]
    graph = task_graph_from_edges(4, rows, nothing, nothing)
    for simulator in ("flow", "packet"):
        (row,) = link_statistics(simulate(simulator, graph, fabric), fabric)
        assert (row.src, row.dst, row.bandwidth_bps) == (2, 1, 100e9)
