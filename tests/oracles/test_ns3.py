"""ns-3 and the theory of congestion control on one bottleneck agree, so ns-3 is asked rightly."""

import pytest

from tests.oracles.scenarios import SCENARIOS, Figures

Seen = dict[str, Figures]


def bytes_s(name: str) -> float:
    return SCENARIOS[name].bandwidth_bps / 8


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_flow_ends_and_none_before_its_bytes_can_be_there(ns3_figures: Seen, name: str) -> None:
    scenario, figures = SCENARIOS[name], ns3_figures[name]
    for size, finish_s in zip(scenario.size_packets, figures.finish_s, strict=True):
        # a round trip to connect, half of one for the data, and all bytes through the bottleneck
        least_s = 1.5 * scenario.rtt_s + size * scenario.packet_bytes / bytes_s(name)
        assert finish_s >= least_s


@pytest.mark.parametrize("name", ["one reno flow", "two reno flows", "one cubic flow", "two cubic flows"])
def test_loss_based_flows_fill_the_buffer_and_the_link(ns3_figures: Seen, name: str) -> None:
    figures = ns3_figures[name]
    assert figures.queue_max == SCENARIOS[name].buffer_packets
    assert figures.utilization > 0.98
    # drop-tail treats flows in phase differently, so halves are approximate
    assert all(0.35 < share * len(figures.share) / 2 < 0.65 for share in figures.share)


def test_the_period_of_reno_is_half_a_window_of_round_trips(ns3_figures: Seen) -> None:
    scenario, figures = SCENARIOS["one reno flow"], ns3_figures["one reno flow"]
    packet_s = scenario.packet_bytes / bytes_s("one reno flow")
    peak = scenario.rtt_s / packet_s + scenario.buffer_packets
    assert figures.peak_packets[0] == pytest.approx(peak, rel=0.06)
    # a packet more in every round trip, from half the peak up to it, each as long as its packets take; one
    # more to notice the loss, and one to fill the hole
    peak = figures.peak_packets[0]
    period_s = ((peak**2 - (peak / 2) ** 2) / 2 + peak) * packet_s
    assert figures.period_s[0] == pytest.approx(period_s, rel=0.05)


def test_the_period_of_cubic_is_the_cube_root_of_its_window(ns3_figures: Seen) -> None:
    scenario, figures = SCENARIOS["one cubic flow"], ns3_figures["one cubic flow"]
    packet_s = scenario.packet_bytes / bytes_s("one cubic flow")
    peak = scenario.rtt_s / packet_s + scenario.buffer_packets
    assert figures.peak_packets[0] == pytest.approx(peak, rel=0.06)
    # RFC 9438: back at the old peak after K = cbrt(0.3 W / 0.4) s; the loss is found when it is passed
    plateau_s = (0.3 * peak / 0.4) ** (1 / 3)
    assert plateau_s < figures.period_s[0] < 2 * plateau_s


def test_dctcp_keeps_the_queue_near_its_mark_and_shares_equally(ns3_figures: Seen) -> None:
    for name in ("one dctcp flow", "two dctcp flows"):
        scenario, figures = SCENARIOS[name], ns3_figures[name]
        assert figures.drops == 0
        assert figures.utilization > 0.999
        assert figures.queue_mean == pytest.approx(scenario.mark_packets, rel=0.1)
        # the queue overshoots the mark by the windows' growth in the round trip before it is felt
        assert figures.queue_max <= scenario.mark_packets + len(scenario.size_packets) + 1
        assert figures.share == pytest.approx([1 / len(figures.share)] * len(figures.share), abs=0.01)
