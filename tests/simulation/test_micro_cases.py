"""Small cases to the picosecond.

The figures in ms are measured with the original packet simulator at 100 Gb/s and 1 µs per hop, each after a
1 ms compute task. None of them needs packet queueing beyond a work-conserving link, so both simulators have
to give them exactly.
"""

import numpy as np
import pytest

from topoopt.routing import Fabric, make_routes
from topoopt.simulation import (
    COLLECTIVE,
    COMPUTE,
    SIMULATORS,
    TRANSFER,
    SimulationOptions,
    TaskGraph,
    TaskRows,
    simulate,
    task_graph_from_edges,
)
from topoopt.topologies import (
    Link,
    Ring,
    Topology,
    circulant,
    ideal_switch,
    stride_offsets,
    topology_from_links,
)

PICOSECOND = 1e-12
TEN_MB = 10_000_000
GIBIBYTE = 2**30
SERVERS = 16
STEPPED = SimulationOptions()

both_simulators = pytest.mark.parametrize("simulator", SIMULATORS)


def fabric(topology: Topology, routing: str = "single-shortest", rings: tuple[Ring, ...] = ()) -> Fabric:
    everyone = tuple(range(topology.servers))
    return Fabric("test", topology, make_routes(routing, topology), {everyone: rings} if rings else {})


def line(nodes: int, bandwidth_bps: float = 100e9) -> Topology:
    pairs = [(i, i + 1) for i in range(nodes - 1)]
    links = [Link(a, b, bandwidth_bps) for i, j in pairs for a, b in ((i, j), (j, i))]
    return topology_from_links("line", nodes, links)


def four_ary_fat_tree() -> Topology:
    """Return the textbook tree of 16 servers with every switch on its own, all links of 100 Gb/s."""
    tors, aggregations, cores = (range(first, first + count) for first, count in ((16, 8), (24, 8), (32, 4)))
    cables = [(server, tors[server // 2]) for server in range(16)]
    cables += [(tors[t], aggregations[t // 2 * 2 + a]) for t in range(8) for a in range(2)]
    cables += [(aggregations[i], cores[i % 2 * 2 + c]) for i in range(8) for c in range(2)]
    links = [Link(a, b, 100e9) for i, j in cables for a, b in ((i, j), (j, i))]
    return topology_from_links("fat-tree", 16, links, 36)


def after_a_millisecond(servers: int, rows: TaskRows) -> TaskGraph:
    compute = TaskRows(COMPUTE, 1, 1e-3, server=0)
    return task_graph_from_edges(
        servers, [compute, rows], np.zeros(rows.count, np.int64), 1 + np.arange(rows.count)
    )


def time_ms(simulator: str, graph: TaskGraph, on: Fabric, options: SimulationOptions = STEPPED) -> float:
    return simulate(simulator, graph, on, options).iteration_time_s * 1e3


def milliseconds(expected: float) -> object:
    return pytest.approx(expected, abs=PICOSECOND * 1e3)


@both_simulators
@pytest.mark.parametrize("split", ["spread", "paths"])
@pytest.mark.parametrize(("hops", "expected"), [(1, 1.802665680), (4, 1.810810560)])
def test_ten_megabytes(simulator: str, split: str, hops: int, expected: float) -> None:
    graph = after_a_millisecond(hops + 1, TaskRows(TRANSFER, 1, src=0, dst=hops, size_bytes=TEN_MB))
    options = SimulationOptions(split=split)
    assert time_ms(simulator, graph, fabric(line(hops + 1)), options) == milliseconds(expected)


@both_simulators
@pytest.mark.parametrize(("flows", "expected"), [(2, 2.603331280), (4, 4.204662480), (16, 13.812649680)])
def test_flows_on_one_link(simulator: str, flows: int, expected: float) -> None:
    graph = after_a_millisecond(2, TaskRows(TRANSFER, flows, src=0, dst=1, size_bytes=TEN_MB))
    assert time_ms(simulator, graph, fabric(line(2))) == milliseconds(expected)


@both_simulators
def test_incast_of_eight_through_a_switch(simulator: str) -> None:
    rows = TaskRows(TRANSFER, 8, src=1 + np.arange(8), dst=0, size_bytes=TEN_MB)
    on = fabric(ideal_switch(9, 100e9))
    assert time_ms(simulator, after_a_millisecond(9, rows), on) == milliseconds(7.410039840)


def allreduce(size_bytes: int = GIBIBYTE, servers: int = SERVERS) -> TaskGraph:
    members = (tuple(range(servers)),)
    return after_a_millisecond(
        servers, TaskRows(COLLECTIVE, 1, size_bytes=size_bytes, collective=0, members=members)
    )


def stride_ring(stride: int, servers: int = SERVERS) -> Ring:
    order = tuple(stride * i % servers for i in range(servers))
    return Ring(stride, order, order)


@both_simulators
def test_allreduce_of_a_gibibyte_on_a_flat_ring(simulator: str) -> None:
    on = fabric(circulant(SERVERS, [1], 100e9), rings=(stride_ring(1),))
    assert time_ms(simulator, allreduce(), on) == milliseconds(162.122466400)


@both_simulators
def test_allreduce_of_a_gibibyte_on_four_rings(simulator: str) -> None:
    rings = tuple(stride_ring(p) for p in stride_offsets(SERVERS, [1, 5], "duplex"))
    on = fabric(circulant(SERVERS, [1, 5], 100e9), rings=rings)
    assert time_ms(simulator, allreduce(), on) == milliseconds(41.336341600)


@both_simulators
def test_allreduce_of_a_gibibyte_through_an_ideal_switch(simulator: str) -> None:
    assert time_ms(simulator, allreduce(), fabric(ideal_switch(SERVERS, 100e9))) == milliseconds(
        162.203915200
    )


@both_simulators
def test_allreduce_of_a_gibibyte_through_a_fat_tree(simulator: str) -> None:
    # ECMP loads every up-link equally, so the ring never waits; its slowest edge has six hops
    on = fabric(four_ary_fat_tree(), "ecmp")
    assert time_ms(simulator, allreduce(), on) == milliseconds(162.529710400)


@both_simulators
def test_a_ring_along_relays_pays_for_every_link_of_its_walk(simulator: str) -> None:
    # members 0, 2, 4 of a cycle of six: each logical edge is two links, as through a switch
    ring = Ring(2, (0, 1, 2, 3, 4, 5), (0, 2, 4))
    topology = circulant(6, [1], 100e9)
    on = Fabric("test", topology, make_routes("coin-change", topology), {(0, 2, 4): (ring,)})
    members = ((0, 2, 4),)
    graph = after_a_millisecond(
        6, TaskRows(COLLECTIVE, 1, size_bytes=GIBIBYTE, collective=0, members=members)
    )
    switched = allreduce(servers=3)
    expected = time_ms(simulator, switched, fabric(ideal_switch(3, 100e9)))
    assert time_ms(simulator, graph, on) == milliseconds(expected)
    result = simulate(simulator, graph, on)
    assert result.bandwidth_tax == pytest.approx(2.0)
    assert result.hop_bytes.tolist() == pytest.approx([0, 0, 4 * GIBIBYTE])


@both_simulators
def test_a_ring_that_crosses_a_link_twice_takes_twice_as_long(simulator: str) -> None:
    # two members on a line of three: out and back; then a member order that doubles back over 0-1
    topology = line(4)
    twice = Ring(0, (0, 1, 2, 1, 0, 1, 2, 3, 2, 1), (0, 2, 3))
    once = Ring(0, (0, 1, 2, 3, 2, 1), (0, 2, 3))
    times = []
    for ring in (once, twice):
        on = Fabric("test", topology, make_routes("single-shortest", topology), {(0, 2, 3): (ring,)})
        rows = TaskRows(COLLECTIVE, 1, size_bytes=GIBIBYTE, collective=0, members=((0, 2, 3),))
        options = SimulationOptions(ring_model="bulk")
        times.append(time_ms(simulator, after_a_millisecond(4, rows), on, options) - 1)
    assert times[1] == pytest.approx(2 * times[0], rel=1e-3)


@both_simulators
def test_reduce_scatter_and_all_gather_take_half_of_an_allreduce(simulator: str) -> None:
    on = fabric(circulant(SERVERS, [1], 100e9), rings=(stride_ring(1),))
    for collective in (1, 2):
        rows = TaskRows(
            COLLECTIVE, 1, size_bytes=GIBIBYTE, collective=collective, members=(tuple(range(16)),)
        )
        assert time_ms(simulator, after_a_millisecond(16, rows), on) == milliseconds(1 + 161.122466400 / 2)


@both_simulators
def test_all_to_all_fills_the_ports_of_an_ideal_switch(simulator: str) -> None:
    # each of four sends and receives three pieces of 10 MB: 3 × 1120 packets, and the fixed overhead once
    rows = TaskRows(COLLECTIVE, 1, size_bytes=4 * TEN_MB, collective=3, members=((0, 1, 2, 3),))
    on = fabric(ideal_switch(4, 100e9))
    overhead_ms, packet_ms = 4.71504e-3, 8936 * 8 / 100e9 * 1e3
    found = time_ms(simulator, after_a_millisecond(4, rows), on)
    assert found == milliseconds(1 + overhead_ms + 3 * 1120 * packet_ms)


@both_simulators
def test_the_delay_inside_a_server_comes_before_the_ring(simulator: str) -> None:
    on = fabric(circulant(SERVERS, [1], 100e9), rings=(stride_ring(1),))
    members = (tuple(range(SERVERS)),)
    rows = TaskRows(COLLECTIVE, 1, 0.5e-3, size_bytes=GIBIBYTE, collective=0, members=members)
    assert time_ms(simulator, after_a_millisecond(SERVERS, rows), on) == milliseconds(162.622466400)


@both_simulators
def test_bulk_rings_carry_all_rounds_in_one_piece(simulator: str) -> None:
    on = fabric(circulant(SERVERS, [1], 100e9), rings=(stride_ring(1),))
    found = time_ms(simulator, allreduce(), on, SimulationOptions(ring_model="bulk"))
    # 2·15/16 of a GiB at 12.5 GB/s, one connection and one latency; packets are whole
    size = 30 / 16 * GIBIBYTE if simulator != "packet" else -(-30 * GIBIBYTE // 16 // 8936) * 8936
    assert found == milliseconds(1 + (size / 12.5e9 + 8e-11 + 2e-6) * 1e3)
