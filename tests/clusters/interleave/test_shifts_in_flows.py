"""Shifts found from simulated jobs, as times to begin at in the simulator of flows on random trees of switches."""

import random

import numpy as np
import pytest

from topoopt.clusters.interleave import (
    Candidate,
    CommunicationProfile,
    InterleavingRules,
    JudgedPlacement,
    SharedLink,
    judge_placement,
    profiles_of_links,
)
from topoopt.routing import Fabric, make_routes
from topoopt.simulation import (
    COMPUTE,
    TRANSFER,
    TaskGraph,
    TaskRows,
    merge_jobs,
    simulate,
    simulate_together,
    task_graph_from_edges,
)
from topoopt.topologies import Link, topology_from_links

FAST = 50e9
SERVERS, SWITCHES, JOBS = 12, 4, 4
SHORT_S = 0.1

Placement = tuple[tuple[int, ...], ...]
Network = tuple[Fabric, Placement, list[TaskGraph], JudgedPlacement]


def tree_of_switches(chance: random.Random) -> Fabric:
    cables = [(server, SERVERS + chance.randrange(SWITCHES)) for server in range(SERVERS)]
    cables += [(SERVERS + k, SERVERS + chance.randrange(k)) for k in range(1, SWITCHES)]
    links = [Link(*ends, FAST, 1e-6) for a, b in cables for ends in ((a, b), (b, a))]
    topology = topology_from_links("tree", SERVERS, links, SERVERS + SWITCHES)
    return Fabric("tree", topology, make_routes("single-shortest", topology), {})


def job(compute_s: float, size_bytes: int) -> TaskGraph:
    """Server 0 computes, then sends to server 1."""
    rows = [
        TaskRows(COMPUTE, 1, compute_s, server=0),
        TaskRows(TRANSFER, 1, src=0, dst=1, size_bytes=size_bytes),
    ]
    return task_graph_from_edges(2, rows, np.array([0]), np.array([1]))


def alone_s(graph: TaskGraph, fabric: Fabric, servers: tuple[int, ...]) -> float:
    placed = merge_jobs([graph], (servers,), [1], SERVERS).graph
    return float(simulate("flow", placed, fabric).finish_s.max())


def jobs_on(fabric: Fabric, placement: Placement, chance: random.Random) -> list[TaskGraph]:
    """Jobs that send for a fifth of 100 ms, whose iterations last 100 or 200 ms alone to the microsecond."""
    graphs = []
    for servers in placement:
        size_bytes = int(0.2 * SHORT_S * FAST / 8)
        sends_s = alone_s(job(0.0, size_bytes), fabric, servers)
        graphs.append(job(SHORT_S * chance.choice([1, 2]) - sends_s, size_bytes))
    return graphs


def judged(fabric: Fabric, placement: Placement, graphs: list[TaskGraph]) -> JudgedPlacement:
    """The placement as CASSINI sees it: what each job, simulated alone, sends on each link."""
    topology = fabric.topology
    users: dict[tuple[int, int], list[CommunicationProfile]] = {}
    for number, (graph, servers) in enumerate(zip(graphs, placement, strict=True)):
        result = simulate("analytic", merge_jobs([graph], (servers,), [1], SERVERS).graph, fabric)
        links = np.flatnonzero(result.link_bytes > 0)
        ends = [(int(topology.src[link]), int(topology.dst[link])) for link in links]
        for link, profile in profiles_of_links(f"job {number}", result, fabric, ends).items():
            users.setdefault(link, []).append(profile)
    shared = tuple(SharedLink(f"{a}>{b}", FAST, tuple(profiles)) for (a, b), profiles in users.items())
    return judge_placement(Candidate("tree", shared), InterleavingRules(merging="contained"))


@pytest.fixture(scope="module")
def networks() -> list[Network]:
    """Trees on which some jobs meet, and no loop is left of their affinity graph."""
    found: list[Network] = []
    for seed in range(30):
        chance = random.Random(seed)
        fabric = tree_of_switches(chance)
        servers = chance.sample(range(SERVERS), 2 * JOBS)
        placement = tuple((servers[2 * k], servers[2 * k + 1]) for k in range(JOBS))
        graphs = jobs_on(fabric, placement, chance)
        choice = judged(fabric, placement, graphs)
        if choice.links and not choice.loop:
            found.append((fabric, placement, graphs, choice))
    return found


def test_jobs_run_as_alone_with_the_shifts_and_slower_without(networks: list[Network]) -> None:
    assert len(networks) >= 10
    slower = 0
    for fabric, placement, graphs, choice in networks:
        assert choice.score == 1.0
        alone = [alone_s(graph, fabric, row) for graph, row in zip(graphs, placement, strict=True)]
        begins_s = [choice.time_shifts_s[f"job {number}"] for number in range(JOBS)]
        shifted = simulate_together("flow", graphs, fabric, placement, iterations=12, begin_s=begins_s)
        assert shifted.mean_s == pytest.approx(alone, rel=1e-6)
        # Phases end with the iteration: jobs whose iterations end at once send at once.
        ends_s = [2 * SHORT_S - time_s for time_s in alone]
        at_once = simulate_together("flow", graphs, fabric, placement, iterations=12, begin_s=ends_s)
        slower += max(np.divide(at_once.mean_s, alone)) > 1.05
    assert slower == len(networks)
