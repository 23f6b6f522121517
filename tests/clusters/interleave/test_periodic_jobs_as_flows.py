"""Two simulators that know nothing of each other: periodic jobs, and the same jobs as task graphs of flows."""

import numpy as np
import pytest

from topoopt.clusters.interleave import (
    CommunicationProfile,
    PeriodicJob,
    Phase,
    fair_sharing,
    mltcp_sharing,
    run_periodic_jobs,
)
from topoopt.collectives import occupancy_bytes
from topoopt.routing import Fabric, make_routes
from topoopt.simulation import (
    COMPUTE,
    TRANSFER,
    Aggressiveness,
    SimulationOptions,
    TaskGraph,
    TaskRows,
    simulate_together,
    task_graph_from_edges,
)
from topoopt.topologies import Link, topology_from_links

C = 10e9
ITERATIONS = 12
LATENCY_S = 1e-9


def graph(sizes: list[int], computing_s: list[float]) -> TaskGraph:
    """Server 0 computes, sends to server 1, computes, sends, and so on, one after the other."""
    rows = []
    for size, time_s in zip(sizes, computing_s, strict=True):
        rows += [TaskRows(COMPUTE, 1, time_s, server=0), TaskRows(TRANSFER, 1, src=0, dst=1, size_bytes=size)]
    return task_graph_from_edges(2, rows, np.arange(len(rows) - 1), np.arange(1, len(rows)))


def profile(name: str, sizes: list[int], computing_s: list[float], rate_bps: float) -> CommunicationProfile:
    """Return what that job sends, whole packets, at the rate of its own interface."""
    phases, at_s = [], 0.0
    for size, time_s in zip(sizes, computing_s, strict=True):
        length_s = float(occupancy_bytes(size)) * 8 / rate_bps
        phases.append(Phase(at_s + time_s, length_s, rate_bps))
        at_s += time_s + length_s
    return CommunicationProfile(name, at_s, tuple(phases))


def bottleneck(rates_bps: list[float]) -> Fabric:
    """Senders 0, 1, … by links of their own rates, one link of C, and as many receivers."""
    jobs = len(rates_bps)
    left, right = 2 * jobs, 2 * jobs + 1
    pairs = [(number, left, rate) for number, rate in enumerate(rates_bps)]
    pairs += [(right, jobs + number, 100 * C) for number in range(jobs)] + [(left, right, C)]
    links = [Link(a, b, rate, LATENCY_S) for a, b, rate in pairs]
    links += [Link(b, a, 100 * C, LATENCY_S) for a, b, _ in pairs]
    topology = topology_from_links("bottleneck", 2 * jobs, links, nodes=2 * jobs + 2)
    return Fabric("bottleneck", topology, make_routes("single-shortest", topology), {})


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", ["fair", "mltcp"])
def test_iterations_are_those_of_flows(seed: int, name: str) -> None:
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 5))
    phases = (
        int(rng.integers(1, 3)) if name == "fair" else 1
    )  # MLTCP counts anew after gaps, flows by iteration
    sizes = [[int(size) for size in rng.uniform(2e8, 1e9, phases)] for _ in range(count)]
    computing_s = [[float(time) for time in rng.uniform(0.2, 2.0, phases)] for _ in range(count)]
    rates_bps = [float(rate) for rate in rng.uniform(0.4 * C, 2 * C, count)]
    begins_s = tuple(float(time) for time in rng.uniform(0, 1.0, count))
    run = run_periodic_jobs(
        [
            PeriodicJob(
                profile(str(k), sizes[k], computing_s[k], rates_bps[k]),
                begin_s=begins_s[k],
                iterations=ITERATIONS,
            )
            for k in range(count)
        ],
        [C],
        sharing=mltcp_sharing() if name == "mltcp" else fair_sharing(),
    )
    flows = simulate_together(
        "flow",
        [graph(sizes[k], computing_s[k]) for k in range(count)],
        bottleneck(rates_bps),
        tuple((k, count + k) for k in range(count)),
        SimulationOptions(aggressiveness=Aggressiveness() if name == "mltcp" else None, tolerance=0.0),
        iterations=ITERATIONS,
        begin_s=begins_s,
    )
    # a flow's last packet is stored and forwarded: microseconds a transfer
    within = 5e-5 if name == "fair" else 5e-4
    for job, ends_s in zip(run.jobs, flows.ends_s, strict=True):
        np.testing.assert_allclose(job.end_s, ends_s, rtol=within)
