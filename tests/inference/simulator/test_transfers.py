"""Caches that cross the links of a fabric: beside the project's flow simulator, closed forms, and links that fail."""

from dataclasses import replace

import numpy as np
import pytest

from tests.inference.tables import SMALL, constant_table, replicas
from tests.simulation.test_flow import EXACT, PACKET, on, silent
from topoopt.base.arrays import Floats
from topoopt.base.errors import Infeasible
from topoopt.inference import (
    Failure,
    Fleet,
    Requests,
    ServingRun,
    Transfer,
    draw_requests,
    parse_arrivals,
    parse_lengths,
    simulate_serving,
    uniform_transfer,
)
from topoopt.inference.network.placement import laid_routes
from topoopt.inference.simulator import Outage, TransferRoutes
from topoopt.inference.simulator.kernel.layout import Request, Time
from topoopt.routing import Fabric
from topoopt.simulation import COMPUTE, TRANSFER, TaskRows, simulate, task_graph_from_edges
from topoopt.topologies import circulant

SERVERS = 6


def one_link(pairs: int, bytes_per_s: float, layers: int = 1) -> Transfer:
    """Return transfers from ``pairs`` replicas to one, all over one link."""
    count = pairs + 1
    first = np.arange(count * count + 1)
    routes = TransferRoutes(
        first, np.zeros(count * count, np.int64), np.ones(count * count), np.array([bytes_per_s])
    )
    return replace(uniform_transfer(count, 0.0, 1e15, 1.0, layers), routes=routes)


def on_fabric(fabric: Fabric, bytes_per_token: float) -> Transfer:
    """Return transfers between replicas that are a server each."""
    rows = laid_routes(fabric.topology, fabric.routes).rows
    way = uniform_transfer(SERVERS, 0.0, 1e15, bytes_per_token)
    routes = TransferRoutes(
        rows.pair_first.astype(np.int64),
        rows.link.astype(np.int64),
        rows.share.astype(float),
        fabric.topology.bandwidth_bps / 8,
    )
    return replace(way, routes=routes)


def sent_and_there(run: ServingRun) -> tuple[Floats, Floats]:
    return run.state.time[:, Time.READ], run.state.time[:, Time.ARRIVED]


@pytest.mark.parametrize("routing", ["single-shortest", "ecmp"])
def test_caches_arrive_when_the_flow_simulator_says(routing: str) -> None:
    """The same transfers, each begun when its prompt was read, on a ring of six servers of two ports."""
    fabric = on(silent(circulant(SERVERS, [1], 100e9)), routing)
    way = on_fabric(fabric, 40.0 * PACKET)
    pool = replicas(constant_table(2.0**-10), 3, batch=4, budget=300)
    rng = np.random.default_rng(1)
    count = 60
    asked = Requests(
        np.sort(rng.uniform(0, 0.02, count)), rng.integers(20, 300, count), rng.integers(2, 9, count)
    )
    run = simulate_serving(Fleet("disaggregated", pool, pool, router="round-robin", transfer=way), asked)
    read, there = sent_and_there(run)
    rows = run.state.request
    timers = TaskRows(COMPUTE, count, read, server=SERVERS + np.arange(count))
    moves = TaskRows(
        TRANSFER,
        count,
        src=rows[:, Request.SOURCE],
        dst=rows[:, Request.REPLICA],
        size_bytes=asked.input_tokens * 40 * PACKET,
    )
    graph = task_graph_from_edges(
        SERVERS + count, [timers, moves], np.arange(count), count + np.arange(count)
    )
    expected = simulate("flow", graph, fabric, EXACT).finish_s[count:]
    # that one has a packet on each further hop of its own, 0.7 µs
    assert there - read == pytest.approx(expected - read, rel=1e-3, abs=5e-6)
    assert (there - read).max() > 2 * (asked.input_tokens * 40 * PACKET / (100e9 / 8)).max()  # they do share


def test_transfers_that_begin_together_share_a_link() -> None:
    """Of sizes a <= b <= c on one link: 3a, then 2(b - a) later, then c - b later."""
    readers = replicas(constant_table(1.0), 3)
    asked = Requests(np.zeros(3), np.array([100, 200, 400]), np.array([2, 2, 2]))
    run = simulate_serving(
        Fleet(
            "disaggregated",
            replicas(constant_table(1.0)),
            readers,
            router="round-robin",
            transfer=one_link(3, 100.0),
        ),
        asked,
    )
    assert run.transfer_s.tolist() == [3.0, 5.0, 7.0]


@pytest.mark.parametrize("busy", [0.3, 0.7])
def test_a_shared_link_is_a_processor_that_all_share(busy: float) -> None:
    """M/G/1-PS: D/(1-ρ) on average, whatever the sizes; prompts are read in no time by many."""
    count, size = 40_000, 64
    readers = replicas(constant_table(1e-9), 1, batch=1024, budget=10**6)
    sink = replicas(constant_table(1e-9), 1, batch=4096)
    asked = draw_requests(
        parse_arrivals("poisson"), count, busy, parse_lengths(size, "isl"), parse_lengths(2, "osl"), 5
    )
    run = simulate_serving(Fleet("disaggregated", sink, readers, transfer=one_link(1, float(size))), asked)
    own = busy * run.requests.rate_per_s / busy
    assert run.transfer_s.mean() == pytest.approx(1 / (1 - own), rel=0.02)


def test_layers_of_one_alone_take_as_long_as_at_idle_ends() -> None:
    """max(b/l, b - p (l-1)/l), on a link as between two ends."""
    asked = Requests(np.zeros(1), np.array([1024]), np.array([2]))
    for bytes_per_s in (1e5, 1e3):
        link, ends = (
            simulate_serving(Fleet("disaggregated", replicas(SMALL), replicas(SMALL), transfer=way), asked)
            for way in (one_link(1, bytes_per_s, 8), uniform_transfer(2, 0.0, bytes_per_s, 1.0, 8))
        )
        assert link.transfer_s == pytest.approx(ends.transfer_s, rel=1e-12)


def test_a_router_that_knows_the_links_goes_round_a_full_one() -> None:
    """Two readers share a link to the first that answers and have links of their own to the second."""
    first, link = np.zeros(17, np.int64), []
    for pair in range(16):
        source, end = divmod(pair, 4)
        if source < 2 <= end:
            link.append(0 if end == 2 else 1 + source)
        first[pair + 1] = len(link)
    routes = TransferRoutes(first, np.array(link), np.ones(len(link)), np.array([1e6, 1e7, 1e7]))
    way = replace(uniform_transfer(4, 0.0, 1e15, 1e4), routes=routes)
    asked = draw_requests(
        parse_arrivals("poisson"), 200, 2.0, parse_lengths(512, "isl"), parse_lengths(8, "osl"), 0
    )
    aware, blind = (
        simulate_serving(
            Fleet("disaggregated", replicas(SMALL, 2), replicas(SMALL, 2), router=router, transfer=way), asked
        )
        for router in ("network-aware", "round-robin")
    )
    assert aware.ttft_s.mean() < 0.8 * blind.ttft_s.mean()


def test_who_may_send_to_whom_is_kept_while_they_are_up() -> None:
    allowed = np.zeros((4, 4), bool)
    allowed[0, 2] = allowed[1, 3] = True
    way = replace(uniform_transfer(4, 1e-3, 1e9, 1e4), allowed=allowed)
    asked = draw_requests(
        parse_arrivals("poisson"), 100, 3.0, parse_lengths(256, "isl"), parse_lengths(8, "osl"), 0
    )
    for router in ("round-robin", "least-loaded", "network-aware"):
        fleet = Fleet("disaggregated", replicas(SMALL, 2), replicas(SMALL, 2), router=router, transfer=way)
        rows = simulate_serving(fleet, asked).state.request
        assert (rows[:, Request.REPLICA] == rows[:, Request.SOURCE] + 2).all()
        broken = replace(fleet, failures=(Failure(2, 0.0, 1e6),))
        rows = simulate_serving(broken, asked).state.request
        assert (rows[:, Request.REPLICA] == 3).all()


def test_transfers_wait_while_a_link_is_down() -> None:
    readers = replicas(constant_table(1.0))
    asked = Requests(np.zeros(1), np.array([400]), np.array([2]))
    way = one_link(1, 100.0)
    run = simulate_serving(
        Fleet(
            "disaggregated",
            readers,
            readers,
            transfer=way,
            outages=(Outage((0,), 2.0, 12.0), Outage((0,), 4.0, 13.0)),
        ),
        asked,
    )
    assert run.transfer_s.tolist() == [
        4.0 + 11.0
    ]  # one second of it before, 11 s of two outages, three after


def test_requests_that_nobody_will_answer_are_said() -> None:
    asked = Requests(np.zeros(3), np.array([400] * 3), np.array([2] * 3))
    with pytest.raises(
        Infeasible, match="3 of 3 are never answered: replicas or links that they need never come back"
    ):
        simulate_serving(Fleet("chunked", replicas(SMALL), failures=(Failure(0, 0.0),)), asked)
