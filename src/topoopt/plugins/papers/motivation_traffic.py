"""What the models do to a network: the share of an iteration that it costs, and who sends to whom."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from topoopt.catalog import ClusterSpec
from topoopt.finder import FabricRequest, build_fabric
from topoopt.jobs import job_traffic, make_job
from topoopt.pages import HeatmapChart
from topoopt.plugins.papers.figure import Row
from topoopt.plugins.papers.published_jobs import BULK, COUNTED, MODEL_TITLES, published_job, search_options
from topoopt.search import make_plan, simulated, starting_strategy
from topoopt.workloads import AllReduceGroup, Traffic, load_model

DEGREE, BANDWIDTH_BPS = 4, 100e9
SERVERS = (2, 4, 8, 16, 32, 64, 128)
ACCELERATORS = 4
HEAT_SERVERS, HEAT_BANDWIDTH_BPS = 16, 25e9
"""At 25 Gb/s an interface the search splits more than tables."""
STRIDES = (1, 3, 7)
"""Those of the paper's example of 16 servers and three rings."""
MB = 1e6


@dataclass(frozen=True, eq=False)
class ModelTraffic:
    """What a model moves under the strategy that a search has found."""

    model: str
    traffic: Traffic
    iteration_time_s: float


def share_rows(models: Sequence[str], servers: Sequence[int] = SERVERS) -> Iterator[Row]:
    """Yield the share of an iteration that computation does not hide, on a fat-tree of d·B/3.2 a server.

    The models are those of the jobs of 128 servers, and every accelerator's batch stays the same.
    """
    for model in models:
        for count in servers:
            cluster = ClusterSpec(count, DEGREE, BANDWIDTH_BPS, accelerators_per_server=ACCELERATORS)
            job = make_job(load_model(f"{model}-128"), cluster, COUNTED)
            strategy = starting_strategy(job)
            groups = [group.members for group in job_traffic(job, strategy).allreduce]
            fabric = build_fabric("fat-tree", FabricRequest(count, DEGREE, BANDWIDTH_BPS, groups))
            result = simulated(job, strategy, fabric, "flow", BULK)
            yield {
                "what": "communication share",
                "name": model,
                "servers": count,
                "accelerators": count * ACCELERATORS,
                "iteration_time_s": result.iteration_time_s,
                "communication_share": result.exposed_communication_s / result.iteration_time_s,
            }


@cache
def model_traffic(model: str, budget: int, seed: int) -> ModelTraffic:
    """Return what a model moves between 16 servers, by our own search."""
    job = published_job(model, HEAT_SERVERS, DEGREE, HEAT_BANDWIDTH_BPS)
    plan = make_plan(job, search_options("default", budget, 0, seed), fabrics=())
    return ModelTraffic(model, plan.traffic(), plan.outcome.iteration_time_s)


def ring_matrix(
    servers: int, groups: Sequence[AllReduceGroup], strides: Sequence[int] = (1,)
) -> NDArray[np.float64]:
    """Return the bytes of each ordered pair when every group goes round in these strides of its members.

    Each stride takes an equal part of the bytes; strides that do not visit every member are left out.

    Examples
    --------
    >>> ring_matrix(4, [AllReduceGroup((0, 1, 3), 300)])[0].tolist()
    [0.0, 400.0, 0.0, 0.0]
    """
    matrix = np.zeros((servers, servers))
    for group in groups:
        size = len(group.members)
        usable = [stride for stride in strides if np.gcd(stride, size) == 1]
        members = np.asarray(group.members)
        for stride in usable:
            matrix[members, np.roll(members, -stride)] += group.wire_bytes / size / len(usable)
    return matrix


def heat_charts(traffic: Sequence[ModelTraffic], placed: Traffic) -> Iterator[HeatmapChart]:
    """Yield DLRM's two kinds of traffic, its AllReduce on other rings, and every model's traffic as searched.

    Parameters
    ----------
    placed : Traffic
        Of DLRM, data parallel with a table on each server.
    """
    n = placed.servers
    yield _heat("dlrm-allreduce", "DLRM, AllReduce on one ring", ring_matrix(n, placed.allreduce))
    words = ", ".join(f"+{stride}" for stride in STRIDES)
    permuted = ring_matrix(n, placed.allreduce, STRIDES)
    yield _heat("dlrm-rings", f"DLRM, the same AllReduce on rings {words}", permuted)
    yield _heat("dlrm-mp", "DLRM, model-parallel traffic", placed.mp_matrix())
    for row in traffic:
        matrix = ring_matrix(n, row.traffic.allreduce) + row.traffic.mp_matrix()
        yield _heat(f"{row.model}-found", f"{MODEL_TITLES[row.model]}, strategy as searched", matrix)


def _heat(name: str, title: str, matrix: NDArray[np.float64]) -> HeatmapChart:
    values = tuple(tuple((row / MB).tolist()) for row in matrix)
    return HeatmapChart(
        f"motivation-{name}",
        f"{title}, {len(matrix)} servers",
        "to server",
        "from server",
        "MB an iteration",
        values,
        value_log=True,
    )
