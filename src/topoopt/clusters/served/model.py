"""From the words of a cell to the pools of a served model on servers of the cluster, and what these send."""

from dataclasses import dataclass

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.base.errors import InvalidInput
from topoopt.catalog import ClusterSpec, find_accelerator
from topoopt.clusters.served.cycle import ServedLoad, cycle_graph
from topoopt.clusters.served.words import ServingPart, serving_of_text
from topoopt.inference import (
    Deployment,
    EngineSettings,
    Parallelism,
    Pool,
    RequestLoad,
    ServingTraffic,
    cache_capacity,
    cache_copies,
    known_engine,
    place,
    request_cache_bytes,
    serving_traffic,
)
from topoopt.simulation import TaskGraph
from topoopt.workloads.transformer import TransformerModel, find_transformer

LENGTHS = 4096
"""Prompts that are drawn for a distribution of lengths."""


@dataclass(frozen=True, eq=False)
class ServedModel:
    """A served model on the servers of one job.

    Attributes
    ----------
    traffic : ServingTraffic
        Bytes a second.
    graph : TaskGraph
        A cycle of it, see :func:`cycle_graph`.
    words : ServingPart
    """

    model: TransformerModel
    deployment: Deployment
    words: ServingPart
    traffic: ServingTraffic
    graph: TaskGraph

    @property
    def load(self) -> RequestLoad:
        """Its requests on the average."""
        return RequestLoad(self.words.rate, self.words.isl, self.words.osl)


def served_model(model: str, serving: str, cluster: ClusterSpec, seed: int) -> ServedModel:
    """Return what a served model sends on a cluster of its own.

    Raises
    ------
    InvalidInput
        If the model is none that can be served, does not fit into memory, or its replicas do not fit its servers.
    """
    words = serving_of_text(serving, "serving")
    shape = find_transformer(model)
    deployment = _deployment(words, cluster)
    known_engine(words.engine)
    accelerator = find_accelerator(cluster.accelerator)
    for pool in (deployment.decode, deployment.prefill):
        if pool is not None:
            cache_capacity(shape, accelerator, pool.parallelism, deployment.settings)
    placement = place(deployment, cluster.accelerators_per_server, cluster.servers)
    prefills, decodes = len(placement.prefill), len(placement.decode)
    load = RequestLoad(words.rate, words.isl, words.osl)
    kv_bytes = _kv_bytes(shape, words, deployment, seed) if prefills else np.zeros(0)
    mean_bytes = float(kv_bytes.mean()) if prefills else 0.0
    pairs = np.full((prefills, decodes), words.rate * mean_bytes / max(prefills * decodes, 1))
    traffic = serving_traffic(shape, deployment, placement, load, pairs)
    graph = cycle_graph(placement, ServedLoad(words.rate, kv_bytes), traffic, cluster.servers, seed)
    return ServedModel(shape, deployment, words, traffic, graph)


def _deployment(words: ServingPart, cluster: ClusterSpec) -> Deployment:
    """Return as many replicas as the servers hold.

    Raises
    ------
    InvalidInput
        If a pool has no room for one replica.
    """
    tensor = words.tensor or max(cluster.accelerators_per_server // words.attention_data, 1)
    split = Parallelism(tensor, expert=words.expert, attention_data=words.attention_data)
    settings = EngineSettings(weight_precision=words.weights, kv_precision=words.kv)
    prefill, decode = words.prefill_servers, cluster.servers - words.prefill_servers
    if decode < 1:
        raise InvalidInput(
            f"serving: prefill_servers: expected 0 to {cluster.servers - 1}, for the job has {cluster.servers} servers "
            f"and some must answer; got {prefill}"
        )
    pool = _pool(split, decode, cluster)
    if not prefill:
        return Deployment("chunked", pool, settings=settings)
    return Deployment("disaggregated", pool, _pool(split, prefill, cluster), settings)


def _pool(split: Parallelism, servers: int, cluster: ClusterSpec) -> Pool:
    each = cluster.accelerators_per_server
    replicas = (
        servers * (each // split.accelerators)
        if split.accelerators <= each
        else servers // -(-split.accelerators // each)
    )
    if not replicas:
        raise InvalidInput(
            f"serving: a replica of {split.accelerators} accelerators does not fit {servers} servers of {each}; give "
            "more servers, or less tensor parallelism and fewer copies of attention"
        )
    return Pool(split, replicas)


def _kv_bytes(shape: TransformerModel, words: ServingPart, deployment: Deployment, seed: int) -> Floats:
    """Return the keys and values of prompts on the wire, copies for accelerators beyond the heads included."""
    copies = cache_copies(shape, deployment.decode.parallelism.tensor)
    if not words.spread:
        return np.array([copies * request_cache_bytes(shape, round(words.isl), words.kv)])
    variance = np.log1p(words.spread**2)
    rng = np.random.default_rng([seed, 1])
    lengths = np.rint(rng.lognormal(np.log(words.isl) - variance / 2, np.sqrt(variance), LENGTHS))
    sizes = [request_cache_bytes(shape, int(length), words.kv) for length in np.maximum(lengths, 1)]
    return copies * np.array(sizes)
