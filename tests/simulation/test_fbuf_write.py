"""Writing .fbuf: what was read comes back, and a plan replayed from its file takes the plan's own time."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topoopt.base.errors import InvalidInput, NoRoute
from topoopt.catalog import ClusterSpec
from topoopt.finder import FabricRequest, build_fabric
from topoopt.jobs import JobSettings, make_job, operators_of
from topoopt.routing import Fabric, make_routes
from topoopt.search import SearchOptions, make_plan, task_graph_of
from topoopt.simulation import (
    COLLECTIVE,
    COLLECTIVES,
    COMPUTE,
    TRANSFER,
    FlexNetGraph,
    IterationCosts,
    TaskGraph,
    TaskRows,
    build_task_graph,
    fbuf_bytes,
    flexnet_fabric,
    flexnet_graph,
    flexnet_task_graph,
    parse_fbuf,
    read_fbuf,
    simulate,
    task_graph_from_edges,
    write_fbuf,
)
from topoopt.topologies import Link, Ring, circulant, topology_from_links
from topoopt.workloads import load_model
from topoopt.workloads.strategy import data_parallel

GRAPHS = Path(__file__).parents[2] / "examples" / "taskgraphs"
NAMES = sorted(path.name.removesuffix(".fbuf.xz") for path in GRAPHS.glob("*.fbuf.xz"))
FIXED = ("ideal-switch", "fat-tree", "oversub-fat-tree", "expander", "torus", "full-mesh")
FLOAT32 = 1e-7
"""Compute times are float32 in the file: half a unit in the last place is 6e-8."""


def same(one: Any, other: Any) -> bool:
    """Whether two nouns have the same values of the same types; the place that they were read from aside."""
    if dataclasses.is_dataclass(one):
        names = [field.name for field in dataclasses.fields(one) if field.name != "place"]
        return all(same(getattr(one, name), getattr(other, name)) for name in names)
    if isinstance(one, np.ndarray):
        return bool(one.dtype == other.dtype and np.array_equal(one, other))
    return bool(one == other)


def test_there_are_graphs_to_test_with() -> None:
    assert len(NAMES) == 22


@pytest.mark.parametrize("name", NAMES)
def test_read_write_read_gives_equal_values(name: str) -> None:
    graph = read_fbuf(GRAPHS / f"{name}.fbuf.xz")
    data = fbuf_bytes(graph)
    assert same(parse_fbuf(data), graph)
    assert fbuf_bytes(parse_fbuf(data)) == data


@pytest.mark.parametrize("suffix", [".fbuf", ".fbuf.xz"])
def test_files_are_packed_by_name(tmp_path: Path, suffix: str) -> None:
    graph = read_fbuf(GRAPHS / "taskgraph12.fbuf.xz")
    path = tmp_path / f"copy{suffix}"
    write_fbuf(graph, path)
    assert same(read_fbuf(path), graph)
    assert (path.stat().st_size < 20_000) == (suffix == ".fbuf.xz")


def test_a_folder_that_is_not_there_is_said_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="does not exist"):
        write_fbuf(read_fbuf(GRAPHS / "taskgraph12.fbuf.xz"), tmp_path / "no" / "x.fbuf")


def replayed(graph: TaskGraph, fabric: Fabric, **options: Any) -> tuple[FlexNetGraph, TaskGraph, Fabric]:
    """Return a graph and its fabric as they come out of their file."""
    written = parse_fbuf(fbuf_bytes(flexnet_graph(graph, fabric, **options)))
    again = flexnet_task_graph(written)
    return written, again, flexnet_fabric(written, again.groups)


@pytest.mark.parametrize("name", NAMES)
def test_the_authors_graphs_through_our_nouns_take_the_same_time(name: str) -> None:
    read = read_fbuf(GRAPHS / f"{name}.fbuf.xz")
    graph = flexnet_task_graph(read)
    fabric = flexnet_fabric(read, graph.groups)
    written, again, wired = replayed(graph, fabric)
    moves = graph.kind == TRANSFER
    assert np.array_equal(written.tasks.runtime[~moves], read.tasks.runtime[~moves])
    # FlexNet's estimates of transfers hold latency and waiting too
    assert (written.tasks.runtime[moves] < read.tasks.runtime[moves]).all()
    for simulator in ("analytic", "flow"):
        mine, other = simulate(simulator, graph, fabric), simulate(simulator, again, wired)
        assert np.array_equal(mine.finish_s, other.finish_s)


@pytest.fixture(scope="module")
def planned() -> tuple[TaskGraph, Fabric, float]:
    job = make_job(load_model("dlrm", servers=16), ClusterSpec(16, 4, 100e9), JobSettings(memory_check="off"))
    plan = make_plan(job, SearchOptions(budget=50), fabrics=())
    return task_graph_of(job, plan.strategy), plan.fabric, plan.outcome.iteration_time_s


def test_a_plan_replayed_from_its_file_takes_the_plans_own_time(
    planned: tuple[TaskGraph, Fabric, float],
) -> None:
    graph, fabric, time_s = planned
    _, again, wired = replayed(graph, fabric)
    assert simulate("analytic", again, wired).iteration_time_s == pytest.approx(time_s, rel=FLOAT32)
    assert wired.name == "topoopt"


@pytest.mark.parametrize("fabric_name", FIXED)
def test_a_job_on_any_fixed_fabric_is_replayed(
    planned: tuple[TaskGraph, Fabric, float], fabric_name: str
) -> None:
    graph, _, _ = planned
    fabric = build_fabric(fabric_name, FabricRequest(16, 4, 100e9, graph.groups))
    _, again, wired = replayed(graph, fabric)
    for simulator in ("analytic", "flow"):
        mine, other = simulate(simulator, graph, fabric), simulate(simulator, again, wired)
        assert other.iteration_time_s == pytest.approx(mine.iteration_time_s, rel=FLOAT32)


def test_circuits_that_change_cannot_be_written(planned: tuple[TaskGraph, Fabric, float]) -> None:
    graph, _, _ = planned
    with pytest.raises(InvalidInput, match="changes its circuits"):
        flexnet_graph(graph, build_fabric("ocs-reconfig", FabricRequest(16, 4, 100e9, graph.groups)))


SWITCH = build_fabric("ideal-switch", FabricRequest(4, 1, 100e9))


def of_rows(*rows: TaskRows, edges: tuple[tuple[int, int], ...] = (), servers: int = 4) -> TaskGraph:
    pairs = np.array(edges, np.int64).reshape(-1, 2)
    return task_graph_from_edges(servers, list(rows), pairs[:, 0], pairs[:, 1])


def test_what_takes_no_time_here_takes_none_there() -> None:
    """FlexNetPacket sends a packet for an empty transfer: it is left out, and what waits for it waits on."""
    work = TaskRows(COMPUTE, 2, 1e-3, server=np.array([0, 1]))
    nothing = TaskRows(TRANSFER, 2, src=np.array([0, 1]), dst=np.array([1, 1]), size_bytes=np.array([0, 9]))
    end = TaskRows(COMPUTE, 1, 1e-3, server=2)
    graph = of_rows(work, nothing, end, edges=((0, 2), (1, 2), (2, 3), (3, 4)))
    written, again, wired = replayed(graph, SWITCH)
    assert len(written.tasks) == 3
    assert simulate("flow", again, wired).finish_s.tolist() == pytest.approx([1e-3, 1e-3, 2e-3])


def test_an_all_to_all_becomes_its_transfers() -> None:
    before = TaskRows(COMPUTE, 1, 1e-3, server=0)
    exchange = TaskRows(
        COLLECTIVE, 1, size_bytes=4 << 20, collective=COLLECTIVES.index("all-to-all"), members=((0, 1, 2, 3),)
    )
    after = TaskRows(COMPUTE, 1, 1e-3, server=3)
    graph = of_rows(before, exchange, after, edges=((0, 1), (1, 2)))
    written, again, wired = replayed(graph, SWITCH)
    assert len(written.tasks) == 2 + 12
    mine, other = simulate("flow", graph, SWITCH), simulate("flow", again, wired)
    assert other.iteration_time_s == pytest.approx(mine.iteration_time_s, rel=FLOAT32)
    assert mine.iteration_time_s > 2e-3


def test_two_exchanges_in_a_row_wait_transfer_by_transfer() -> None:
    exchange = TaskRows(
        COLLECTIVE,
        2,
        size_bytes=3 << 20,
        collective=COLLECTIVES.index("all-to-all"),
        members=((0, 1, 2),) * 2,
    )
    graph = of_rows(exchange, edges=((0, 1),))
    written, again, wired = replayed(graph, SWITCH)
    assert len(written.tasks.next) == 36
    mine, other = simulate("flow", graph, SWITCH), simulate("flow", again, wired)
    assert other.iteration_time_s == pytest.approx(mine.iteration_time_s, rel=FLOAT32)


def test_accelerators_of_a_server_are_written() -> None:
    work = TaskRows(COMPUTE, 3, 1e-3, server=np.array([0, 0, 1]), accelerator=np.array([0, 1, 0]))
    written, again, wired = replayed(of_rows(work), SWITCH)
    assert written.ngpupernode == 2
    assert simulate("flow", again, wired).iteration_time_s == pytest.approx(1e-3)


REDUCE = TaskRows(COLLECTIVE, 1, size_bytes=9 << 20, collective=0, members=((0, 1, 2, 3),))


@pytest.mark.parametrize(
    ("graph", "words"),
    [
        (of_rows(REDUCE, TaskRows(COMPUTE, 1, server=0), edges=((0, 1),)), "nothing waits for an AllReduce"),
        (
            of_rows(TaskRows(COLLECTIVE, 1, size_bytes=9, collective=1, members=((0, 1),))),
            "a collective that .fbuf has no task for",
        ),
        (of_rows(TaskRows(TRANSFER, 1, 1e-3, src=0, dst=1, size_bytes=9)), "has a delay"),
        (
            of_rows(TaskRows(COMPUTE, 1, server=4), servers=5),
            "5 servers have tasks, fabric ideal-switch has 4",
        ),
        (of_rows(TaskRows(COMPUTE, 2, server=0, iteration=np.array([0, 1]))), "holds 2 iterations"),
        (of_rows(), "holds no tasks"),
    ],
    ids=["gate", "kind", "delay", "servers", "iterations", "none"],
)
def test_what_the_format_cannot_say_is_not_left_out_in_silence(graph: TaskGraph, words: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        flexnet_graph(graph, SWITCH, "plan.json")
    assert words in str(caught.value)
    assert str(caught.value).startswith("plan.json: ")


def test_one_way_links_are_refused() -> None:
    topology = circulant(5, [1], 100e9, links="directed")
    fabric = Fabric("topoopt", topology, make_routes("single-shortest", topology), {})
    with pytest.raises(
        InvalidInput, match=r"link 0->1 of fabric topoopt has no equal in the other direction"
    ):
        flexnet_graph(of_rows(REDUCE), fabric)


@pytest.mark.parametrize(("fast_bps", "count"), [(300e9, 3), (250e9, None)])
def test_faster_links_are_several_cables_or_refused(fast_bps: float, count: int | None) -> None:
    links = [Link(0, 1, 100e9), Link(1, 0, 100e9), Link(1, 2, fast_bps), Link(2, 1, fast_bps)]
    topology = topology_from_links("direct", 3, links)
    fabric = Fabric("topoopt", topology, make_routes("single-shortest", topology), {})
    graph = of_rows(TaskRows(TRANSFER, 1, src=0, dst=2, size_bytes=9), servers=3)
    if count is None:
        with pytest.raises(InvalidInput, match=r"link 1->2 of fabric topoopt has 2\.5 times the 1e\+11 b/s"):
            flexnet_graph(graph, fabric)
    else:
        assert flexnet_graph(graph, fabric).connections.nconn.tolist() == [1, count]


def around(*members: int) -> Ring:
    return Ring(0, members, members)


@pytest.mark.parametrize(
    ("rings", "tasks", "descriptors"),
    [
        ((around(0, 1, 2, 3, 4, 5), around(0, 5, 4, 3, 2, 1)), 1, 1),  # jumps of 1 and of 5
        ((around(0, 1, 2, 3, 4, 5), around(0, 2, 1, 3, 5, 4)), 2, 0),  # irregular, along direct links
    ],
    ids=["regular", "irregular"],
)
def test_rings_are_written_as_jumps_or_as_allreduces_of_their_own(
    rings: tuple[Ring, ...], tasks: int, descriptors: int
) -> None:
    topology = circulant(6, [1, 2], 100e9)
    group = tuple(range(6))
    fabric = Fabric("topoopt", topology, make_routes("single-shortest", topology), {group: rings})
    graph = of_rows(
        TaskRows(COLLECTIVE, 1, 1e-3, size_bytes=12 << 20, collective=0, members=(group,)), servers=6
    )
    written, again, wired = replayed(graph, fabric)
    assert (len(written.tasks), len(written.rings)) == (tasks, descriptors)
    mine, other = simulate("flow", graph, fabric), simulate("flow", again, wired)
    assert other.iteration_time_s == pytest.approx(mine.iteration_time_s, rel=FLOAT32)
    assert np.array_equal(mine.link_bytes, other.link_bytes)


def test_rings_that_go_other_ways_than_the_routes_are_dropped_only_on_demand() -> None:
    topology = circulant(6, [1, 2], 100e9)
    group = (0, 2, 3)
    odd = Ring(0, (0, 1, 2, 3, 1), group)
    fabric = Fabric("topoopt", topology, make_routes("single-shortest", topology), {group: (odd,)})
    graph = of_rows(TaskRows(COLLECTIVE, 1, size_bytes=9 << 20, collective=0, members=(group,)), servers=6)
    with pytest.raises(InvalidInput, match=r"the rings of the 3 servers from 0 neither follow .* drop_rings"):
        flexnet_graph(graph, fabric)
    written, _, wired = replayed(graph, fabric, drop_rings=True)
    assert not written.rings
    assert not wired.rings


def test_pairs_that_cannot_reach_each_other_matter_only_where_they_talk() -> None:
    topology = topology_from_links("direct", 3, [Link(0, 1, 1e9), Link(1, 0, 1e9)])
    fabric = Fabric("topoopt", topology, make_routes("single-shortest", topology), {})
    talk = TaskRows(TRANSFER, 1, src=0, dst=1, size_bytes=9)
    assert len(flexnet_graph(of_rows(talk, servers=3), fabric).routes) == 1
    with pytest.raises(NoRoute):
        flexnet_graph(of_rows(dataclasses.replace(talk, dst=2), servers=3), fabric)


@given(st.integers(2, 9), st.sampled_from(["dlrm", "vgg16"]), st.integers(1, 4), st.sampled_from(FIXED[:2]))
@settings(max_examples=12)
def test_data_parallel_jobs_of_any_size_are_replayed(servers: int, model: str, degree: int, on: str) -> None:
    cluster = ClusterSpec(servers, degree, 25e9)
    job = make_job(load_model(model, servers=16), cluster, JobSettings(memory_check="off"))
    graph = build_task_graph(
        operators_of(job).graph,
        data_parallel(operators_of(job).graph, servers),
        operators_of(job).timer,
        IterationCosts(4),
    )
    fabric = build_fabric(on, FabricRequest(servers, degree, 25e9, graph.groups))
    _, again, wired = replayed(graph, fabric)
    for simulator in ("analytic", "flow"):
        mine, other = simulate(simulator, graph, fabric), simulate(simulator, again, wired)
        assert other.iteration_time_s == pytest.approx(mine.iteration_time_s, rel=2 * FLOAT32)


def test_negative_jumps_survive() -> None:
    read = read_fbuf(GRAPHS / "taskgraph12.fbuf.xz")
    ring = dataclasses.replace(read.rings[0], ringpaths=((-1, -1), (13, 1)))
    assert parse_fbuf(fbuf_bytes(dataclasses.replace(read, rings=(ring,)))).rings == (ring,)
