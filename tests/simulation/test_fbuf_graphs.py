"""From FlexNet's terms to ours: tasks, devices, links, routes and rings, and what is refused."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topoopt.base.errors import InvalidInput, NoRoute
from topoopt.simulation import (
    COLLECTIVE,
    COMPUTE,
    PHASES,
    TRANSFER,
    FlexNetGraph,
    SimulationOptions,
    TaskGraph,
    fbuf_bytes,
    flexnet_fabric,
    flexnet_task_graph,
    parse_fbuf,
    read_fbuf,
    simulate,
)
from topoopt.simulation.flexnet.graph import Connections, Devices, Operators, RingDescriptor, RouteRows, Tasks

GRAPHS = Path(__file__).parents[2] / "examples" / "taskgraphs"
FORWARD, BACKWARD, COMM, UPDATE, BARRIER, NOMINAL_COMM, ALLREDUCE = range(7)
GPU, CPU, NVLINK, NW_COMM, NW_NOMINAL = 0, 1, 12, 13, 14

Task = tuple[int, int, int, float, int, list[int]]
"""Type, number, device, ms, bytes, what follows."""


def lists(rows: list[list[int]]) -> tuple[Any, Any]:
    return np.concatenate(([0], np.cumsum([len(row) for row in rows]))).astype(np.int64), np.array(
        [entry for row in rows for entry in row], np.int64
    )


def flexnet(
    tasks: list[Task],
    devices: list[tuple[int, int, int, int]],
    nnode: int = 4,
    nswitch: int = 0,
    cables: tuple[tuple[int, int, int], ...] = ((1, 0, 1), (2, 1, 1), (3, 2, 1), (3, 0, 1)),
    routes: tuple[tuple[float, list[int]], ...] = (),
    rings: tuple[RingDescriptor, ...] = (),
) -> FlexNetGraph:
    """A ring of four servers by default; routes are paths with a chance, by pair."""
    kind, number, device, ms, size, following = (list(column) for column in zip(*tasks, strict=True))
    first, following_of = lists(following)
    pairs = sorted({(path[0], path[-1]) for _, path in routes})
    of_pair = [[row for row in routes if (row[1][0], row[1][-1]) == pair] for pair in pairs]
    paths = [row for found in of_pair for row in found]
    hop_first, hops = lists([path for _, path in paths])
    a, b, count = (np.array(column, np.uint32) for column in zip(*cables, strict=True))
    return FlexNetGraph(
        "small.fbuf", 1, nnode, nswitch, 1.0, 1.0, 12.5e6,
        Connections(a, b, count),
        Operators(np.zeros(0, np.uint64), np.zeros(0, np.int32), ()),
        Tasks(
            np.array(kind, np.int16), np.array(number, np.uint64), np.array(device, np.uint64),
            np.array(ms, np.float32), np.array(size, np.uint64), first, following_of.astype(np.uint64),
        ),
        Devices(
            np.array([row[0] for row in devices], np.int16),
            *np.array([(*row[1:], 0) for row in devices], np.uint64).T,
        ),
        RouteRows(
            np.array([pair[0] for pair in pairs], np.uint32), np.array([pair[1] for pair in pairs], np.uint32),
            lists([[0] * len(found) for found in of_pair])[0], hop_first, hops.astype(np.uint32),
            np.array([chance for chance, _ in paths], np.float32),
        ),
        rings,
    )  # fmt: skip


GPUS = [(GPU, 100 + node, node, node) for node in range(4)]
NETWORK = (NW_NOMINAL, 900, 2**64 - 1, 1)  # 0 -> 1 of 4 nodes


def played(graph: FlexNetGraph) -> TaskGraph:
    """Through a file, so that everything is checked as when read."""
    return flexnet_task_graph(parse_fbuf(fbuf_bytes(graph), "small.fbuf"))


def refusal(graph: FlexNetGraph) -> str:
    with pytest.raises(InvalidInput) as caught:
        played(graph)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith("small.fbuf: ")
    return str(caught.value)


def test_forward_transfer_backward_allreduce() -> None:
    graph = played(
        flexnet(
            [
                (FORWARD, 7, 100, 1.5, 0, [8]),
                (NOMINAL_COMM, 8, 900, 99.0, 5000, [9]),
                (BACKWARD, 9, 101, 2.0, 0, [10]),
                (ALLREDUCE, 10, 0, 0.25, 1 << 33, [3, 0, 1]),
            ],
            [*GPUS, NETWORK],
        )
    )
    assert graph.kind.tolist() == [COMPUTE, TRANSFER, COMPUTE, COLLECTIVE]
    assert [PHASES[phase] for phase in graph.phase] == ["forward", "gradient", "backward", "allreduce"]
    assert graph.duration_s.tolist() == [1.5e-3, 0, 2e-3, 0.25e-3]  # a transfer's runtime is only an estimate
    assert graph.server.tolist() == [0, -1, 1, -1]
    assert (graph.src[1], graph.dst[1], graph.size_bytes[1]) == (0, 1, 5000)
    assert graph.members(3) == (3, 0, 1)  # in ring order, not sorted
    assert graph.size_bytes[3] == 1 << 33
    assert graph.successor.tolist() == [1, 2, 3]  # nothing waits for the AllReduce
    assert graph.groups == ((0, 1, 3),)


@given(st.floats(0, 1e6, width=32))
@settings(max_examples=60)
def test_the_files_float32_milliseconds_come_back_from_the_seconds(ms: float) -> None:
    graph = played(flexnet([(FORWARD, 1, 100, ms, 0, [])], GPUS))
    assert np.float32(graph.duration_s[0] * 1e3) == np.float32(ms)


def test_two_gpus_of_a_server_compute_at_the_same_time_and_one_does_not() -> None:
    devices = [(GPU, 5, 0, 0), (GPU, 6, 0, 1), (GPU, 7, 1, 2), (CPU, 8, 1, 0)]
    on: list[Task] = [(FORWARD, 1, 5, 10.0, 0, []), (FORWARD, 2, 6, 10.0, 0, []), (UPDATE, 3, 8, 4.0, 0, [])]
    two = flexnet(on, devices)
    graph = played(two)
    assert graph.device.tolist() == [0, 1, 2]  # the third runs on the only device of server 1 that is used
    assert graph.devices == 8  # as many for each of the four servers as one has
    fabric = flexnet_fabric(two, graph.groups)
    for simulator in ("analytic", "flow"):
        assert simulate(simulator, graph, fabric).iteration_time_s == pytest.approx(10e-3)
    one = played(flexnet([(*task[:2], 5, *task[3:]) for task in on], devices))
    assert one.device.tolist() == [0, 0, 0]
    assert simulate("flow", one, fabric).iteration_time_s == pytest.approx(24e-3)


def test_a_barrier_takes_its_time_and_no_device() -> None:
    tasks: list[Task] = [
        (FORWARD, 1, 100, 1.0, 0, [2]),
        (BARRIER, 2, 0, 3.0, 0, [3]),
        (FORWARD, 3, 100, 1.0, 0, []),
        (FORWARD, 4, 100, 2.0, 0, []),
    ]
    small = flexnet(tasks, GPUS)
    graph = played(small)
    result = simulate("flow", graph, flexnet_fabric(small, ()))
    # the last task runs while the barrier waits
    assert result.finish_s.tolist() == pytest.approx([1e-3, 4e-3, 5e-3, 3e-3])


def test_a_task_on_a_bus_occupies_it() -> None:
    devices = [*GPUS, (NVLINK, 50, 0, 0)]
    graph = played(flexnet([(COMM, 1, 50, 2.0, 10, []), (FORWARD, 2, 100, 2.0, 0, [])], devices))
    assert graph.kind.tolist() == [COMPUTE, COMPUTE]
    assert len(set(graph.device.tolist())) == 2


def test_a_hop_to_a_switch_is_no_transfer_between_servers() -> None:
    hop = (NW_COMM, 60, 2**64 - 1, 0 * 5 + 4)
    cables = tuple((4, node, 1) for node in range(4))
    words = refusal(flexnet([(COMM, 1, 60, 1.0, 10, [])], [*GPUS, hop], nswitch=1, cables=cables))
    assert "transfers 0->4, expected two servers out of 0..3" in words


@pytest.mark.parametrize(
    ("tasks", "words"),
    [
        ([(FORWARD, 1, 100, 1.0, 0, [77])], "task 0: nexttasks must be numbers of tasks in the file, got 77"),
        ([(FORWARD, 1, 55, 1.0, 0, [])], "task 0: deviceid must be that of a device in the file, got 55"),
        ([(ALLREDUCE, 1, 0, 0.0, 9, [0, 4])], "members must be node numbers in 0..3, got 4"),
        ([(ALLREDUCE, 1, 0, 0.0, 9, [0, 1, 0])], "members must differ, got 0"),
        ([(ALLREDUCE, 1, 0, 0.0, 9, [])], "an AllReduce must have members"),
        ([(7, 1, 100, 1.0, 0, [])], "type must be in 0..6, got 7"),
        ([(FORWARD, 1, 100, float("nan"), 0, [])], "runtime (ms) must be finite and >= 0, got nan"),
        ([(FORWARD, 1, 100, 1.0, 0, []), (FORWARD, 1, 100, 1.0, 0, [])], "task 1: taskid must be there once"),
        ([(NOMINAL_COMM, 1, 900, 0.0, (1 << 53) + 2, [])], "xfersize must be <= 9007199254740992"),
        (
            [(FORWARD, 1, 100, 1.0, 0, [2]), (BACKWARD, 2, 101, 1.0, 0, [1])],
            "wait for each other in a circle: task 0 forward on server 0 (task 0), task 1 backward on server 1",
        ),
    ],
    ids=["next", "device", "node", "twice", "nobody", "type", "nan", "same", "huge", "circle"],
)
def test_tasks_that_cannot_be_are_refused(tasks: list[Task], words: str) -> None:
    assert words in refusal(flexnet(tasks, [*GPUS, NETWORK]))


ONE: list[Task] = [(FORWARD, 1, 100, 1.0, 0, [])]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"routes": ((1.0, [0, 2]),)}, "steps 0->2, where the file has no connection"),
        ({"routes": ((1.0, [0, 1, 0, 3]),)}, "a node must be met once"),
        ({"routes": ((-1.0, [0, 1]),)}, "chance must be > 0"),
        ({"routes": ((1.0, [0, 9]),)}, "tonode must be in 0..3, got 9"),
        ({"cables": ((1, 4, 1),)}, "tonode must be in 0..3, got 4"),
        ({"cables": ((1, 1, 1),)}, "must join two different nodes"),
        ({"cables": ((1, 0, 0),)}, "nconn must be at least 1"),
        ({"rings": (RingDescriptor(4, ((),)),)}, "expected 1 to 4 jumps to other nodes, got ()"),
        ({"rings": (RingDescriptor(4, ((8,),)),)}, "expected 1 to 4 jumps to other nodes, got (8,)"),
        ({"nnode": 0}, "expected at least 1 server"),
        ({"nnode": 1 << 30}, "at most 1048576 nodes"),
        ({"devices": [*GPUS, (GPU, 7, 9, 0)]}, "nodeid must be in 0..3, got 9"),
        ({"devices": [*GPUS, (NW_NOMINAL, 7, 0, 16)]}, "deviceproperty must be src·4 + dst"),
        ({"devices": [*GPUS, GPUS[0]]}, "deviceid must be there once, got 100"),
    ],
)
def test_networks_that_cannot_be_are_refused(changes: dict[str, Any], words: str) -> None:
    assert words in refusal(flexnet(ONE, **{"devices": GPUS, **changes}))


def test_a_file_without_tasks_says_so() -> None:
    some = flexnet(ONE, GPUS)
    columns = ("type", "taskid", "deviceid", "runtime", "xfersize", "next")
    none = {name: getattr(some.tasks, name)[:0] for name in columns}
    assert "holds no tasks" in refusal(replace(some, tasks=Tasks(**none, next_first=np.zeros(1, np.int64))))


def test_cables_become_links_both_ways_with_their_ports() -> None:
    small = flexnet(ONE, GPUS, cables=((1, 0, 2), (0, 1, 1), (2, 1, 1)))
    topology = flexnet_fabric(small, (), latency_s=2e-6).topology
    rows = zip(topology.src.tolist(), topology.dst.tolist(), topology.ports.tolist(), strict=True)
    assert sorted(rows) == [(0, 1, 3), (1, 0, 3), (1, 2, 1), (2, 1, 1)]
    assert topology.bandwidth_bps.tolist() == [300e9, 300e9, 100e9, 100e9]
    assert set(topology.latency_s.tolist()) == {2e-6}
    assert flexnet_fabric(small, (), bandwidth_bps=1e9).topology.bandwidth_bps.max() == 3e9


def test_paths_share_a_pairs_bytes_by_chance() -> None:
    small = flexnet(ONE, GPUS, routes=((0.5, [0, 1, 2]), (1.5, [0, 3, 2]), (1.0, [0, 1])))
    routes = flexnet_fabric(small, ()).routes
    assert [(path.nodes, path.weight) for path in routes.paths(0, 2)] == [
        ((0, 1, 2), 0.25),
        ((0, 3, 2), 0.75),
    ]
    assert [path.nodes for path in routes.paths(0, 1)] == [(0, 1)]
    with pytest.raises(NoRoute, match=r"small\.fbuf: no route 2->0"):
        routes.paths(2, 0)


def test_without_routes_shortest_paths_are_taken() -> None:
    routes = flexnet_fabric(flexnet(ONE, GPUS), ()).routes
    assert sorted(path.nodes for path in routes.paths(0, 2)) == [(0, 1, 2), (0, 3, 2)]


def test_without_connections_another_fabric_is_needed() -> None:
    none = np.zeros(0, np.uint32)
    bare = replace(flexnet(ONE, GPUS), connections=Connections(none, none, none))
    with pytest.raises(InvalidInput, match=r"small\.fbuf: holds no connections; name a fabric"):
        flexnet_fabric(bare, ())


def test_without_a_bandwidth_one_is_needed() -> None:
    with pytest.raises(InvalidInput, match=r"bandwidth of a cable must be positive, got 0 b/s"):
        flexnet_fabric(replace(flexnet(ONE, GPUS), netbw=0.0), ())


@pytest.mark.parametrize(
    ("name", "fabric", "family"),
    [("100vgg_16", "ideal-switch", "ideal-switch"), ("taskgraph12", "topoopt", "direct")],
)
def test_fabrics_are_named_after_their_wiring(name: str, fabric: str, family: str) -> None:
    found = flexnet_fabric(read_fbuf(GRAPHS / f"{name}.fbuf.xz"), ())
    assert (found.name, found.topology.family) == (fabric, family)


TWELVE = read_fbuf(GRAPHS / "taskgraph12.fbuf.xz")
# the testbed's table: jumps from a member to the next, for groups at equal distances among 12 servers
TESTBED = {
    2: ((5, 1), (7, 11)),
    3: ((5, 11), (7, 1)),
    4: ((11, 5, 11), (1, 7, 1)),
    6: ((1, 1), (11, 11)),
    12: ((1,), (5,), (7,), (11,)),
}


def test_the_testbeds_file_has_its_rings() -> None:
    assert {ring.ringsz: tuple(sorted(ring.ringpaths)) for ring in TWELVE.rings} == {
        size: tuple(sorted(paths)) for size, paths in TESTBED.items()
    }


@pytest.mark.parametrize("size", TESTBED)
@pytest.mark.parametrize("start", [0, 1])
def test_rings_walk_the_members_of_the_group_that_they_serve(size: int, start: int) -> None:
    group = tuple(range(start if size < 12 else 0, 12, 12 // size))
    fabric = flexnet_fabric(TWELVE, [group])
    rings = fabric.rings[group]
    assert len(rings) == len(TESTBED[size])
    for ring in rings:
        assert sorted(ring.members) == list(group)
        assert ring.hops == size * len(TESTBED[size][0])
        src, dst = ring.edges()
        assert (fabric.topology.link_ids(src, dst) >= 0).all()
        jumps = tuple(((dst - src) % 12)[: ring.hops // size].tolist())
        assert jumps in TESTBED[size]


def test_a_group_that_the_jumps_would_leave_gets_no_ring_of_strangers() -> None:
    """The original walks the jumps from wrong members; here such a group takes one ring along the routes."""
    groups = [(0, 1, 2, 3, 4, 5), (0, 2, 4, 6, 8, 11)]
    fabric = flexnet_fabric(TWELVE, groups)
    assert not fabric.rings
    graph = played(
        flexnet([(ALLREDUCE, 1, 0, 0.0, 6 << 20, list(groups[0]))], GPUS, nnode=12, cables=((1, 0, 1),))
    )
    result = simulate("flow", graph, fabric, SimulationOptions())
    used = {
        (link.src, link.dst) for link, size in zip(fabric.topology, result.link_bytes, strict=True) if size
    }
    assert {(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)} <= used


def test_a_ring_over_a_missing_cable_is_refused() -> None:
    small = flexnet(ONE, GPUS, rings=(RingDescriptor(4, ((1,), (3,))), RingDescriptor(2, ((2,),))))
    assert [ring.members for ring in flexnet_fabric(small, [(0, 1, 2, 3)]).rings[0, 1, 2, 3]] == [
        (0, 1, 2, 3),
        (0, 3, 2, 1),
    ]
    with pytest.raises(
        InvalidInput, match=r"the ring of 2 servers from 1 steps 1->3, where the file has no conn"
    ):
        flexnet_fabric(small, [(1, 3)])
