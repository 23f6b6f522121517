"""Scenarios in our own packet simulator: what ns-3 is compared with."""

from dataclasses import dataclass

import numpy as np

from tests.oracles.scenarios import Scenario
from topoopt.routing import Fabric, make_routes
from topoopt.simulation import (
    COMPUTE,
    TRANSFER,
    PacketOptions,
    PacketStatistics,
    SimResult,
    SimulationOptions,
    TaskGraph,
    TaskRows,
    simulate,
    task_graph_from_edges,
)
from topoopt.topologies import Link, Topology, topology_from_links


@dataclass(frozen=True)
class Ours:
    """What our packet simulator saw; see :class:`tests.oracles.scenarios.Figures`.

    ``utilization`` is that of the bottleneck between the end of flows of half the size and the end of the whole
    ones, which leaves the start out.
    """

    finish_s: list[float]
    drops: int
    marks: int
    queue_max: float
    utilization: float


def run(scenario: Scenario) -> Ours:
    """Play a scenario, once with flows of half the size."""
    topology = dumbbell(scenario)
    whole, half = (play(scenario, topology, parts) for parts in (1, 2))
    statistics = whole.packet
    assert isinstance(statistics, PacketStatistics)
    moves = whole.graph.kind == TRANSFER
    peak_bytes = statistics.link_queue_peak_bytes[topology.link_id(topology.servers, topology.servers + 1)]
    sent_bytes = float((whole.graph.size_bytes - half.graph.size_bytes).sum())
    took_s = float(whole.finish_s.max() - half.finish_s.max())
    return Ours(
        (whole.finish_s - whole.start_s)[moves].tolist(),
        statistics.drops,
        statistics.marks,
        float(peak_bytes) / scenario.packet_bytes - 1,  # without the one being sent
        sent_bytes * 8 / scenario.bandwidth_bps / took_s if took_s > 0 else 0.0,
    )


def play(scenario: Scenario, topology: Topology, parts: int) -> SimResult:
    fabric = Fabric("dumbbell", topology, make_routes("single-shortest", topology), {})
    options = PacketOptions(
        transport=scenario.transport,
        acks="reverse",
        mark_packets=float(scenario.mark_packets),
        buffer_packets=scenario.buffer_packets + 1,  # ours counts the packet that is being sent
    )
    return simulate("packet", transfers(scenario, parts), fabric, SimulationOptions(packet=options))


def dumbbell(scenario: Scenario) -> Topology:
    """Senders first, then receivers, then the two routers."""
    flows = len(scenario.size_packets)
    left, right = 2 * flows, 2 * flows + 1
    wide = (scenario.bandwidth_bps * scenario.access_factor, scenario.access_s)
    links = [Link(a, left, *wide) for a in range(flows)] + [Link(left, a, *wide) for a in range(flows)]
    links += [Link(flows + b, right, *wide) for b in range(flows)]
    links += [Link(right, flows + b, *wide) for b in range(flows)]
    for a, b in ((left, right), (right, left)):
        links.append(Link(a, b, scenario.bandwidth_bps, scenario.bottleneck_s))
    return topology_from_links("dumbbell", 2 * flows, links, 2 * flows + 2)


def transfers(scenario: Scenario, parts: int) -> TaskGraph:
    """Each flow, cut to one of so many parts, waits for a timer on its own sender."""
    flows = np.arange(len(scenario.size_packets))
    timers = TaskRows(COMPUTE, len(flows), np.array(scenario.start_s), server=flows)
    packets = np.maximum(np.array(scenario.size_packets, np.int64) // parts, 1)
    moves = TaskRows(
        TRANSFER, len(flows), src=flows, dst=len(flows) + flows, size_bytes=packets * scenario.packet_bytes
    )
    return task_graph_from_edges(2 * len(flows), [timers, moves], flows, len(flows) + flows)
