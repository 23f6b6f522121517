"""The flow simulator against brute force, and the simulators against each other."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topoopt.base.errors import InvalidInput, NoRoute
from topoopt.collectives import occupancy_bytes
from topoopt.routing import Fabric, Path, make_routes
from topoopt.simulation import (
    COMPUTE,
    TRANSFER,
    SimResult,
    SimulationOptions,
    TaskGraph,
    TaskRows,
    simulate,
    task_graph_from_edges,
)
from topoopt.topologies import Link, Topology, circulant, ideal_switch, topology_from_links

EXACT = SimulationOptions(tolerance=0.0)
PACKET = 8936


def on(topology: Topology, routing: str) -> Fabric:
    return Fabric("test", topology, make_routes(routing, topology), {})


def staggered(servers: int, flows: list[tuple[int, int, int, int]]) -> TaskGraph:
    """Return transfers (src, dst, packets, start in units of a packet's time), each after a timer task."""
    count = len(flows)
    src, dst, packets, start = (np.array(column, np.int64) for column in zip(*flows, strict=True))
    # every timer gets a server of its own, so that they all start at once
    timers = TaskRows(COMPUTE, count, start * PACKET * 8 / 100e9, server=servers + np.arange(count))
    moves = TaskRows(TRANSFER, count, src=src, dst=dst, size_bytes=packets * PACKET)
    return task_graph_from_edges(servers + count, [timers, moves], np.arange(count), count + np.arange(count))


def silent(topology: Topology) -> Topology:
    """Return the topology without latency, so that only one byte of overhead is left per hop."""
    return topology_from_links(
        topology.family,
        topology.servers,
        [Link(link.src, link.dst, link.bandwidth_bps, 0.0) for link in topology],
        topology.nodes,
    )


def brute_force(paths: list[tuple[int, ...]], packets: list[int], start: list[Fraction]) -> list[Fraction]:
    """Return finish times in packet times on links of one packet a unit: re-fill at every change."""
    left = [Fraction(p) for p in packets]
    finish: list[Fraction | None] = [None] * len(paths)
    now = Fraction(0)
    while any(end is None for end in finish):
        active = [f for f, end in enumerate(finish) if end is None and start[f] <= now]
        rate = filled([paths[f] for f in active])
        coming = [start[f] - now for f in range(len(paths)) if start[f] > now]
        ending = [left[f] / rate[i] for i, f in enumerate(active)]
        step = min(coming + ending)
        for i, f in enumerate(active):
            left[f] -= rate[i] * step
        now += step
        for f in active:
            if left[f] == 0:
                finish[f] = now
    return [end for end in finish if end is not None]


def filled(paths: list[tuple[int, ...]]) -> list[Fraction]:
    room = {link: Fraction(1) for path in paths for link in path}
    rate: dict[int, Fraction] = {}
    while len(rate) < len(paths):
        users = {m: [f for f, path in enumerate(paths) if m in path and f not in rate] for m in room}
        share = {m: room[m] / len(found) for m, found in users.items() if found}
        full = min(share, key=lambda m: share[m])
        for f in users[full]:
            rate[f] = share[full]
            for m in paths[f]:
                room[m] -= share[full]
    return [rate[f] for f in range(len(paths))]


@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(st.integers(0, 5), st.integers(1, 5), st.integers(1, 40), st.integers(0, 60)),
        min_size=1,
        max_size=9,
    )
)
def test_finish_times_equal_brute_force(rows: list[tuple[int, int, int, int]]) -> None:
    """Random transfers on a ring of six, over up to three hops."""
    topology = silent(circulant(6, [1], 100e9))
    fabric = on(topology, "single-shortest")
    flows = [(src, (src + away) % 6, packets, start) for src, away, packets, start in rows]
    result = simulate("flow", staggered(6, flows), fabric, EXACT)
    paths = [fabric.routes.paths(src, dst)[0] for src, dst, _, _ in flows]
    # the law's overhead: a byte per hop before, a packet per further hop after
    byte = Fraction(1, PACKET)
    start = [flow[3] + path.hops * byte for flow, path in zip(flows, paths, strict=True)]
    finish = brute_force(
        [tuple(topology.link_id(a, b) for a, b in steps(path)) for path in paths],
        [flow[2] for flow in flows],
        start,
    )
    expected = [float(end + path.hops - 1) for end, path in zip(finish, paths, strict=True)]
    found = result.finish_s[len(flows) :] / (PACKET * 8 / 100e9)
    assert found.tolist() == pytest.approx(expected, rel=1e-9)


def steps(path: Path) -> list[tuple[int, int]]:
    return list(zip(path.nodes[:-1], path.nodes[1:], strict=True))


@settings(max_examples=30)
@given(st.permutations(range(6)), st.lists(st.integers(1, 10**8), min_size=6, max_size=6))
def test_simulators_agree_where_nothing_contends(order: list[int], sizes: list[int]) -> None:
    """On an ideal switch a permutation shares no port."""
    rows = TaskRows(TRANSFER, 6, src=np.arange(6), dst=np.array(order), size_bytes=np.array(sizes))
    none = np.zeros(0, np.int64)
    graph = task_graph_from_edges(6, [rows], none, none)
    fabric = on(ideal_switch(6, 100e9), "single-shortest")
    exact, fifo = simulate("flow", graph, fabric), simulate("analytic", graph, fabric)
    assert exact.finish_s.tolist() == pytest.approx(fifo.finish_s.tolist(), rel=1e-12)


@pytest.fixture(scope="module")
def crowd() -> TaskGraph:
    """Four hundred transfers of random sizes and starts between 16 servers."""
    rng = np.random.default_rng(7)
    src, away = rng.integers(0, 16, 400), rng.integers(1, 16, 400)
    rows = zip(src, (src + away) % 16, rng.integers(1, 500, 400), rng.integers(0, 3000, 400), strict=True)
    return staggered(16, [(int(a), int(b), int(c), int(d)) for a, b, c, d in rows])


def crowded(graph: TaskGraph, **options: float | str) -> SimResult:
    fabric = on(circulant(16, [1, 5], 100e9), "coin-change")
    return simulate("flow", graph, fabric, SimulationOptions(**options))  # type: ignore[arg-type]


def test_tolerance_moves_the_end_by_little(crowd: TaskGraph) -> None:
    exact = crowded(crowd, tolerance=0.0).iteration_time_s
    for tolerance in (1e-4, 1e-3):
        assert crowded(crowd, tolerance=tolerance).iteration_time_s == pytest.approx(
            exact, rel=20 * tolerance
        )


def test_no_transfer_is_faster_than_alone_nor_than_its_links_allow(crowd: TaskGraph) -> None:
    result = crowded(crowd)
    moves = crowd.kind == TRANSFER
    alone = occupancy_bytes(crowd.size_bytes[moves]) * 8 / 100e9
    took = (result.finish_s - result.start_s)[moves]
    # spread over at most four disjoint paths
    assert (took >= alone / 4).all()
    busiest_s = result.link_bytes_max * 8 / 100e9
    assert result.iteration_time_s >= busiest_s


def test_bytes_on_links_are_bytes_times_hops(crowd: TaskGraph) -> None:
    result = crowded(crowd)
    assert result.demanded_bytes == pytest.approx(float(crowd.size_bytes.sum()))
    hops = np.arange(len(result.hop_bytes))
    assert result.link_bytes.sum() == pytest.approx(float(result.hop_bytes @ hops))
    assert result.bandwidth_tax == pytest.approx(result.link_bytes.sum() / result.demanded_bytes)


def test_spread_and_separate_paths_carry_the_same_bytes(crowd: TaskGraph) -> None:
    spread, paths = crowded(crowd, split="spread"), crowded(crowd, split="paths")
    assert spread.link_bytes == pytest.approx(paths.link_bytes)
    assert spread.hop_pairs == pytest.approx(paths.hop_pairs)
    assert spread.iteration_time_s == pytest.approx(paths.iteration_time_s, rel=0.1)


def test_two_disjoint_paths_double_the_rate() -> None:
    links = [Link(a, b, 100e9) for a, b in ((0, 1), (1, 3), (0, 2), (2, 3))]
    fabric = on(topology_from_links("diamond", 4, links), "ecmp")
    none = np.zeros(0, np.int64)
    rows = TaskRows(TRANSFER, 1, src=0, dst=3, size_bytes=200 * PACKET)
    graph = task_graph_from_edges(4, [rows], none, none)
    # overhead over two hops as in the law, 100 packets on each path
    expected = 4e-6 + (2 + PACKET + 100 * PACKET) * 8 / 100e9
    for split in ("spread", "paths"):
        for simulator in ("analytic", "flow"):
            result = simulate(simulator, graph, fabric, SimulationOptions(split=split))
            assert result.iteration_time_s == pytest.approx(expected, rel=1e-9)


def test_the_chosen_tolerance_is_in_the_result(crowd: TaskGraph) -> None:
    assert crowded(crowd).options.tolerance == 0.0
    assert crowded(crowd, tolerance=1e-3).options.tolerance == 1e-3


def test_mistakes_are_one_line_errors(crowd: TaskGraph) -> None:
    with pytest.raises(InvalidInput, match='simulator: unknown name "flo"; did you mean flow'):
        simulate("flo", crowd, on(circulant(16, [1], 1e9), "coin-change"))
    with pytest.raises(InvalidInput, match='ring model: unknown name "bulky"'):
        SimulationOptions(ring_model="bulky")
    with pytest.raises(InvalidInput, match=r"tolerance: must be in 0 <= tolerance < 1, got 1\.5"):
        SimulationOptions(tolerance=1.5)
    one_way = topology_from_links("one-way", 2, [Link(0, 1, 1e9)])
    rows = TaskRows(TRANSFER, 1, src=1, dst=0, size_bytes=1)
    none = np.zeros(0, np.int64)
    with pytest.raises(NoRoute):
        simulate("flow", task_graph_from_edges(2, [rows], none, none), on(one_way, "single-shortest"))
