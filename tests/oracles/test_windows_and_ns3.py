"""The sawtooth of one flow in our packet simulator and in ns-3: how high, how long, and what it leaves in the queue.

ns-3 notes every cut as it happens; we look at the window twenty times in a round trip.
"""

import numpy as np
import pytest

from tests.oracles.dumbbell import dumbbell, transfers
from tests.oracles.scenarios import SCENARIOS, Figures, Scenario
from tests.simulation.packet.engine import Trace, engine, routed, watched
from topoopt.simulation.packet.kernel import layout

Seen = dict[str, Figures]


def trace(scenario: Scenario, transport: str) -> Trace:
    topology = dumbbell(scenario)
    run = engine(
        transfers(scenario, 1),
        routed(topology),
        transport=transport,
        acks="reverse",
        mark_packets=float(scenario.mark_packets),
        buffer_packets=scenario.buffer_packets + 1,  # ours counts the packet that is being sent, too
        timeout_min_s=scenario.timeout_min_s,
    )
    link = topology.link_id(topology.servers, topology.servers + 1)
    return watched(run, link, len(scenario.size_packets), *scenario.measure_s, scenario.rtt_s / 20)


def full_round_trip_s(scenario: Scenario) -> float:
    """Return the round trip behind a full buffer."""
    packet_s = scenario.packet_bytes * 8 / scenario.bandwidth_bps
    return scenario.rtt_s + (scenario.buffer_packets + 1) * packet_s


@pytest.mark.parametrize("name", ["one reno flow", "one cubic flow"])
def test_a_flow_alone_has_the_sawtooth_of_ns_3(ns3_figures: Seen, name: str) -> None:
    scenario, theirs = SCENARIOS[name], ns3_figures[name]
    ours = trace(scenario, scenario.transport)
    cuts = ours.cuts()
    # a loss is heard after the window has grown for up to a packet more
    assert ours.window[cuts, 0, layout.Window.CWND].mean() == pytest.approx(theirs.peak_packets[0], abs=1.0)
    # recovery ends on another packet of the round trip
    period_s = np.diff(ours.time_s[cuts]).mean()
    assert period_s == pytest.approx(theirs.period_s[0], abs=full_round_trip_s(scenario))
    # which is that part of a period with a queue or without one
    part = full_round_trip_s(scenario) / theirs.period_s[0]
    assert ours.waiting.mean() == pytest.approx(theirs.queue_mean, abs=part * scenario.buffer_packets)
    assert ours.utilization == pytest.approx(theirs.utilization, abs=0.005)


@pytest.mark.parametrize("name", ["one dctcp flow", "two dctcp flows"])
def test_dctcp_of_rfc_8257_keeps_the_queue_of_ns_3(ns3_figures: Seen, name: str) -> None:
    scenario, theirs = SCENARIOS[name], ns3_figures[name]
    ours = trace(scenario, "dctcp-rfc8257")
    flows = len(scenario.size_packets)
    # the sawtooth of DCTCP's paper (SIGCOMM 2010, section 3.3); ours marks what leaves, half of it earlier
    in_flight = scenario.rtt_s * scenario.bandwidth_bps / 8 / scenario.packet_bytes
    swing = np.sqrt(2 * flows * (in_flight + scenario.mark_packets)) / 2
    assert ours.waiting.mean() == pytest.approx(theirs.queue_mean, abs=swing / 2)
    assert ours.waiting.max() == pytest.approx(theirs.queue_max, abs=1)
    assert ours.share == pytest.approx(theirs.share, abs=0.03)
    assert ours.utilization == pytest.approx(theirs.utilization, abs=1e-3)
