"""Reproduction: the authors' task graphs take the times that FlexNetPacket was measured to give.

The reference times (ms, 1 µs a hop) come from runs of the original program on these files; where the authors
published the same runs they agree (VGG to the picosecond, DLRM 0 to 0.1 %, CANDLE 0.3 to 5.6 %, where the
order of equal starts is chance). Three things stand between its numbers and the flow simulator's:

- it shortens small AllReduces, here done to the graph, see :func:`shortened`;
- runs with thousands of spurious time-outs are longer than a run without faults would be, by the margins in
  ``TIMEOUTS``: that is where ours must land;
- queueing, which a flow simulator leaves out: within 6 % for DLRM, 15 % for CANDLE, 2.7 % for VGG.
"""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from topoopt.finder import FabricRequest, build_fabric
from topoopt.routing import Fabric
from topoopt.simulation import COLLECTIVE, TaskGraph, flexnet_fabric, flexnet_task_graph, read_fbuf, simulate

pytestmark = pytest.mark.reproduction

GRAPHS = Path(__file__).parents[2] / "examples" / "taskgraphs"
SPEEDS = (10, 40, 100, 200, 800)
IDEAL_SWITCH = {
    "vgg": (1782.0570, 508.76, 210.4035, 131.9847, 100.4812),
    "dlrm": (549.3637, 136.9210, 61.1669, 31.2338, 24.7470),
    "candle": (4804.37, 1364.16, 514.43, 315.11, 131.67),
}
FAT_TREE = {
    "vgg": (1782.3121, 465.7733, 210.7727, 132.3516, 100.4896),
    "dlrm": (556.1787, 138.8542, 61.2438, 31.7409, 24.7771),
}
DIRECT = {
    ("taskgraph12", 25): 216.9098,
    ("taskgraph12", 50): 188.0137,
    ("taskgraph12", 100): 185.5438,
    ("100vgg_16_circ_d4_rings", 25): 210.7275,
    ("100vgg_16_circ_d4_rings", 100): 100.4803,
    ("100vgg_16_circ_d4_noring", 100): 210.3459,
    ("100candle_16_circ_d4_noring", 100): 512.33,
    ("200dlrm_16_circ_d4_rings", 100): 25.937,
    ("25dlrm_128", 100): 221.76,
    ("25dlrm_128_circ_d4_rings", 100): 92.08,
}
TOLERANCE = {"vgg": 0.027, "dlrm": 0.06, "candle": 0.15, "taskgraph12": 0.0004}
TIMEOUTS = {("vgg", 10): 0.0075, ("vgg", 40): 0.096, ("dlrm", 10): 0.057, ("dlrm", 40): 0.027}
"""By how much a run without spurious time-outs is quicker than the reference on the ideal switch."""


def shortened(graph: TaskGraph) -> TaskGraph:
    """Return the graph without the bytes of the AllReduces of which FlexNetPacket runs one round only.

    These are those of S bytes over k servers with S <= 18000·(k-1). Of their 2(k-1) rounds of one packet it
    leaves all but one away, which is 4.2 of 98.2 ms for DLRM on 128 servers (46 AllReduces, half of them of
    biases: 23 x 4 rings x 254 packets of 8936 bytes at 100 Gb/s).
    """
    servers = np.diff(graph.member_first)
    small = (graph.kind == COLLECTIVE) & (graph.size_bytes <= 18000 * (servers - 1))
    return dataclasses.replace(graph, size_bytes=np.where(small, 0, graph.size_bytes))


def graph_and_own_fabric(name: str, gbps: float) -> tuple[TaskGraph, Fabric]:
    read = read_fbuf(GRAPHS / f"{name}.fbuf.xz")
    graph = flexnet_task_graph(read)
    return graph, flexnet_fabric(read, graph.groups, bandwidth_bps=gbps * 1e9)


def model_of(name: str) -> str:
    return next(model for model in TOLERANCE if model in name)


def times_ms(graph: TaskGraph, fabric: Fabric) -> tuple[float, float]:
    """Return the flow simulator's times with and without small AllReduces shortened."""
    short, whole = (simulate("flow", each, fabric).iteration_time_s for each in (shortened(graph), graph))
    return short * 1e3, whole * 1e3


@pytest.mark.parametrize("gbps", SPEEDS)
@pytest.mark.parametrize("model", IDEAL_SWITCH)
def test_searched_strategies_on_the_switch_that_they_were_searched_for(model: str, gbps: int) -> None:
    reference = IDEAL_SWITCH[model][SPEEDS.index(gbps)]
    short, whole = times_ms(*graph_and_own_fabric(f"{gbps}{model}_16", gbps))
    without_timeouts = reference * (1 - TIMEOUTS.get((model, gbps), 0.0))
    # where the margin of the time-outs is known, ours lands on it
    tolerance = 0.001 if (model, gbps) in TIMEOUTS else TOLERANCE[model]
    assert short == pytest.approx(without_timeouts, rel=tolerance)
    assert whole == pytest.approx(without_timeouts, rel=TOLERANCE[model])


@pytest.mark.parametrize("gbps", [100, 200, 800])
def test_vgg_on_the_ideal_switch_is_within_a_hundredth_of_a_percent(gbps: int) -> None:
    """Nothing but AllReduces, one after the other: no queue to leave out. 0.004 to 0.007 % measured."""
    short, _ = times_ms(*graph_and_own_fabric(f"{gbps}vgg_16", gbps))
    assert short == pytest.approx(IDEAL_SWITCH["vgg"][SPEEDS.index(gbps)], rel=1e-4)


@pytest.mark.parametrize("gbps", SPEEDS)
@pytest.mark.parametrize("model", FAT_TREE)
def test_searched_strategies_on_a_fat_tree(model: str, gbps: int) -> None:
    graph, _ = graph_and_own_fabric(f"{gbps}{model}_16", gbps)
    fabric = build_fabric(
        "fat-tree", FabricRequest(16, 1, gbps * 1e9, graph.groups, server_bandwidth_bps=gbps * 1e9)
    )
    short, _ = times_ms(graph, fabric)
    margin = 0.07 if (model, gbps) in {("dlrm", 10), ("dlrm", 40)} else TOLERANCE[model]  # time-outs again
    assert short == pytest.approx(FAT_TREE[model][SPEEDS.index(gbps)], rel=margin)


@pytest.mark.parametrize(("name", "gbps"), DIRECT)
def test_direct_connect_graphs_on_their_own_wiring(name: str, gbps: int) -> None:
    short, _ = times_ms(*graph_and_own_fabric(name, gbps))
    assert short == pytest.approx(DIRECT[name, gbps], rel=TOLERANCE[model_of(name)])


def test_four_rings_are_what_makes_the_circulant_fast() -> None:
    """At 100 Gb/s a link: 100.5 ms with 4 rings, 210.3 ms with one."""
    _, four = times_ms(*graph_and_own_fabric("100vgg_16_circ_d4_rings", 100))
    _, one = times_ms(*graph_and_own_fabric("100vgg_16_circ_d4_noring", 100))
    assert one / four == pytest.approx(210.3459 / 100.4803, rel=0.002)


def test_the_largest_graph_has_all_its_tasks() -> None:
    assert len(read_fbuf(GRAPHS / "25dlrm_128_circ_d4_rings.fbuf.xz").tasks) == 22638
