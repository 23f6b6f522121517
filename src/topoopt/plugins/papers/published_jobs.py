"""The authors' jobs: their models and batches, bytes counted as in their task graphs, and their simulator's rings."""

from topoopt.catalog import ClusterSpec
from topoopt.finder import FinderRules, find_topology
from topoopt.jobs import Job, JobSettings, make_job
from topoopt.plans import Outcome
from topoopt.plugins.papers.figure import Row
from topoopt.routing import Fabric
from topoopt.search import SearchOptions, preset
from topoopt.simulation import SimResult, SimulationOptions
from topoopt.workloads import Traffic, load_model

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

_OF_THE_JOB = ("embedding_bytes_factor", "memory_check", "bucket_bytes", "collective")


def published_job(model: str, servers: int, degree: int, bandwidth_bps: float) -> Job:
    """Return a model as the authors train it on so many servers of four A100, with their measured times."""
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
        "iteration_time_s": result.iteration_time_s,
        "compute_time_s": result.compute_time_s,
        "bandwidth_tax": result.bandwidth_tax,
    }
