"""Max-min rates and the flow simulator against SimGrid, a program by other people.

SimGrid comes with Debian and Ubuntu (python3-simgrid) and lives in the system's Python. Its numbers are good to
about a millionth: it stops filling links at 1e-5 bytes/s.
"""

import itertools
import json
import shutil
import subprocess
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pytest

from tests.simulation.fluid.max_min import max_min_rates
from topoopt.routing import Fabric, make_routes
from topoopt.simulation import (
    COMPUTE,
    TRANSFER,
    SimulationOptions,
    TaskRows,
    simulate,
    task_graph_from_edges,
)
from topoopt.topologies import Link, Topology, topology_from_links

SCRIPT = Path(__file__).with_name("simgrid_flows.py")
PYTHON = "/usr/bin/python3"
PACKET = 8936
CLOSE = 1e-6


@dataclass(frozen=True)
class Flow:
    """Bytes over links, in order, from a time on."""

    links: tuple[int, ...]
    size_bytes: int
    start_s: float = 0.0


@dataclass(frozen=True)
class Case:
    """Links, each with its capacity, and the flows over them."""

    capacity_bytes_s: tuple[float, ...]
    flows: tuple[Flow, ...]


def simgrid(cases: list[Case]) -> list[list[float]]:
    """Return when SimGrid ends the flows of each case, s."""
    if shutil.which(PYTHON) is None:
        pytest.skip(f"there is no {PYTHON}, which would have SimGrid: apt-get install python3-simgrid")
    probe = subprocess.run([PYTHON, "-c", "import simgrid"], capture_output=True, check=False)
    if probe.returncode:
        pytest.skip(f"{PYTHON} has no SimGrid: apt-get install python3-simgrid")
    text = json.dumps([asdict(case) for case in cases])
    done = subprocess.run([PYTHON, SCRIPT], input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: list[list[float]] = json.loads(done.stdout)
    return found


def fluid(case: Case) -> list[float]:
    """Return finish times from max_min_rates alone: fill again whenever a flow comes or goes."""
    left = np.array([flow.size_bytes for flow in case.flows], np.float64)
    start = np.array([flow.start_s for flow in case.flows])
    finish = np.full(len(left), np.inf)
    now = float(start.min())
    while np.isinf(finish).any():
        here = np.flatnonzero((start <= now) & np.isinf(finish))
        coming = start[start > now]
        used = [case.flows[f].links for f in here]
        rate = max_min_rates(
            np.array(case.capacity_bytes_s),
            np.concatenate(([0], np.cumsum([len(links) for links in used]))).astype(np.int64),
            np.array([m for links in used for m in links], np.int64),
            np.ones(sum(len(links) for links in used)),
            np.ones(len(here)),
        )
        ends = now + left[here] / rate
        after = min([*ends, *coming])
        left[here] -= rate * (after - now)
        finish[here[ends <= after * (1 + 1e-12)]] = after
        now = float(after)
    return [float(end) for end in finish]


def random_case(rng: np.random.Generator) -> Case:
    """Up to eight links of different speeds, and up to twelve flows over up to four of them each."""
    links = int(rng.integers(1, 9))
    flows = []
    for _ in range(int(rng.integers(1, 13))):
        route = rng.permutation(links)[: int(rng.integers(1, 5))]
        flows.append(Flow(tuple(route.tolist()), int(rng.integers(1, 1000)), float(rng.integers(0, 20))))
    return Case(tuple(rng.integers(1, 50, links).astype(float).tolist()), tuple(flows))


FIXED = {
    "one link": Case((10.0,), (Flow((0,), 50), Flow((0,), 100))),
    "parking lot": Case(
        (10.0, 10.0, 4.0), (Flow((0, 1, 2), 40), Flow((0,), 40), Flow((1,), 40), Flow((2,), 40))
    ),
    "a late flow": Case((100.0, 40.0), (Flow((0,), 600), Flow((0, 1), 400), Flow((0,), 1000, start_s=5.0))),
}


@pytest.mark.parametrize("name", FIXED)
def test_max_min_rates_end_flows_when_simgrid_does(name: str) -> None:
    assert fluid(FIXED[name]) == pytest.approx(simgrid([FIXED[name]])[0], rel=CLOSE)


def test_max_min_rates_end_flows_when_simgrid_does_on_random_links() -> None:
    rng = np.random.default_rng(3)
    cases = [random_case(rng) for _ in range(100)]
    expected = simgrid(cases)
    for case, ends in zip(cases, expected, strict=True):
        assert fluid(case) == pytest.approx(ends, rel=CLOSE), case


def random_network(rng: np.random.Generator, servers: int) -> Topology:
    """Return a ring of servers with chords, links of 1 to 4 Gb/s, without latency."""
    pairs = {(i, (i + 1) % servers) for i in range(servers)}
    while len(pairs) < 2 * servers:
        a, b = rng.permutation(servers)[:2].tolist()
        pairs.add((a, b))
    links = []
    for a, b in sorted(pairs):
        if (b, a) not in pairs or a < b:
            speed = float(rng.integers(1, 5)) * 1e9
            links += [Link(a, b, speed, 0.0), Link(b, a, speed, 0.0)]
    return topology_from_links("random", servers, links)


@pytest.mark.parametrize("seed", range(5))
def test_the_flow_simulator_ends_transfers_when_simgrid_does(seed: int) -> None:
    rng = np.random.default_rng(seed)
    topology = random_network(rng, 8)
    fabric = Fabric("random", topology, make_routes("single-shortest", topology), {})
    count = 40
    src = rng.integers(0, 8, count)
    dst = (src + rng.integers(1, 8, count)) % 8
    size = rng.integers(1, 300, count) * PACKET
    start_s = rng.integers(0, 1000, count).astype(np.float64) * 1e-6
    # every transfer waits for a timer, each on a server of its own
    timers = TaskRows(COMPUTE, count, start_s, server=8 + np.arange(count))
    moves = TaskRows(TRANSFER, count, src=src, dst=dst, size_bytes=size)
    graph = task_graph_from_edges(
        8 + count, [timers, moves], np.arange(count), count + np.arange(count, dtype=np.int64)
    )
    found = simulate("flow", graph, fabric, SimulationOptions(tolerance=0.0)).finish_s[count:]

    flows, tail_s = [], []
    for a, b, bytes_, begin in zip(src.tolist(), dst.tolist(), size.tolist(), start_s.tolist(), strict=True):
        nodes = fabric.routes.paths(a, b)[0].nodes
        links = [topology.link_id(i, j) for i, j in itertools.pairwise(nodes)]
        byte_s = [8 / float(topology.bandwidth_bps[m]) for m in links]
        # the law's overhead: one byte over every link before, a packet over all but the slowest after
        flows.append(Flow(tuple(links), bytes_, begin + sum(byte_s)))
        tail_s.append(PACKET * (sum(byte_s) - max(byte_s)))
    case = Case(tuple((topology.bandwidth_bps / 8).tolist()), tuple(flows))
    expected = np.array(simgrid([case])[0]) + np.array(tail_s)
    assert found.tolist() == pytest.approx(expected.tolist(), rel=CLOSE)
