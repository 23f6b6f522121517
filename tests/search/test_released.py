"""The authors' search: the topology is rebuilt inside the chain, and only measured degrees are tried."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from topoopt.catalog import ClusterSpec
from topoopt.jobs import Job, JobSettings, make_job, operators_of
from topoopt.routing import Fabric, make_routes
from topoopt.search import SearchOptions, preset
from topoopt.search.alternating_optimization import search_released
from topoopt.search.candidates.candidate import fabric_for, same_links
from topoopt.search.proposals.mcmc import make_problem
from topoopt.topologies import Link, topology_from_links
from topoopt.workloads import load_model
from topoopt.workloads.strategy import data_parallel

MakeJob = Callable[..., Job]


def released_options() -> SearchOptions:
    rules: dict[str, Any] = dict(preset("released"))
    del rules["embedding_bytes_factor"], rules["memory_check"]
    return SearchOptions(**rules)


def wired(*ends: tuple[int, int]) -> Fabric:
    links = [Link(a, b, 1e9) for pair in ends for a, b in (pair, pair[::-1])]
    topology = topology_from_links("any", 4, links)
    return Fabric("any", topology, make_routes("single-shortest", topology), {})


def test_parallel_links_elsewhere_are_another_wiring() -> None:
    ring = ((0, 1), (1, 2), (2, 3), (3, 0))
    assert same_links(wired(*ring), wired(*ring))
    assert not same_links(wired(*ring), wired(*ring[:3]))
    assert not same_links(wired(*ring, (0, 1), (2, 3)), wired(*ring, (1, 2), (3, 0)))


def test_only_measured_degrees_are_tried() -> None:
    """The 16-server profile of DLRM has layers on 1, 2, 4, … servers; no layer is split on channels."""
    graph = load_model("dlrm", servers=16)
    job = make_job(graph, ClusterSpec(16, 4, 100e9), JobSettings(memory_check="off"))
    fabric = fabric_for(job, data_parallel(graph, 16))
    every, measured = (make_problem(job, fabric, measured_only=only).arrays for only in (False, True))
    assert (measured.candidate[..., 1] <= 0).all()
    assert (measured.operator[:, 3] >= 1).all()
    assert (measured.operator[:, 3] < every.operator[:, 3]).any()
    found = search_released(job, released_options(), data_parallel(graph, 16), 100, np.random.default_rng(0))
    assert {split.channel_degree for split in found.strategy.splits} == {1}


@pytest.mark.parametrize("seed", [0, 1])
def test_the_time_is_that_of_the_strategy_on_its_fabric(seed: int, small_job: MakeJob) -> None:
    job, options = small_job(12, degree=3, batch=8), released_options()
    start = data_parallel(operators_of(job).graph, 12)
    found = search_released(job, options, start, 300, np.random.default_rng(seed))
    problem = make_problem(job, found.fabric, measured_only=True)
    assert found.time_s == problem.iteration_time_s(found.strategy)
    assert found.time_s < make_problem(
        job, fabric_for(job, start, options.rules, options.seed)
    ).iteration_time_s(start)
    assert found.proposals == 300
    times_s = [time_s for _, time_s in found.convergence]
    assert times_s == sorted(times_s, reverse=True)
    assert times_s[-1] == found.time_s


def test_the_topology_follows_the_strategy(small_job: MakeJob) -> None:
    job, options = small_job(12, degree=3, batch=8), released_options()
    start = data_parallel(operators_of(job).graph, 12)
    found = search_released(job, options, start, 300, np.random.default_rng(0))
    assert same_links(found.fabric, fabric_for(job, found.strategy, options.rules, options.seed))
