"""Pools of a served model on servers of the cluster, and their sends, from the options in a cell.

Sends are tasks: requests that arrive at random, each followed by its keys and values.

Serving has no iteration. A *cycle* of some dozen requests represents its load, repeated: its length does not
depend on the network, and its sends begin when requests arrive, not when others are done. Sharing links therefore
never shortens or rotates it; only the transfer times of its sends change.
"""

import shlex
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import ConfigDict, Field

from topoopt.base.arrays import Floats, Ints
from topoopt.base.errors import InvalidInput
from topoopt.catalog import ClusterSpec, find_accelerator
from topoopt.inference import (
    Deployment,
    EngineSettings,
    Parallelism,
    Placement,
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
from topoopt.jobs import said_words
from topoopt.schema.files import Positive, Strict, TimeText, validated
from topoopt.simulation import (
    COLLECTIVE,
    COLLECTIVES,
    COMPUTE,
    TRANSFER,
    TaskGraph,
    TaskRows,
    task_graph_from_edges,
)
from topoopt.workloads.transformer import TransformerModel, find_transformer

_Degree = Annotated[int, Field(ge=1, le=10**5)]
_Tokens = Annotated[float, Field(ge=1, le=10**7)]


class ServingPart(Strict):
    """Load and split of a served model."""

    model_config = ConfigDict(title="What serving says in a trace")

    rate: Positive = Field(description="Requests a second, of all users together.")
    isl: _Tokens = Field(description="Mean tokens of a prompt.")
    osl: _Tokens = Field(description="Mean tokens of an answer.")
    spread: Annotated[float, Field(ge=0, le=100)] = Field(
        default=0.0, description="Standard deviation over mean of lengths, which are lognormal; 0: all alike."
    )
    prefill_servers: Annotated[int, Field(ge=0, le=10**6)] = Field(
        default=0, description="Servers that read prompts only; 0: all read prompts and answer."
    )
    tensor: _Degree | None = Field(
        default=None,
        description="Tensor parallelism of a replica; the accelerators of a server where not given.",
    )
    expert: _Degree = Field(default=1, description="Expert parallelism.")
    attention_data: _Degree = Field(default=1, description="Copies of attention in a replica.")
    weights: str = Field(default="bf16", description="Precision of weights.")
    kv: str = Field(default="bf16", description="Precision of keys and values.")
    engine: str = Field(
        default="", description="Whose measured constants are taken; those of vLLM where not given."
    )
    slo_ttft: TimeText | None = Field(
        default=None, description="First tokens have to come so soon, such as 2s."
    )
    slo_tpot: TimeText | None = Field(
        default=None, description="Further tokens have to come so fast on average, such as 50ms."
    )


REQUESTS = 48
"""Requests per cycle: enough for bursts of several at once."""
SHORTEST_S, LONGEST_S = 1.0, 120.0
"""A cycle with very many, or very few requests."""
QUIET = 0.05
"""Share of a cycle at its end in which no request comes, so that its last sends end within it."""
REQUEST = 0
"""Operator of the tasks that are keys and values of a request; all others have none."""
STEADY_PARTS = 8
"""Exchanges of experts and stages per cycle: they are continuous."""


@dataclass(frozen=True, slots=True, eq=False)
class ServedLoad:
    """Network load of requests.

    Attributes
    ----------
    rate_per_s : float
    kv_bytes : array (requests,) of float
        Keys and values on the wire per request, in order of arrival; none where one pool does everything.
    """

    rate_per_s: float
    kv_bytes: Floats

    @property
    def cycle_s(self) -> float:
        """Time in which the requests of a cycle arrive."""
        return float(np.clip(REQUESTS / self.rate_per_s, SHORTEST_S, LONGEST_S))


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
        """Average load of its requests."""
        return RequestLoad(self.words.rate, self.words.isl, self.words.osl)


def served_model(model: str, serving: str, cluster: ClusterSpec, seed: int) -> ServedModel:
    """Return a served model on a cluster of its own.

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
    """Return the deployment with as many replicas as the servers hold.

    Raises
    ------
    InvalidInput
        If a pool has no room for one replica.
    """
    tensor = words.tensor or max(cluster.accelerators_per_server // words.attention_data, 1)
    split = Parallelism(tensor, expert=words.expert, attention_data=words.attention_data)
    settings = EngineSettings(weight_precision=words.weights, kv_precision=words.kv, engine=words.engine)
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


def cycle_graph(
    placement: Placement, load: ServedLoad, steady: ServingTraffic, servers: int, seed: int
) -> TaskGraph:
    """Return a cycle: one computation of its length, and sends that begin when requests arrive.

    Prompts are spread in turn over the prefill replicas, and any replica may decode; each server of a replica sends
    its share to every server of the other one.

    Parameters
    ----------
    steady
        Traffic per second inside replicas, without keys and values.
    """
    cycle_s = load.cycle_s
    rows = [TaskRows(COMPUTE, 1, server=0, duration_s=cycle_s)]
    src, dst, size, at_s = _kv_sends(placement, load, np.random.default_rng(seed))
    if len(src):
        rows.append(
            TaskRows(
                TRANSFER,
                len(src),
                duration_s=at_s,
                src=src,
                dst=dst,
                size_bytes=_whole(size),
                operator=REQUEST,
            )
        )
    for part in range(STEADY_PARTS):
        begin_s = part * (1 - QUIET) * cycle_s / STEADY_PARTS
        rows += _steady_sends(steady, cycle_s / STEADY_PARTS, begin_s)
    nothing = np.zeros(0, np.int64)
    return task_graph_from_edges(servers, rows, nothing, nothing, ("keys and values",))


def _steady_sends(steady: ServingTraffic, span_s: float, begin_s: float) -> list[TaskRows]:
    """Return the exchanges of experts and stages during a cycle, and AllReduces over rings."""
    rows = []
    flows = sum(
        (matrix for kind, matrix in steady.kinds.items() if kind != "kv"), np.zeros((steady.servers,) * 2)
    )
    src, dst = np.nonzero(flows)
    if len(src):
        size = _whole(flows[src, dst] * span_s)
        rows.append(TaskRows(TRANSFER, len(src), duration_s=begin_s, src=src, dst=dst, size_bytes=size))
    groups = [group for group in steady.reduces if len(group.members) > 1]
    if groups:
        size = _whole(np.array([group.size_bytes for group in groups]) * span_s)
        kinds = COLLECTIVES.index("allreduce")
        members = tuple(group.members for group in groups)
        rows.append(
            TaskRows(COLLECTIVE, len(groups), begin_s, size_bytes=size, collective=kinds, members=members)
        )
    return rows


def _whole(size: Floats) -> Ints:
    return np.maximum(np.rint(size), 1).astype(np.int64)


def _kv_sends(
    placement: Placement, load: ServedLoad, rng: np.random.Generator
) -> tuple[Ints, Ints, Floats, Floats]:
    """Return from, to, bytes and when, of every send of keys and values between servers."""
    requests = max(round(load.rate_per_s * load.cycle_s), 1) if len(placement.prefill) else 0
    at_s = np.sort(rng.random(requests)) * (1 - QUIET) * load.cycle_s
    sizes = rng.choice(load.kv_bytes, requests) if requests else np.zeros(0)
    answers = rng.integers(len(placement.decode), size=requests)
    sends: list[tuple[int, int, float, float]] = []
    for number in range(requests):
        sources, source_ranks = np.unique(
            placement.prefill[number % len(placement.prefill)], return_counts=True
        )
        ends, end_ranks = np.unique(placement.decode[answers[number]], return_counts=True)
        shares = np.outer(source_ranks / source_ranks.sum(), end_ranks / end_ranks.sum())
        for row, source in enumerate(sources.tolist()):
            for column, end in enumerate(ends.tolist()):
                if source != end:
                    sends.append((source, end, sizes[number] * shares[row, column], at_s[number]))
    columns = np.array(sends, float).reshape(-1, 4).T
    return columns[0].astype(np.int64), columns[1].astype(np.int64), columns[2], columns[3]


def pair_rates(sent: ServingTraffic) -> Floats:
    """Return the bytes a second of every pair of servers, AllReduces as edges of rings, shape (servers, servers)."""
    moved = sent.transfers.copy()
    for group in sent.reduces:
        members = np.array(group.members)
        np.add.at(moved, (members, np.roll(members, -1)), group.wire_bytes / len(members))
    np.fill_diagonal(moved, 0.0)
    return moved


def serving_of_text(text: str, place: str) -> ServingPart:
    """Return the options in a cell, such as ``rate=8 isl=2000 osl=300 prefill_servers=2``.

    Raises
    ------
    InvalidInput
        For an unknown, repeated or missing option, or an invalid value.

    Examples
    --------
    >>> serving_of_text("rate=8 isl=2000 osl=300", "serving").rate
    8.0
    """
    parts = shlex.split(text.replace("'", "").replace('"', ""))
    return validated(ServingPart, said_words(parts, place, "rate=8"), place)
