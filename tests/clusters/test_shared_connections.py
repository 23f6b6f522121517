"""Connections of a job: one path for each pair and each ring edge, drawn once."""

import numpy as np
import pytest

from tests.clusters.shared_jobs import MEGABYTE, reducer, training
from topoopt.clusters import shared_fabric
from topoopt.clusters.shared_fabric import connect
from topoopt.finder import FabricRequest, lay_rings
from topoopt.simulation import TaskGraph, merge_jobs


def placed(graph: TaskGraph, servers: int, seed: int = 0) -> TaskGraph:
    row = np.random.default_rng(seed).permutation(servers)[: graph.servers]
    return merge_jobs([graph], (tuple(row.tolist()),), [1], servers).graph


@pytest.mark.parametrize("name", ["fat-tree", "oversub-fat-tree", "ideal-switch", "rail", "expander"])
@pytest.mark.parametrize("seed", range(3))
def test_rings_are_those_of_the_finder(name: str, seed: int) -> None:
    fabric = shared_fabric(name, FabricRequest(54, 4, 100e9))
    graph = placed(reducer(9, MEGABYTE), 54, seed)
    own = connect(fabric, "a", graph, 0, seed)
    (group,) = graph.groups
    hashed = np.random.SeedSequence([seed, 0xE8B7BE43]).generate_state(1).tolist()[0]  # CRC-32 of "a"
    assert own.rings[group] == lay_rings(fabric.topology, fabric.routes, group, 4, hashed)


def test_every_pair_has_one_of_its_shortest_paths() -> None:
    fabric = shared_fabric("fat-tree", FabricRequest(54, 4, 100e9))
    graph = placed(training(np.random.default_rng(0), 6), 54)
    own = connect(fabric, "a", graph, 0, 0)
    server = graph.groups[0]
    for src in server:
        for dst in server:
            if src != dst:
                (path,) = own.routes.paths(src, dst)
                assert path.nodes in [other.nodes for other in fabric.routes.paths(src, dst)]


def test_jobs_and_seeds_draw_anew_and_one_job_draws_once() -> None:
    fabric = shared_fabric("fat-tree", FabricRequest(54, 4, 100e9))
    graph = placed(training(np.random.default_rng(0), 6), 54)

    def drawn(job: str, seed: int) -> list[tuple[int, ...]]:
        own = connect(fabric, job, graph, 0, seed)
        return [own.routes.paths(a, b)[0].nodes for a in graph.groups[0] for b in graph.groups[0] if a != b]

    assert drawn("a", 0) == drawn("a", 0)
    assert drawn("a", 0) != drawn("b", 0)
    assert drawn("a", 0) != drawn("a", 1)


def test_hashing_spreads_connections_over_all_paths() -> None:
    """Of 36 paths between two pods each is taken by about as many of 200 jobs."""
    fabric = shared_fabric("fat-tree", FabricRequest(432, 8, 100e9))
    graph = merge_jobs([training(np.random.default_rng(0), 2)], ((0, 431),), [1], 432).graph
    taken = {connect(fabric, f"job-{i}", graph, 0, 0).routes.paths(0, 431)[0].nodes for i in range(200)}
    assert len(taken) > 30
