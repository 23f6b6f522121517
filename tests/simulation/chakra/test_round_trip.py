"""A plan's task graph goes into Chakra's traces and comes back as it was; the protobuf library reads the same."""

from pathlib import Path

import numpy as np
import pytest

import topoopt
from tests.simulation.chakra.messages import nodes_of
from topoopt.search import task_graph_of
from topoopt.simulation import (
    TaskGraph,
    TaskRows,
    chakra_files,
    is_chakra,
    job_of_chakra,
    task_graph_from_edges,
)
from topoopt.simulation.task_graph import COLLECTIVE, COLLECTIVES, COLUMNS, COMPUTE, TRANSFER

ARRAYS = (*COLUMNS, "member_first", "member", "successor_first", "successor", "predecessors")
PLANS = {
    "dlrm": lambda: topoopt.plan("dlrm", servers=12, degree=4, fabrics=(), budget=0),
    "vgg16": lambda: topoopt.plan("vgg16", servers=8, degree=2, fabrics=(), budget=0),
    "llama2-7b": lambda: topoopt.plan("llama2-7b", servers=8, degree=4, fabrics=(), candidates=2),
}


@pytest.fixture(scope="module", params=PLANS)
def plan(request: pytest.FixtureRequest) -> topoopt.Plan:
    return PLANS[request.param]()


def written(folder: Path, graph: TaskGraph, collective: str = "stepped") -> Path:
    files = chakra_files(graph, collective)
    for rank, data in enumerate(files.ranks):
        (folder / f"job.{rank}.et").write_bytes(data)
    groups = (f'"{name}": {members}' for name, members in files.groups.items())
    (folder / "comm_group.json").write_text("{" + ", ".join(groups) + "}")
    return folder


def test_a_task_graph_comes_back_as_it_was(plan: topoopt.Plan, tmp_path: Path) -> None:
    graph = task_graph_of(plan.job, plan.strategy)
    back = job_of_chakra(str(written(tmp_path, graph))).graph
    different = [
        name
        for name in ARRAYS
        if name != "operator" and not np.array_equal(getattr(graph, name), getattr(back, name))
    ]
    assert different == []
    assert [graph.name(task) for task in range(len(graph))] == [back.name(task) for task in range(len(back))]


def test_traces_on_the_network_of_their_plan_take_as_long_as_the_plan(
    plan: topoopt.Plan, tmp_path: Path
) -> None:
    topoopt.write_plan(str(tmp_path / "plan.json"), plan)
    graph = task_graph_of(plan.job, plan.strategy)
    (tmp_path / "traces").mkdir()
    folder = written(tmp_path / "traces", graph, plan.job.settings.collective)
    run = topoopt.simulate(folder, fabric=str(tmp_path / "plan.json"), simulator="analytic")
    assert run.iteration_time_s == plan.simulate("analytic").iteration_time_s
    assert run.to_json()["collective"] == plan.simulate("analytic").to_json()["collective"]


def test_the_protobuf_library_reads_every_field(plan: topoopt.Plan) -> None:
    graph = task_graph_of(plan.job, plan.strategy)
    files = chakra_files(graph, "bulk")
    for server, data in enumerate(files.ranks):
        metadata, nodes = nodes_of(data)
        assert metadata.version == "0.0.4"
        assert [one.string_val for one in metadata.attr if one.name == "topoopt_collective"] == ["bulk"]
        known = {node.id for node in nodes}
        assert len(known) == len(nodes)
        for node in nodes:
            said = {one.name: getattr(one, one.WhichOneof("value")) for one in node.attr}
            assert set(node.data_deps) <= known
            assert not node.ctrl_deps
            if "topoopt_delay_of" in said:
                delayed = said["topoopt_delay_of"]
                assert (node.type, said["is_cpu_op"], node.id) == (4, True, len(graph) + delayed)
                assert abs(node.duration_micros - graph.duration_s[delayed] * 1e6) <= 1
                continue
            if node.type == 4:
                assert (graph.kind[node.id], graph.server[node.id]) == (COMPUTE, server)
                assert abs(node.duration_micros - graph.duration_s[node.id] * 1e6) <= 1
                assert said.get("topoopt_duration_s", 0.0) == graph.duration_s[node.id]
            elif node.type in (5, 6):
                ends = said["comm_src"], said["comm_dst"]
                assert ends == (graph.src[node.id], graph.dst[node.id])
                assert ends[node.type - 5] == server
                assert said["comm_size"] == graph.size_bytes[node.id]
            else:
                assert node.type == 7
                assert tuple(files.groups[said["pg_name"]]) == graph.members(node.id)
                assert (
                    said["comm_type"]
                    == {"allreduce": 0, "all-gather": 2, "all-to-all": 6, "reduce-scatter": 7}[
                        COLLECTIVES[graph.collective[node.id]]
                    ]
                )
            assert said["is_cpu_op"] is False


def test_rounded_durations_of_a_server_add_up_to_a_microsecond(plan: topoopt.Plan) -> None:
    graph = task_graph_of(plan.job, plan.strategy)
    if graph.accelerator.max():
        pytest.skip("several devices of a server round on their own")
    for server, data in enumerate(chakra_files(graph).ranks):
        said = {True: 0, False: 0}
        for node in nodes_of(data)[1]:
            said[node.id >= len(graph)] += node.duration_micros
        exact_s = graph.duration_s[(graph.kind == COMPUTE) & (graph.server == server)].sum()
        assert said[False] == pytest.approx(exact_s * 1e6, abs=0.51)
        if graph.groups == (tuple(range(graph.servers)),):  # every server has every delay
            assert said[True] == pytest.approx(graph.duration_s[graph.collectives].sum() * 1e6, abs=0.51)


def test_barriers_delays_and_uneven_shards_come_back(tmp_path: Path) -> None:
    rows = [
        TaskRows(COMPUTE, 3, np.array([1e-7, 2e-3, 3e-3]), server=np.array([0, 1, 2])),
        TaskRows(TRANSFER, 1, 5e-6, src=1, dst=1),  # a delay
        TaskRows(TRANSFER, 2, 7e-6, src=0, dst=2, size_bytes=1000),
        TaskRows(COLLECTIVE, 1, 1e-6, size_bytes=1000, collective=2, members=((2, 0, 1),)),
        TaskRows(COLLECTIVE, 1, 0.0, size_bytes=3, collective=0, members=((0, 2),)),
    ]
    edges = np.array([(0, 4), (4, 5), (1, 3), (3, 6), (5, 6), (6, 7), (2, 7), (4, 2)]).T
    graph = task_graph_from_edges(3, rows, *edges)
    back = job_of_chakra(str(written(tmp_path, graph))).graph
    assert [name for name in ARRAYS if not np.array_equal(getattr(graph, name), getattr(back, name))] == []
    assert back.members(6) == (2, 0, 1)


def test_tasks_that_wait_for_nothing_come_back(tmp_path: Path) -> None:
    rows = [TaskRows(TRANSFER, 2, src=np.array([0, 1]), dst=np.array([1, 2]), size_bytes=5)]
    graph = task_graph_from_edges(3, rows, np.zeros(0, np.int64), np.zeros(0, np.int64))
    back = job_of_chakra(str(written(tmp_path, graph))).graph
    assert [name for name in ARRAYS if not np.array_equal(getattr(graph, name), getattr(back, name))] == []


def test_what_no_rank_sees_both_of_is_refused() -> None:
    rows = [TaskRows(COMPUTE, 2, 1e-3, server=np.array([0, 1]))]
    graph = task_graph_from_edges(2, rows, np.array([0]), np.array([1]))
    with pytest.raises(
        topoopt.TopoOptError, match="task 1 other on server 1 waits for task 0 other on server 0"
    ):
        chakra_files(graph)


def test_a_plan_or_a_name_that_nobody_has_is_no_trace(tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text("{}")
    assert not is_chakra(str(tmp_path / "plan.json"))
    assert not is_chakra(str(tmp_path / "nobody"))
    assert not is_chakra(str(tmp_path))
    (tmp_path / "run.0.et").write_bytes(b"")
    assert is_chakra(str(tmp_path))
