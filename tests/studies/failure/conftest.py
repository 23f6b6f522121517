"""Small plans to break, made once."""

from collections.abc import Callable

import pytest

from topoopt.catalog import ClusterSpec
from topoopt.jobs import Job, JobSettings, make_job
from topoopt.plans import Plan
from topoopt.search import SearchOptions, make_plan
from topoopt.workloads import Operator, OperatorGraph, Weight

MakePlan = Callable[..., Plan]


def _dense(name: str, inputs: tuple[int, ...], width: int) -> Operator:
    weights = (Weight(name, 4 * width * width),)
    return Operator(
        name, "dense", inputs, weights, 4 * width, 2.0 * width * width, 8.0 * width, frozenset({"batch"})
    )


def job(servers: int, degree: int, links: str, tables: int) -> Job:
    """Two layers, AllReduced by everybody, above embedding tables that every server asks."""
    lookups = tuple(
        Operator(f"table{i}", "embedding", (), (Weight(f"t{i}", 10**7),), 65536, 100.0, 500.0, frozenset())
        for i in range(tables)
    )
    below = tuple(range(tables))
    graph = OperatorGraph(
        "small",
        (*lookups, _dense("low", below, 2048), _dense("high", (tables,), 2048)),
        batch_per_accelerator=64,
    )
    cluster = ClusterSpec(servers, degree, 25e9, links=links)
    return make_job(graph, cluster, JobSettings(memory_check="off"))


@pytest.fixture(scope="session")
def small_plan() -> MakePlan:
    """Return a function that plans the small job: ``small_plan(servers, degree, links, tables)``."""
    made: dict[tuple[int, int, str, int], Plan] = {}

    def make(servers: int = 16, degree: int = 4, links: str = "duplex", tables: int = 0) -> Plan:
        key = servers, degree, links, tables
        if key not in made:
            made[key] = make_plan(job(*key), SearchOptions(budget=0, wirings="strides"), fabrics=())
        return made[key]

    return make
