"""Transports on one bottleneck do what their papers and RFCs derive: sawtooths, shares, queues, rates."""

from typing import Any

import numpy as np
import pytest

from tests.simulation.packet.engine import (
    GBPS,
    PACKET,
    Engine,
    Trace,
    dumbbell,
    engine,
    packet_s,
    switch,
    transfers,
    watched,
)
from topoopt.simulation.packet.kernel import layout
from topoopt.simulation.packet.kernel.reno import EPOCH, LARGEST, ORIGIN, RISE


def on_a_dumbbell(
    flows: int, bandwidth_bps: float, rtt_s: float, seconds: float, apart_s: float = 0.0, **options: Any
) -> Engine:
    """Flows that each would need all the time at the full rate, acknowledged on the way back."""
    fabric = dumbbell(flows, bandwidth_bps, rtt_s)
    size = round(seconds * bandwidth_bps / 8)
    graph = transfers(
        2 * flows,
        *((i, flows + i, size) for i in range(flows)),
        start_s=tuple(apart_s * i for i in range(flows)),
    )
    return engine(graph, fabric, acks="reverse", **options)


def bottleneck(run: Engine) -> int:
    switches = run.fabric.topology.servers
    return run.link(switches, switches + 1)


# Reno: a packet more each round trip, half the window after a loss, so from W/2 to W in W/2 round trips
IN_FLIGHT, BUFFER_PACKETS = 100, 5
RTT_S = IN_FLIGHT * packet_s(GBPS)


@pytest.fixture(scope="module")
def sawtooth() -> Trace:
    run = on_a_dumbbell(
        1, GBPS, RTT_S, 6.0, transport="reno", buffer_packets=BUFFER_PACKETS + 1, timeout_min_s=0.2
    )
    return watched(run, bottleneck(run), 1, 1.0, 5.5, RTT_S / 4)


def test_the_window_is_cut_where_it_fills_the_way_and_the_buffer(sawtooth: Trace) -> None:
    peaks = sawtooth.window[sawtooth.cuts(), 0, layout.Window.CWND]
    assert len(peaks) > 8
    # the first packet too many is sent when the window is one more; its loss is heard a round trip later
    assert peaks == pytest.approx(IN_FLIGHT + BUFFER_PACKETS + 2, abs=1.5)


def test_the_period_is_half_the_window_in_round_trips(sawtooth: Trace) -> None:
    cuts = sawtooth.cuts()
    period_s = np.diff(sawtooth.time_s[cuts]).mean()
    peak = sawtooth.window[cuts, 0, layout.Window.CWND].mean()
    # the window stands still for two more, while the first loss and those of the round trip in which it was heard
    # are made good; packets on the wire (1.2 %) and the buffer (5 % of the last rounds) lengthen a round trip
    assert period_s == pytest.approx((peak / 2 + 2) * RTT_S, rel=0.04)


def test_the_mean_window_is_three_quarters_of_the_largest(sawtooth: Trace) -> None:
    cuts = sawtooth.cuts()
    whole = sawtooth.window[cuts[0] + 1 : cuts[-1] + 1, 0, layout.Window.CWND]
    assert whole.mean() == pytest.approx(0.75 * sawtooth.window[cuts, 0, layout.Window.CWND].mean(), rel=0.02)
    assert sawtooth.utilization == pytest.approx(whole.mean() / IN_FLIGHT, rel=0.05)


def test_equal_round_trips_get_equal_shares() -> None:
    run = on_a_dumbbell(4, GBPS, 2e-3, 6.0, 0.05, transport="reno", buffer_packets=29, timeout_min_s=0.2)
    trace = watched(run, bottleneck(run), 4, 1.0, 6.0, 2e-3)
    assert trace.share == pytest.approx([0.25] * 4, rel=0.2)
    assert trace.utilization > 0.97


def test_a_mark_does_what_a_loss_does_without_the_loss() -> None:
    run = on_a_dumbbell(1, GBPS, 2e-3, 4.0, transport="reno", mark_packets=28.0)
    trace = watched(run, bottleneck(run), 1, 1.0, 3.5, 0.5e-3)
    assert run.state.count[layout.Count.DROPPED] == 0
    assert run.state.count[layout.Count.RESENT] == 0
    cwnd = trace.window[:, 0, layout.Window.CWND]
    in_flight = 2e-3 / packet_s(GBPS)
    assert cwnd.max() == pytest.approx(in_flight + 28, rel=0.06)
    assert cwnd.min() == pytest.approx(cwnd.max() / 2, rel=0.04)
    assert trace.utilization > 0.99


# RFC 9438: 0.7 of the window after a loss, and back at it after cbrt(0.3 W / 0.4) seconds.


@pytest.fixture(scope="module")
def cubes() -> Trace:
    # 280 packets in flight and a round trip long enough for the cubic law, not its Reno-friendly part
    run = on_a_dumbbell(1, 100e6, 0.2, 60.0, transport="cubic", buffer_packets=71, timeout_min_s=1.0)
    return watched(run, bottleneck(run), 1, 10.0, 58.0, 0.02)


def test_the_window_is_cut_to_seven_tenths(cubes: Trace) -> None:
    cuts = cubes.cuts()
    assert len(cuts) >= 4
    cwnd = cubes.window[:, 0, layout.Window.CWND]
    assert cwnd[cuts + 1] == pytest.approx(0.7 * cwnd[cuts], rel=5e-3)
    assert cwnd[cuts] == pytest.approx(0.2 / packet_s(100e6) + 70, rel=0.03)


def test_it_is_back_at_its_old_size_when_the_cube_root_says(cubes: Trace) -> None:
    cuts = cubes.cuts()
    passed = 0
    for cut, after in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True):
        begun = cut + int(np.argmax(cubes.window[cut:, 0, EPOCH] > cubes.time_s[cut] * 1e12))
        state = cubes.window[begun, 0]
        peak, before = cubes.window[cut, 0, layout.Window.CWND], cubes.window[cut, 0, LARGEST]
        # fast convergence: a flow that was cut below its last peak leaves room to others
        origin = peak if peak >= before else 0.85 * peak
        assert state[ORIGIN] == pytest.approx(origin, rel=0.01)
        root_s = ((state[ORIGIN] - 0.7 * peak) / 0.4) ** (1 / 3)
        assert state[RISE] == pytest.approx(root_s, rel=0.01)
        there = int(np.searchsorted(cubes.time_s, state[EPOCH] * 1e-12 + root_s))
        if there < after:  # else the buffer overflowed just before
            passed += 1
            assert cubes.window[there, 0, layout.Window.CWND] == pytest.approx(origin, abs=1.0)
    assert passed >= 2


def test_short_round_trips_grow_like_reno() -> None:
    """At 2 ms the cubic law would need 2.8 s for what Reno does in 100 round trips with a step of 0.53."""
    run = on_a_dumbbell(1, GBPS, 2e-3, 4.0, transport="cubic", buffer_packets=29, timeout_min_s=0.2)
    trace = watched(run, bottleneck(run), 1, 1.0, 3.5, 0.5e-3)
    cuts = trace.cuts()
    peak = trace.window[cuts, 0, layout.Window.CWND].mean()
    # 0.3 W at 0.53 packets a round trip, which is as long as the packets of the window take
    rounds = 0.3 * peak / (3 * 0.3 / 1.7)
    period_s = np.diff(trace.time_s[cuts]).mean()
    assert period_s == pytest.approx((rounds + 1) * 0.85 * peak * packet_s(GBPS), rel=0.1)


# Marks above K keep the queue there: at most K + N, and the sawtooth below is sqrt(2 N (C RTT + K)) / 2.

SHORT_RTT_S, THRESHOLD, FLOWS = 2e-3, 20, 2


def dctcp_trace(transport: str) -> Trace:
    run = on_a_dumbbell(
        FLOWS, GBPS, SHORT_RTT_S, 3.0, 0.01, transport=transport, mark_packets=float(THRESHOLD)
    )
    return watched(run, bottleneck(run), FLOWS, 0.5, 2.5, SHORT_RTT_S / 20)


def test_the_queue_stays_at_the_threshold() -> None:
    trace = dctcp_trace("dctcp-rfc8257")
    in_flight = SHORT_RTT_S / packet_s(GBPS)
    swing = np.sqrt(2 * FLOWS * (in_flight + THRESHOLD)) / 2
    assert trace.waiting.max() <= THRESHOLD + FLOWS + 1
    assert THRESHOLD - swing <= trace.waiting.mean() <= THRESHOLD + FLOWS
    # flows out of step swing less; in step each is cut a round trip later than the paper's fluid
    assert trace.waiting.min() >= THRESHOLD - 2 * swing
    assert trace.utilization > 0.999


@pytest.mark.parametrize("transport", ["dctcp", "dctcp-rfc8257"])
def test_two_flows_share_equally_and_keep_the_link_busy(transport: str) -> None:
    trace = dctcp_trace(transport)
    assert trace.share == pytest.approx([0.5, 0.5], abs=0.05)
    assert trace.utilization > 0.999
    assert trace.waiting.max() <= THRESHOLD + FLOWS + 1


# Rates meet, the queue lies between the two thresholds of marking, and nothing is lost.


@pytest.mark.parametrize("flows", [2, 4])
def test_late_flows_get_their_share(flows: int) -> None:
    bandwidth_bps, seconds = 100 * GBPS, 0.06
    size = round(bandwidth_bps / 8 * seconds / flows)
    graph = transfers(
        flows + 1, *((i, flows, size) for i in range(flows)), start_s=tuple(1e-3 * i for i in range(flows))
    )
    run = engine(graph, switch(flows + 1, bandwidth_bps), transport="dcqcn")
    port = run.link(flows + 1, flows)
    trace = watched(run, port, flows, 0.01, 0.04, 20e-6)
    assert trace.share == pytest.approx([1 / flows] * flows, rel=0.35)
    assert trace.utilization > 0.93
    assert trace.waiting.mean() < 200
    assert run.state.count[layout.Count.MARKS] > 0
    assert run.state.count[layout.Count.DROPPED] == 0


def test_a_flow_alone_is_never_slowed_down() -> None:
    graph = transfers(2, (0, 1, 3000 * PACKET))
    run = engine(graph, switch(2), transport="dcqcn")
    assert run.run_to(1.0)
    assert run.state.count[layout.Count.MARKS] == 0
