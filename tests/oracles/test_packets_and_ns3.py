"""Our packet simulator and ns-3 on one bottleneck: the same flows, buffers and links, two programs.

What differs by design: ns-3 offers at most 65,535 bytes in a SYN, so at first it sends seven packets, not ten; it
marks what enters a queue, we mark what leaves; its DCTCP is the paper's, which cuts the window only after a round trip
with marks, ours is that of the TopoOpt authors' simulator, which lets an old share of marks go on cutting.
"""

import pytest

from tests.oracles.dumbbell import Ours, run
from tests.oracles.scenarios import SCENARIOS, Figures

Seen = dict[str, Figures]

LONG = [
    "one reno flow",
    "two reno flows",
    "one cubic flow",
    "two cubic flows",
    "one dctcp flow",
    "two dctcp flows",
]
WITHOUT_LOSS = ["1 packet", "7 packets", "100 packets", "1000 packets", "two flows of 1000 packets"]


@pytest.fixture(scope="module")
def ours() -> dict[str, Ours]:
    return {name: run(scenario) for name, scenario in SCENARIOS.items()}


@pytest.mark.parametrize("name", WITHOUT_LOSS)
def test_slow_start_takes_as_long_and_queues_as_much(
    ns3_figures: Seen, ours: dict[str, Ours], name: str
) -> None:
    scenario, theirs = SCENARIOS[name], ns3_figures[name]
    packet_s = scenario.packet_bytes * 8 / scenario.bandwidth_bps
    # three packets less in the first round trip make ns-3 six packets' time later, once windows double
    late_s = 0.0 if max(scenario.size_packets) <= 7 else 6 * packet_s
    expected = [finish_s - late_s for finish_s in theirs.finish_s]
    assert ours[name].finish_s == pytest.approx(expected, rel=2e-3)
    if late_s:
        assert ours[name].queue_max == pytest.approx(theirs.queue_max, abs=1)


@pytest.mark.parametrize("name", LONG)
def test_long_flows_use_the_bottleneck_alike(ns3_figures: Seen, ours: dict[str, Ours], name: str) -> None:
    # of two flows the slower is alone at its end
    margin = 0.005 if name.startswith("one") else 0.02
    assert ours[name].utilization == pytest.approx(ns3_figures[name].utilization, abs=margin)


@pytest.mark.parametrize("name", LONG)
def test_long_flows_end_at_about_the_same_time(ns3_figures: Seen, ours: dict[str, Ours], name: str) -> None:
    # the start weighs most where a round trip is long: both overshoot, and climb back in their own ways
    margin = {"reno": 0.03, "cubic": 0.10, "dctcp": 0.03}[SCENARIOS[name].transport]
    assert max(ours[name].finish_s) == pytest.approx(max(ns3_figures[name].finish_s), rel=margin)


@pytest.mark.parametrize("name", [name for name in LONG if name.startswith("two")])
def test_equal_flows_share_alike(ns3_figures: Seen, ours: dict[str, Ours], name: str) -> None:
    for finish_s in (ours[name].finish_s, ns3_figures[name].finish_s):
        assert min(finish_s) > 0.65 * max(finish_s)


@pytest.mark.parametrize("name", ["one reno flow", "two reno flows"])
def test_reno_fills_the_buffer_and_loses_about_as_much(
    ns3_figures: Seen, ours: dict[str, Ours], name: str
) -> None:
    assert ours[name].queue_max == ns3_figures[name].queue_max == SCENARIOS[name].buffer_packets
    assert 0.5 < ours[name].drops / ns3_figures[name].drops < 2


@pytest.mark.parametrize("name", [name for name in LONG if "dctcp" in name])
def test_dctcp_loses_nothing_and_marks(ns3_figures: Seen, ours: dict[str, Ours], name: str) -> None:
    assert ours[name].drops == ns3_figures[name].drops == 0
    assert ours[name].marks > 0
    assert ns3_figures[name].marks > 0


def test_a_short_dctcp_flow_gets_through_beside_a_long_one(ns3_figures: Seen, ours: dict[str, Ours]) -> None:
    name = "a long and a short dctcp flow"
    long_s, short_s = ours[name].finish_s
    assert short_s == pytest.approx(ns3_figures[name].finish_s[1], rel=0.25)
    assert long_s == pytest.approx(ns3_figures[name].finish_s[0], rel=0.15)
