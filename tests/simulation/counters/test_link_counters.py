"""Counters read over time: by hand where one can, and what every simulator's counters have in common."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topoopt.base.errors import InvalidInput
from topoopt.collectives import PACKET_BYTES
from topoopt.finder import FabricRequest, build_fabric
from topoopt.routing import Fabric, make_routes
from topoopt.simulation import (
    COMPUTE,
    SIMULATORS,
    TRANSFER,
    SimulationOptions,
    TaskGraph,
    TaskRows,
    link_counters,
    simulate,
    task_graph_from_edges,
)
from topoopt.topologies import Topology, circulant

BANDWIDTH_BPS = 1e9
EXACT = SimulationOptions(tolerance=0.0)


def on(topology: Topology) -> Fabric:
    return Fabric("test", topology, make_routes("ecmp", topology), {})


def staggered(servers: int, flows: list[tuple[int, int, int, float]]) -> TaskGraph:
    """Return transfers (src, dst, packets, start in s), each after a timer task on a server of its own."""
    count = len(flows)
    src, dst, packets, start_s = (np.array(column) for column in zip(*flows, strict=True))
    timers = TaskRows(COMPUTE, count, start_s.astype(np.float64), server=servers + np.arange(count))
    moves = TaskRows(TRANSFER, count, src=src, dst=dst, size_bytes=packets * PACKET_BYTES)
    return task_graph_from_edges(servers + count, [timers, moves], np.arange(count), count + np.arange(count))


def chain() -> Fabric:
    """Return a ring of servers with links of 1 Gb/s."""
    return on(circulant(6, (1,), BANDWIDTH_BPS, 0.0))


def sent_at(name: str, graph: TaskGraph, fabric: Fabric, src: int, times_s: list[float]) -> list[float]:
    """Return the packets that the link of a server to the next has sent by some moments."""
    link = fabric.topology.link_id(src, src + 1)
    counters = link_counters(simulate(name, graph, fabric, EXACT), fabric, np.array([link]))
    sent = np.interp(times_s, counters.times_s, counters.sent_bytes[:, 0]) / PACKET_BYTES
    return [float(value) for value in sent]


@pytest.mark.parametrize("name", SIMULATORS)
def test_a_link_sends_at_full_rate_while_something_waits_for_it(name: str) -> None:
    second = BANDWIDTH_BPS / 8 / PACKET_BYTES
    packets = round(second / 100)  # 10 ms each
    lasts_s = packets / second
    graph = staggered(6, [(0, 1, packets, 0.0), (0, 1, packets, 0.005), (0, 1, packets, 0.05)])
    times_s = [0.004, 0.016, 2 * lasts_s + 0.001, 0.049, 0.05 + lasts_s / 2, 0.07]
    expected = [0.004 * second, 0.016 * second, 2 * packets, 2 * packets, 2.5 * packets, 3 * packets]
    assert sent_at(name, graph, chain(), 0, times_s) == pytest.approx(expected, rel=0.01)


def test_rates_of_the_flow_simulator_are_max_min_shares_on_every_link() -> None:
    # A: 0->1 of 100 packets, B: 0->1->2 of 300, C: 1->2 of 300. All have half a link until A is done, at 200 packet
    # times; B could then have all of 0->1, but shares 1->2 with C until both are done at 600.
    fabric, unit_s = chain(), PACKET_BYTES * 8 / BANDWIDTH_BPS
    graph = staggered(6, [(0, 1, 100, 0.0), (0, 2, 300, 0.0), (1, 2, 300, 0.0)])
    times_s = [100 * unit_s, 200 * unit_s, 400 * unit_s, 600 * unit_s]
    assert sent_at("flow", graph, fabric, 0, times_s) == pytest.approx([100, 200, 300, 400], rel=1e-4)
    assert sent_at("flow", graph, fabric, 1, times_s) == pytest.approx([100, 200, 400, 600], rel=1e-4)


flows = st.tuples(st.integers(0, 5), st.integers(1, 5), st.integers(1, 400), st.floats(0.0, 0.02))


@given(rows=st.lists(flows, min_size=1, max_size=8), name=st.sampled_from(sorted(SIMULATORS)))
@settings(max_examples=20)
def test_counters_end_at_what_the_simulation_counts_and_never_exceed_the_bandwidth(
    rows: list[tuple[int, int, int, float]], name: str
) -> None:
    fabric = on(circulant(6, (1, 2), BANDWIDTH_BPS))
    graph = staggered(6, [(src, (src + step) % 6, count, start_s) for src, step, count, start_s in rows])
    result = simulate(name, graph, fabric, EXACT)
    counters = link_counters(result, fabric)
    assert counters.sent_bytes[-1] == pytest.approx(result.link_bytes, rel=1e-9)
    assert counters.times_s[0] == 0
    assert counters.times_s[-1] == pytest.approx(result.finish_s.max())
    sent = np.diff(counters.sent_bytes, axis=0)
    assert (sent >= -1e-6).all()
    most = BANDWIDTH_BPS / 8 * np.diff(counters.times_s)[:, None]
    slack = 2 * PACKET_BYTES if name == "packet" else 1e-3
    assert (sent <= most * (1 + 1e-9) + slack).all()


@given(rows=st.lists(flows, min_size=1, max_size=5))
@settings(max_examples=8)
def test_a_link_of_one_server_alone_is_told_alike_by_all_simulators(
    rows: list[tuple[int, int, int, float]],
) -> None:
    fabric = chain()
    graph = staggered(6, [(0, 1, count, start_s) for _, _, count, start_s in rows])
    times_s = list(np.linspace(0, 0.05, 23))
    one, two, three = (sent_at(name, graph, fabric, 0, times_s) for name in ("analytic", "flow", "packet"))
    assert two == pytest.approx(one, rel=1e-3, abs=0.01)
    assert three == pytest.approx(one, rel=0.02, abs=8)


def test_chosen_links_are_columns_of_all() -> None:
    fabric = on(circulant(6, (1, 2), BANDWIDTH_BPS))
    result = simulate("flow", staggered(6, [(0, 2, 50, 0.0), (3, 4, 70, 0.001)]), fabric)
    every, some = link_counters(result, fabric), link_counters(result, fabric, np.array([6, 0]))
    np.testing.assert_allclose(some.sent_bytes, every.sent_bytes[:, [6, 0]])


def test_circuits_that_change_have_no_profile() -> None:
    fabric = build_fabric("ocs-reconfig", FabricRequest(6, 2, BANDWIDTH_BPS))
    graph = staggered(6, [(0, 1, 5, 0.0)])
    result = simulate("flow", graph, fabric)
    with pytest.raises(InvalidInput, match="its circuits change within an iteration"):
        link_counters(result, fabric)
