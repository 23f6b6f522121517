"""The flow simulator on circuits that change: small schedules by hand, and what always holds."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topoopt.base.arrays import Floats, Ints
from topoopt.base.errors import Infeasible, InvalidInput
from topoopt.catalog import ClusterSpec
from topoopt.collectives import occupancy_bytes
from topoopt.finder import (
    FabricRequest,
    FabricShape,
    FinderRules,
    build_fabric,
    demand_circuits,
    find_topology,
    reconfigurable_fabric,
    rewired,
)
from topoopt.jobs import JobSettings, make_job, operators_of
from topoopt.routing import Fabric, Reconfiguration, make_routes
from topoopt.simulation import (
    COLLECTIVE,
    COLLECTIVES,
    COMPUTE,
    TRANSFER,
    IterationCosts,
    SimResult,
    SimulationOptions,
    TaskGraph,
    TaskRows,
    build_task_graph,
    simulate,
    task_graph_from_edges,
)
from topoopt.simulation.fluid import reconfigurable as play
from topoopt.workloads import load_model
from topoopt.workloads.strategy import data_parallel, extract_traffic

NOTHING = np.zeros(0, np.int64)
PACKET = 8936
RATE = 100e9 / 8
HOP = 1e-6
OPENING = 8 / 100e9 + HOP  # a byte and a hop
NEVER = float("inf")
RULE = Reconfiguration(
    1, 100e9, HOP, delay_s=1e-3, live_s=4e-3, first_change_s=0.0, duplex=True, host_forwarding=False
)


def moves(servers: int, *transfers: tuple[int, int, int]) -> TaskGraph:
    """Return transfers (src, dst, packets) that all begin at once."""
    src, dst, packets = (np.array(column, np.int64) for column in zip(*transfers, strict=True))
    rows = TaskRows(TRANSFER, len(src), src=src, dst=dst, size_bytes=packets * PACKET)
    return task_graph_from_edges(servers, [rows], NOTHING, NOTHING)


def allreduce(members: tuple[int, ...], size_bytes: int) -> TaskGraph:
    kind = COLLECTIVES.index("allreduce")
    rows = TaskRows(COLLECTIVE, 1, size_bytes=size_bytes, collective=kind, members=(members,))
    return task_graph_from_edges(len(members), [rows], NOTHING, NOTHING)


def everyone_to_everyone(servers: int, packets: int) -> TaskGraph:
    pairs = [(a, b) for a in range(servers) for b in range(servers) if a != b]
    return moves(servers, *((a, b, packets * (1 + (3 * a + 5 * b) % 7)) for a, b in pairs))


def flow(graph: TaskGraph, fabric: Fabric, tolerance: float | None = 0.0) -> SimResult:
    return simulate("flow", graph, fabric, SimulationOptions(tolerance=tolerance))


def fabric_of(servers: int, rule: Reconfiguration) -> Fabric:
    return reconfigurable_fabric("ocs-reconfig", servers, rule)


def test_what_is_done_before_the_first_change_sees_none() -> None:
    graph = moves(2, (0, 1, 1000))
    found = flow(graph, fabric_of(2, replace(RULE, first_change_s=0.01)))
    assert found.finish_s[0] == pytest.approx(OPENING + 1000 * PACKET / RATE + HOP, rel=1e-12)


def test_a_change_under_way_costs_its_delay() -> None:
    graph = moves(2, (0, 1, 1000))  # 0.7 ms on the link
    found = flow(graph, fabric_of(2, replace(RULE, first_change_s=0.5e-3)))
    assert found.finish_s[0] == pytest.approx(OPENING + 1000 * PACKET / RATE + HOP + 1e-3, rel=1e-12)


def test_what_is_on_the_wire_when_a_change_begins_arrives() -> None:
    last_byte_s = OPENING + 1000 * PACKET / RATE
    found = flow(moves(2, (0, 1, 1000)), fabric_of(2, replace(RULE, first_change_s=last_byte_s + HOP / 2)))
    assert found.finish_s[0] == pytest.approx(last_byte_s + HOP, rel=1e-12)


def test_the_heavy_pair_is_served_first_and_the_light_one_after_the_next_change() -> None:
    """Degree 1: 0 has a circuit to 1 or to 2. Changes begin at 0 and 5 ms, circuits live from 1 and 6 ms on."""
    found = flow(moves(4, (0, 1, 3000), (0, 2, 1000)), fabric_of(4, RULE))
    heavy_s, light_s = 3000 * PACKET / RATE, 1000 * PACKET / RATE
    assert heavy_s < RULE.live_s
    assert found.finish_s == pytest.approx([1e-3 + heavy_s + HOP, 6e-3 + light_s + HOP], rel=1e-12)


def test_a_transfer_goes_on_where_it_was_stopped() -> None:
    """9000 packets are 6.4 ms of sending: 4 ms in the first live time, the rest in the next."""
    found = flow(moves(4, (0, 1, 9000)), fabric_of(4, RULE))
    assert found.finish_s[0] == pytest.approx(6e-3 + (9000 * PACKET / RATE - 4e-3) + HOP, rel=1e-12)


def test_demand_is_what_is_left() -> None:
    """0-1 begins as the heavier, but after 4 ms has less left than 0-2 and waits for the third change."""
    packets_in_4_ms = 4e-3 * RATE / PACKET
    found = flow(moves(3, (0, 1, 7000), (0, 2, 6000)), fabric_of(3, RULE))
    assert 7000 - packets_in_4_ms < 6000
    one = 11e-3 + (7000 - packets_in_4_ms) * PACKET / RATE + HOP
    # 0-2 sends 4 ms from 6 ms on and has 405 packets left, fewer than 0-1: it waits for the fourth
    two = 16e-3 + (6000 - packets_in_4_ms) * PACKET / RATE + HOP
    assert found.finish_s == pytest.approx([one, two], rel=1e-12)


def test_two_circuits_of_a_pair_are_twice_as_fast() -> None:
    found = flow(moves(2, (0, 1, 3000)), fabric_of(2, replace(RULE, degree=2)))
    assert found.finish_s[0] == pytest.approx(1e-3 + 3000 * PACKET / (2 * RATE) + HOP, rel=1e-12)


def test_a_change_that_finds_nothing_to_send_does_not_take_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second of compute at a beat of 5 µs, then a transfer that meets the next change on the beat."""
    changes = []

    def watched(demand: Floats, rule: Reconfiguration) -> Ints:
        changes.append(demand)
        return demand_circuits(demand, rule)

    monkeypatch.setattr(play, "demand_circuits", watched)
    rows = [TaskRows(COMPUTE, 1, 1.000_001, server=0), TaskRows(TRANSFER, 1, src=0, dst=1, size_bytes=PACKET)]
    graph = task_graph_from_edges(2, rows, np.array([0]), np.array([1]))
    rule = replace(RULE, delay_s=1e-6, live_s=4e-6, first_change_s=1e-6)
    found = flow(graph, fabric_of(2, rule))
    # ready exactly when a change begins, and so demand; opening is over 80 ps after the change is
    assert len(changes) == 1
    assert found.finish_s[1] == pytest.approx(1.000_001 + OPENING + PACKET / RATE + HOP, abs=1e-12)


@settings(max_examples=25)
@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(1, 5), st.integers(1, 400)), min_size=1, max_size=12),
    st.integers(0, 3),
)
def test_circuits_that_never_change_are_a_fabric_wired_for_good(
    rows: list[tuple[int, int, int]], seed: int
) -> None:
    graph = moves(6, *((src, (src + away) % 6, packets) for src, away, packets in rows))
    circuits = fabric_of(
        6, replace(RULE, degree=3, delay_s=0.0, first_change_s=NEVER, host_forwarding=True, seed=seed)
    )
    routes = make_routes("ecmp", circuits.topology)
    wired = Fabric("test", circuits.topology, routes, {})
    found, expected = flow(graph, circuits), flow(graph, wired)
    assert found.finish_s == pytest.approx(expected.finish_s, rel=1e-9)
    assert found.iteration_time_s == pytest.approx(expected.iteration_time_s, rel=1e-9)
    assert found.bandwidth_tax == pytest.approx(expected.bandwidth_tax)
    assert found.hop_pairs == pytest.approx(expected.hop_pairs)
    place = circuits.topology.src * 6 + circuits.topology.dst
    assert found.link_bytes[place] == pytest.approx(expected.link_bytes)
    assert found.link_bytes.sum() == pytest.approx(expected.link_bytes.sum())


@pytest.mark.parametrize("ring_model", ["stepped", "bulk"])
def test_an_allreduce_goes_both_ways_around_on_duplex_circuits(ring_model: str) -> None:
    """Two rings of half the tensor each: 2(k-1) rounds of a connection, or one of all bytes."""
    members, size = 8, 8 * 2 * 500 * PACKET
    around = np.roll(np.eye(members, dtype=np.int64), 1, axis=1)
    rule = replace(RULE, degree=2, first_change_s=NEVER)
    fabric = rewired(fabric_of(members, rule), around + around.T)
    found = simulate("flow", allreduce(tuple(range(members)), size), fabric, SimulationOptions(ring_model))
    rounds = 2 * (members - 1)
    connections = rounds if ring_model == "stepped" else 1
    expected = connections * (OPENING + HOP) + rounds * 500 * PACKET / RATE
    assert found.finish_s[0] == pytest.approx(expected, rel=1e-9)
    assert found.demanded_bytes == pytest.approx(rounds * size)


def test_a_round_waits_for_its_slowest_edge() -> None:
    """One circuit each, one way. A ring of 4 gets its 4; with a rival, half of it is always one change behind."""
    rule = replace(RULE, duplex=False)
    ring = allreduce((0, 1, 2, 3), 400 * PACKET)
    alone = flow(ring, reconfigurable_fabric("sip-ml", 4, rule))
    # six rounds of 100 packets; the first connections are open when the circuits are there
    assert alone.finish_s[0] == pytest.approx(1e-3 + 6 * (100 * PACKET / RATE + HOP) + 5 * OPENING, rel=1e-12)
    kind = COLLECTIVES.index("allreduce")
    rows = [
        TaskRows(COLLECTIVE, 1, size_bytes=400 * PACKET, collective=kind, members=((0, 1, 2, 3),)),
        TaskRows(TRANSFER, 1, src=0, dst=2, size_bytes=5000 * PACKET),
    ]
    both = flow(task_graph_from_edges(4, rows, NOTHING, NOTHING), reconfigurable_fabric("sip-ml", 4, rule))
    # the transfer takes the circuits of 0->1 and 1->2 for 3.57 ms
    assert both.finish_s[1] == pytest.approx(1e-3 + 5000 * PACKET / RATE + HOP, rel=1e-12)
    # they end round 1 after the change at 5 ms, when 2->3 and 3->0 have nothing to send and lose theirs; these end
    # round 2 after the change at 10 ms, and so on: round 6 ends after the change at 30 ms
    assert both.finish_s[0] == pytest.approx(31e-3 + 100 * PACKET / RATE + HOP, rel=1e-12)


@pytest.mark.parametrize("forwarding", [True, False])
def test_a_longer_delay_makes_a_longer_iteration(forwarding: bool) -> None:
    graph = everyone_to_everyone(6, 1000)
    times = []
    for delay_s in (1e-5, 1e-4, 1e-3, 1e-2, 1e-1):
        fabric = build_fabric(
            "ocs-reconfig",
            FabricRequest(6, 2, 100e9, shape=FabricShape(delay_s=delay_s, host_forwarding=forwarding)),
        )
        times.append(flow(graph, fabric, None).iteration_time_s)
    if forwarding:  # the start is wired as well as any; only what changes meanwhile costs
        assert times[0] < times[-1]
    else:
        assert times == sorted(times)
        assert times[-1] > 10 * times[0]


@settings(max_examples=25)
@given(
    st.integers(3, 7),
    st.integers(2, 3),
    st.sampled_from(["forward", "duplex", "one way"]),
    st.sampled_from([1e-5, 1e-4, 1e-3]),
    st.integers(0, 100),
)
def test_all_that_is_demanded_is_carried(
    servers: int, degree: int, kind: str, delay_s: float, seed: int
) -> None:
    """And everybody is served in the end."""
    rng = np.random.default_rng(seed)
    count = 20
    src = rng.integers(0, servers, count)
    dst = (src + rng.integers(1, servers, count)) % servers
    size = rng.integers(1, 3_000_000, count)
    rows = TaskRows(TRANSFER, count, src=src, dst=dst, size_bytes=size)
    ring = TaskRows(COLLECTIVE, 1, size_bytes=5_000_000, collective=0, members=(tuple(range(servers)),))
    graph = task_graph_from_edges(servers, [rows, ring], np.arange(10), np.arange(10, 20))
    rule = replace(
        RULE, degree=degree, delay_s=delay_s, live_s=4 * delay_s, seed=seed,
        duplex=kind != "one way", host_forwarding=kind == "forward",
    )  # fmt: skip
    found = flow(graph, fabric_of(servers, rule))
    assert np.isfinite(found.finish_s).all()
    chunk = 5_000_000 // servers if kind == "one way" else 5_000_000 // (2 * servers)
    rings = 1 if kind == "one way" else 2
    demanded = float(size.sum()) + rings * servers * 2 * (servers - 1) * chunk
    assert found.demanded_bytes == pytest.approx(demanded)
    assert found.hop_bytes.sum() == pytest.approx(demanded, rel=1e-9)
    crossed = float(found.hop_bytes @ np.arange(len(found.hop_bytes)))
    assert found.link_bytes.sum() == pytest.approx(crossed, rel=1e-9)
    if kind != "forward":
        wanted = np.bincount(src * servers + dst, size, minlength=servers**2)
        for a in range(servers):
            for b in {(a + 1) % servers, (a - 1) % servers} if rings == 2 else {(a + 1) % servers}:
                wanted[a * servers + b] += 2 * (servers - 1) * chunk
        assert found.link_bytes == pytest.approx(wanted, rel=1e-9)
        assert found.bandwidth_tax == pytest.approx(1)


def test_no_link_carries_more_than_it_can() -> None:
    """On circuits that are dark a fifth of the time, degree × 0.8 of a link leaves each server at the most."""
    graph = everyone_to_everyone(6, 3000)
    fabric = fabric_of(6, replace(RULE, degree=2, delay_s=1e-4, live_s=4e-4))
    found = flow(graph, fabric)
    sent = found.link_bytes.reshape(6, 6).sum(axis=1).max()
    assert found.iteration_time_s > sent / (2 * RATE) / 0.8
    whole = occupancy_bytes(graph.size_bytes).sum() / graph.size_bytes.sum()
    assert whole == pytest.approx(1)  # else payload would understate the load


@pytest.mark.parametrize(
    ("name", "what", "most"),
    [
        ("ocs-reconfig", "all-to-all", 2e-3),
        ("sip-ml", "all-to-all", 2e-3),
        ("sip-ml", "ring", 2e-3),
        ("ocs-reconfig", "ring", 0.2),
    ],
)
def test_flows_and_packets_agree_where_servers_do_not_forward(name: str, what: str, most: float) -> None:
    """Measured: 0.02, 0.02, 0.04 and 14 %. Equal edges of two rings tie, and a packet decides who gets a circuit."""
    graph = everyone_to_everyone(6, 500) if what == "all-to-all" else allreduce(tuple(range(6)), 2**27)
    fabric = build_fabric(
        name, FabricRequest(6, 2, 100e9, shape=FabricShape(delay_s=1e-4, host_forwarding=False))
    )
    times = [simulate(simulator, graph, fabric).iteration_time_s for simulator in ("flow", "packet")]
    assert times[0] == pytest.approx(times[1], rel=most)


def test_equal_inputs_give_equal_results() -> None:
    graph = everyone_to_everyone(6, 500)
    once, twice = (flow(graph, fabric_of(6, replace(RULE, degree=3, seed=7))) for _ in range(2))
    np.testing.assert_array_equal(once.finish_s, twice.finish_s)
    np.testing.assert_array_equal(once.link_bytes, twice.link_bytes)


def test_a_pair_that_never_gets_a_circuit_is_an_error_and_no_endless_wait() -> None:
    fabric = rewired(
        fabric_of(4, replace(RULE, first_change_s=NEVER)), np.eye(4, dtype=np.int64)[[1, 0, 3, 2]]
    )
    with pytest.raises(Infeasible, match="0->2 waits for a circuit for ever"):
        flow(moves(4, (0, 1, 10), (0, 2, 10)), fabric)


def test_a_live_time_that_the_clock_cannot_tell_is_an_error() -> None:
    fabric = fabric_of(2, replace(RULE, live_s=1e-20, first_change_s=1e-5))
    with pytest.raises(Infeasible, match="less than the clock can tell"):
        flow(moves(2, (0, 1, 1000)), fabric)


def test_the_analytic_simulator_refuses_and_names_the_remedy() -> None:
    with pytest.raises(InvalidInput, match="simulator=flow"):
        simulate("analytic", moves(2, (0, 1, 10)), fabric_of(2, RULE))


@pytest.mark.parametrize("split", ["paths", "one"])
def test_transfers_cannot_keep_to_paths_that_change(split: str) -> None:
    with pytest.raises(InvalidInput, match=f"split: .* got {split}; use spread"):
        simulate("flow", moves(2, (0, 1, 10)), fabric_of(2, RULE), SimulationOptions(split=split))


def test_nothing_to_send_needs_no_circuits() -> None:
    rows = [
        TaskRows(COMPUTE, 2, np.array([0.5, 0.25]), server=np.array([0, 0])),
        TaskRows(TRANSFER, 1, src=1, dst=1, size_bytes=10),
    ]
    found = flow(task_graph_from_edges(2, rows, np.array([1]), np.array([2])), fabric_of(2, RULE))
    assert found.finish_s.tolist() == [0.5, 0.75, 0.75]
    assert found.bandwidth_tax == 1


@pytest.fixture(scope="module")
def dlrm() -> tuple[TaskGraph, float]:
    """DLRM on 16 servers, and its time on the topology found for it."""
    cluster = ClusterSpec(16, degree=4, link_bandwidth_bps=100e9)
    job = make_job(load_model("dlrm", servers=16), cluster, JobSettings(memory_check="off"))
    strategy = data_parallel(operators_of(job).graph, 16)
    traffic = extract_traffic(operators_of(job).graph, strategy, job.global_batch)
    once = find_topology(traffic, degree=4, bandwidth_bps=100e9, rules=FinderRules("all-to-allreduce"))
    graph = build_task_graph(
        operators_of(job).graph,
        strategy,
        operators_of(job).timer,
        IterationCosts(cluster.accelerators_per_server),
    )
    return graph, simulate("flow", graph, once).iteration_time_s


def test_slow_switching_is_far_worse_than_wiring_once_and_microseconds_catch_up(
    dlrm: tuple[TaskGraph, float],
) -> None:
    """The trend of the paper's sweep of the delay, from memory of the paper, unconfirmed."""
    graph, once_s = dlrm
    time_s = {}
    for delay_s in (10e-3, 10e-6):
        for forwarding in (True, False):
            fabric = build_fabric(
                "ocs-reconfig",
                FabricRequest(16, 4, 100e9, shape=FabricShape(delay_s=delay_s, host_forwarding=forwarding)),
            )
            time_s[delay_s, forwarding] = flow(graph, fabric, None).iteration_time_s
    assert time_s[10e-3, True] > 3 * once_s
    assert time_s[10e-3, False] > 10 * time_s[10e-3, True]  # forwarding helps when switching is slow
    assert time_s[10e-6, True] < 1.4 * once_s
    assert time_s[10e-6, False] < 1.4 * once_s
