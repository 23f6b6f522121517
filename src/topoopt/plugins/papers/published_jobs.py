"""The authors' jobs: their models and batches, bytes counted as in their task graphs, and their simulator's rings."""

from collections.abc import Mapping
from functools import cache

from topoopt.base.answers import fields_of
from topoopt.catalog import ClusterSpec
from topoopt.finder import (
    FabricRequest,
    FabricShape,
    FinderRules,
    build_fabric,
    find_topology,
    select_permutations,
)
from topoopt.jobs import Job, JobSettings, job_traffic, make_job, operators_of
from topoopt.plans import Outcome
from topoopt.plugins.papers.figure import Row
from topoopt.routing import Fabric
from topoopt.search import SearchOptions, preset, task_graph_of
from topoopt.simulation import SimResult, SimulationOptions, TaskGraph, simulate
from topoopt.workloads import Traffic, data_parallel, load_model

SERVERS = 128
BANDWIDTH_BPS = 100e9
DEGREES = (4, 8)
BATCHES = (64, 128, 256, 512, 1024, 2048)
"""Samples of an accelerator; a server has four."""
RELEASED = "lower-bound"
"""The rule by which the authors' released code chooses strides."""
CARRIED = 2
"""Copies of an embedding activation in the authors' task graphs."""
MODEL_TITLES = {
    "dlrm": "DLRM",
    "candle": "CANDLE",
    "bert": "BERT",
    "ncf": "NCF",
    "resnet50": "ResNet50",
    "vgg16": "VGG",
}
"""The six models as the paper writes them."""
COUNTED = JobSettings(embedding_bytes_factor=2, memory_check="off")
"""Embedding activations twice, as in the authors' task graphs; their search asks for no memory."""
BULK = SimulationOptions(ring_model="bulk")
"""A ring AllReduce is one flow for all its rounds, as in FlexNet, the authors' fluid simulator."""
FLUID = "Flow simulator, a ring AllReduce as one flow for all its rounds (FlexNet's model), one iteration by itself."
_OF_THE_JOB = ("embedding_bytes_factor", "memory_check", "bucket_bytes", "microbatches", "collective")


def published_job(model: str, servers: int, degree: int, bandwidth_bps: float) -> Job:
    """Return a model as the authors train it on ``servers`` servers of four A100, with their measured times."""
    cluster = ClusterSpec(servers, degree, bandwidth_bps)
    return make_job(load_model(model, servers=servers), cluster, COUNTED)


def search_options(name: str, budget: int, baseline_budget: int, seed: int) -> SearchOptions:
    """Return the options of a preset of the search, with a budget of proposals.

    ``released`` is the authors' search: measured degrees of parallelism only, all interfaces on rings of everybody.
    """
    rules = {key: value for key, value in preset(name).items() if key not in _OF_THE_JOB}
    return SearchOptions(
        **rules, budget=budget, baseline_budget=baseline_budget, chains=1, seed=seed, processes=1
    )


def released_fabric(job: Job, traffic: Traffic, seed: int = 0) -> Fabric:
    """Return TopoOpt's fabric as the authors' code wires it: strides of all servers, by its rule."""
    cluster = job.cluster
    return find_topology(
        traffic,
        degree=cluster.degree,
        bandwidth_bps=cluster.link_bandwidth_bps,
        latency_s=cluster.link_latency_s,
        rules=FinderRules("all-to-allreduce", "lower-bound"),
        seed=seed,
    )


def times(result: SimResult | Outcome) -> Row:
    """Return the columns that a row has of one iteration."""
    return {
        **fields_of(result, "iteration_time_s", "compute_time_s", "bandwidth_tax"),
    }


@cache
def study_job(batch: int, embedding_bytes_factor: int = CARRIED) -> Job:
    """Return the job; neither its bytes nor its operators depend on the degree."""
    graph = load_model("dlrm-alltoall", batch_per_accelerator=batch)
    settings = JobSettings(embedding_bytes_factor=embedding_bytes_factor, memory_check="off")
    return make_job(graph, ClusterSpec(SERVERS, DEGREES[0], BANDWIDTH_BPS), settings)


@cache
def study_traffic(batch: int, embedding_bytes_factor: int = CARRIED) -> Traffic:
    """Return the traffic of an iteration: one AllReduce over all servers, and the tables' activations."""
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
