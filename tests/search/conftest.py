"""Small jobs, small fabrics and random strategies, for all tests of the search."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from topoopt.catalog import ClusterSpec
from topoopt.finder import FabricRequest, build_fabric
from topoopt.jobs import Job, JobSettings, make_job, operators_of
from topoopt.routing import Fabric, make_routes
from topoopt.search.proposals.mcmc import SearchProblem
from topoopt.topologies import circulant
from topoopt.workloads import Operator, OperatorGraph, Weight, load_model
from topoopt.workloads.strategy import ParallelStrategy, data_parallel

MakeJob = Callable[..., Job]
MakeFabric = Callable[[str, int], Fabric]
RandomStrategy = Callable[[SearchProblem, np.random.Generator, float], ParallelStrategy]


def _operator(
    name: str, inputs: tuple[int, ...], weights: tuple[int, ...], width: int, splits: str
) -> Operator:
    shapes = tuple(Weight(f"{name}.{i}", 4 * count) for i, count in enumerate(weights))
    kind = "embedding" if splits == "rows columns" else "dense" if weights else "concat"
    work = 2.0 * sum(weights) if kind == "dense" else 100.0 * width
    return Operator(name, kind, inputs, shapes, 4 * width, work, 8.0 * width, frozenset(splits.split()))


def small_graph(batch_per_accelerator: int = 64) -> OperatorGraph:
    """Two tables, a layer below and two above them: every kind of edge that a strategy can make."""
    dense, table = "batch out in", "rows columns"
    operators = (
        _operator("table0", (), (6_400_000,), 64, table),
        _operator("table1", (), (12_800_000,), 64, table),
        _operator("bottom", (), (256 * 512, 512), 512, dense),
        _operator("join", (0, 1, 2), (), 640, "batch"),
        _operator("top0", (3,), (640 * 1024, 1024), 1024, dense),
        _operator("top1", (4,), (1024 * 1024, 1024), 1024, dense),
    )
    return OperatorGraph("small", operators, batch_per_accelerator)


@pytest.fixture(scope="session")
def small_job() -> MakeJob:
    """Return a function that makes the small job: ``small_job(servers, degree=4, links=..., **settings)``."""

    def make(servers: int, degree: int = 4, links: str = "duplex", batch: int = 64, **settings: Any) -> Job:
        cluster = ClusterSpec(servers, degree, 100e9, links=links)
        return make_job(small_graph(batch), cluster, JobSettings(**{"memory_check": "off", **settings}))

    return make


@pytest.fixture(scope="session")
def small_dlrm() -> Job:
    """DLRM with 8 tables and 6 layers on 16 servers, its operators timed by the authors' profile where it can be."""
    graph = load_model("dlrm", servers=16, tables=8, rows=1_000_000, bottom_layers=2, top_layers=3)
    return make_job(graph, ClusterSpec(16, 4, 100e9), JobSettings(memory_check="off"))


STRIDES = {4: (1,), 6: (1, 2), 8: (1, 3), 12: (1, 5), 16: (1, 5)}


@pytest.fixture(scope="session")
def fabric() -> MakeFabric:
    """Return a function that wires servers as a circulant with coin-change routes, or as a family by name."""

    def make(name: str, servers: int) -> Fabric:
        if name != "circulant":
            return build_fabric(name, FabricRequest(servers, 4, 100e9))
        topology = circulant(servers, list(STRIDES[servers]), 100e9)
        return Fabric("topoopt", topology, make_routes("coin-change", topology), {})

    return make


@pytest.fixture(scope="session")
def random_strategy() -> RandomStrategy:
    """Return a function that re-draws a share of the operators of data parallelism."""

    def draw(problem: SearchProblem, rng: np.random.Generator, share: float) -> ParallelStrategy:
        arrays = problem.arrays
        config = problem.config(data_parallel(operators_of(problem.job).graph, problem.job.cluster.servers))
        for op in range(len(config)):
            if rng.random() < share:
                choices = arrays.candidate[op, : arrays.operator[op, 3]]
                config[op, :3] = choices[rng.integers(len(choices))]
                parts = arrays.divisors[config[op, 0]] * arrays.divisors[config[op, 1]]
                config[op, 3] = rng.integers(arrays.servers // parts)
        return problem.strategy(config)

    return draw
