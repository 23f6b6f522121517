"""The authors' all-to-all study: DLRM with an embedding table on each of 128 servers, data parallel, no search."""

from collections.abc import Mapping
from functools import cache

from topoopt.catalog import ClusterSpec
from topoopt.finder import FabricRequest, FabricShape, build_fabric, select_permutations
from topoopt.jobs import Job, JobSettings, job_traffic, make_job, operators_of
from topoopt.routing import Fabric
from topoopt.search import task_graph_of
from topoopt.simulation import SimResult, TaskGraph, simulate
from topoopt.workloads import Traffic, load_model
from topoopt.workloads.strategy import data_parallel

SERVERS = 128
BANDWIDTH_BPS = 100e9
DEGREES = (4, 8)
BATCHES = (64, 128, 256, 512, 1024, 2048)
"""Samples of an accelerator; a server has four."""
RELEASED = "lower-bound"
"""The rule by which the authors' released code chooses strides."""
CARRIED = 2
"""Copies of an embedding activation in the authors' task graphs."""


@cache
def study_job(batch: int, embedding_bytes_factor: int = CARRIED) -> Job:
    """Return the job; neither its bytes nor its operators depend on the degree."""
    graph = load_model("dlrm-alltoall", batch_per_accelerator=batch)
    settings = JobSettings(embedding_bytes_factor=embedding_bytes_factor, memory_check="off")
    return make_job(graph, ClusterSpec(SERVERS, DEGREES[0], BANDWIDTH_BPS), settings)


@cache
def study_traffic(batch: int, embedding_bytes_factor: int = CARRIED) -> Traffic:
    """Return what an iteration moves: one AllReduce of everybody, and the tables' activations."""
    job = study_job(batch, embedding_bytes_factor)
    return job_traffic(job, data_parallel(operators_of(job).graph, SERVERS))


def study_graph(batch: int, embedding_bytes_factor: int = CARRIED) -> TaskGraph:
    """Return the tasks of one iteration."""
    job = study_job(batch, embedding_bytes_factor)
    return task_graph_of(job, data_parallel(operators_of(job).graph, SERVERS))


@cache
def circulant_strides(degree: int, rule: str = RELEASED) -> tuple[int, ...]:
    """Return the strides of all 128 servers under a rule of SelectPermutations."""
    return select_permutations(SERVERS, degree, rule=rule)


@cache
def topoopt_fabric(degree: int, rule: str = RELEASED, routing: str | None = None) -> Fabric:
    """Return the direct-connect fabric, all interfaces on rings of everybody, as in the authors' code."""
    shape = FabricShape(strides=circulant_strides(degree, rule), routing=routing)
    return _fabric("topoopt", degree, shape)


@cache
def study_fabrics(degree: int) -> Mapping[str, Fabric]:
    """Return the fabrics that are compared, by the name that a reader sees."""
    return {
        "TopoOpt, released strides": topoopt_fabric(degree),
        "TopoOpt, best strides": topoopt_fabric(degree, "best"),
        "ideal switch": _fabric("ideal-switch", degree, FabricShape()),
        "fat-tree, d·B/3.2": _fabric("fat-tree", degree, FabricShape()),
    }


def run_study(
    batch: int, fabric: Fabric, embedding_bytes_factor: int = CARRIED, simulator: str = "flow"
) -> SimResult:
    """Simulate one iteration; bytes on links are the same with every simulator, times are not."""
    return simulate(simulator, study_graph(batch, embedding_bytes_factor), fabric)


def _fabric(name: str, degree: int, shape: FabricShape) -> Fabric:
    return build_fabric(
        name, FabricRequest(SERVERS, degree, BANDWIDTH_BPS, (tuple(range(SERVERS)),), shape=shape)
    )
