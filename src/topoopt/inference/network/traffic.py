"""Traffic of a deployment: sends of one pass of tokens, and bytes per second between servers, by kind.

The bytes of a pass are a closed form that does not depend on placement. A token's activations have 2 bytes per
number, except tokens sent to experts in 8 bits: these have a scale of 4 bytes for each 128 numbers (DeepSeek-V3,
section 3.2.2).

Tokens of a decode step take a base time to their experts or back, and one for bytes on links inside and between
servers. The three numbers are fitted to DeepEP's published kernels of low latency,
``inference/data/expert_exchanges.csv``, by least squares of relative errors: 6 % off on average. Every copy goes to
its rank by itself; ranks of one server reach each other over its own links, others over the interface of each.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.base.errors import check_known
from topoopt.inference.deployment import Deployment, Parallelism, Pool
from topoopt.inference.network.placement import Placement, on_servers
from topoopt.inference.requests import RequestLoad
from topoopt.schema.files import packaged_rows
from topoopt.transformers import ExpertLoads, expected_places, rank_shares, taken_shares
from topoopt.workloads import AllReduceGroup, Traffic, Transfers, merged_traffic
from topoopt.workloads.transformer import Experts, TransformerModel

ACTIVATION_BYTES = 2.0
DISPATCHES = {"fp8": 1 + 4 / 128, "bf16": 2.0}
"""Bytes per number sent to experts; always 2 on the way back."""


@dataclass(frozen=True, slots=True)
class PassBytes:
    """Bytes of one token's pass through all layers.

    Attributes
    ----------
    tensor_reduces : int
        AllReduces of ``reduced_bytes`` over the ranks of tensor parallelism.
    stage_reduces : int
        The same over all accelerators of a stage, for experts that are split over all of them.
    reduced_bytes : float
        A token's share of one of them.
    boundary_bytes : float
        Bytes from one stage to the next.
    dispatch_bytes, combine_bytes : float
        A copy to one expert of one layer, and back.
    expert_layers : int
        Layers whose tokens go to experts elsewhere; 0 where nothing is dispatched.
    """

    tensor_reduces: int
    stage_reduces: int
    reduced_bytes: float
    boundary_bytes: float
    dispatch_bytes: float
    combine_bytes: float
    expert_layers: int


INSIDE_BYTES_PER_S = 160e9
"""Bandwidth that DeepEP reaches on an H800's links inside a server, as published."""


@dataclass(frozen=True, slots=True)
class ExchangeLaw:
    """Seconds of a dispatch or a combine: ``base_s + slowness * network_s + inside_slowness * inside_s``.

    Attributes
    ----------
    base_s : float
        Time of a kernel and one trip, without bytes.
    slowness, inside_slowness : float
        Factors on the time of bytes between servers, and inside, at nominal bandwidth.
    error : float
        Mean relative error over the rows that it was fitted to.
    """

    base_s: float
    slowness: float
    inside_slowness: float
    error: float


FIXED = ("experts", "stages")
"""Kinds of transfers that the split of the model fixes; where keys and values go is chosen."""


@dataclass(frozen=True, slots=True)
class SentBy:
    """Options of the traffic beyond the deployment.

    Attributes
    ----------
    relays_prefill, relays_decode : bool
        Whether a token goes to a server once and is handed on inside it, however many of its experts are there. Kernels
        for prompts do so; those for decoding send each copy by itself, which begins sooner (DeepEP).
    dispatch : str
        Format of tokens sent to experts: ``fp8`` with scales, or ``bf16``.
    loads : ExpertLoads or None
        Even loads where there are none.
    """

    relays_prefill: bool = True
    relays_decode: bool = False
    dispatch: str = "fp8"
    loads: ExpertLoads | None = None


USUAL = SentBy()
"""Kernels as engines have them, even loads."""


@dataclass(frozen=True, eq=False, slots=True)
class ServingTraffic:
    """Bytes a second between servers.

    Attributes
    ----------
    kinds : mapping of kind to float64 array, shape (servers, servers)
        ``experts``, ``stages`` and ``kv``; nothing on the diagonal.
    reduces : tuple of AllReduceGroup
        AllReduces of tensor parallelism over several servers, with bytes per second.
    """

    servers: int
    kinds: Mapping[str, Floats]
    reduces: tuple[AllReduceGroup, ...]

    @property
    def transfers(self) -> Floats:
        """All but AllReduces, shape (servers, servers)."""
        return np.asarray(sum(self.kinds.values(), np.zeros((self.servers, self.servers))))

    @property
    def bytes_per_s(self) -> float:
        """All of it on the wire."""
        return float(self.transfers.sum()) + sum(group.wire_bytes for group in self.reduces)

    def as_traffic(self) -> Traffic:
        """Return the traffic per second in a job's form; an "iteration" is then one second."""
        src, dst = np.nonzero(self.transfers)
        sizes = np.maximum(np.rint(self.transfers[src, dst]), 1).astype(np.int64)
        return merged_traffic(self.servers, self.reduces, (), Transfers(src, dst, sizes))


def at_rate(per_request: ServingTraffic, requests_per_s: float) -> ServingTraffic:
    """Return the traffic at a request rate, from the traffic per request."""
    kinds = {kind: matrix * requests_per_s for kind, matrix in per_request.kinds.items()}
    reduces = tuple(
        AllReduceGroup(group.members, round(group.size_bytes * requests_per_s))
        for group in per_request.reduces
    )
    return ServingTraffic(per_request.servers, kinds, reduces)


def serving_traffic(
    model: TransformerModel,
    deployment: Deployment,
    placement: Placement,
    load: RequestLoad,
    kv: Floats,
    sent: SentBy = USUAL,
) -> ServingTraffic:
    """Return the traffic of a load.

    Parameters
    ----------
    kv : float64 array, shape (prefill replicas, decode replicas)
        Bytes a second of keys and values from each to each.
    """
    n = placement.servers
    rates = token_rates(deployment, load)
    parts = [
        pool_traffic(model, deployment, placement, prefill, rate, sent)
        for prefill, rate in zip((True, False), rates, strict=True)
        if rate > 0
    ]
    kinds = {kind: np.asarray(sum((part.kinds[kind] for part in parts), np.zeros((n, n)))) for kind in FIXED}
    # bytes a second by pair of servers: every server of a replica has its share of keys and values
    if not len(placement.prefill):
        moved = np.zeros((placement.servers, placement.servers))
    else:
        sources = on_servers(placement.prefill, placement.servers)
        ends = on_servers(placement.decode, placement.servers)
        moved = np.asarray(sources.T @ kv @ ends)
    np.fill_diagonal(moved, 0.0)
    reduces = merged_traffic(n, [group for part in parts for group in part.reduces]).allreduce
    return ServingTraffic(n, {**kinds, "kv": moved}, reduces)


def token_rates(deployment: Deployment, load: RequestLoad) -> tuple[float, float]:
    """Return the tokens per second of the prefill pool and of the decode pool.

    With drafts, more tokens are processed than generated. Where one pool does both, all of it is the second's.
    """
    settings = deployment.settings
    prompts = load.requests_per_s * load.prompt_tokens
    drafts = (1 + settings.drafted_tokens) / settings.accepted_tokens
    answers = load.requests_per_s * load.answer_tokens * drafts
    return (0.0, prompts + answers) if deployment.prefill is None else (prompts, answers)


def pool_traffic(
    model: TransformerModel,
    deployment: Deployment,
    placement: Placement,
    prefill: bool,
    tokens_per_s: float,
    sent: SentBy,
) -> ServingTraffic:
    """Return the traffic within a pool whose replicas together process ``tokens_per_s``."""
    n = placement.servers
    pool, ranks = deployment.decode, placement.decode
    if prefill:
        assert deployment.prefill is not None
        pool, ranks = deployment.prefill, placement.prefill
    one = pass_bytes(model, pool.parallelism, sent.dispatch)
    relayed = sent.relays_prefill if prefill else sent.relays_decode
    experts, stages = np.zeros((2, n, n))
    reduces: list[AllReduceGroup] = []
    for replica in ranks:
        rate = tokens_per_s / pool.replicas
        split = pool.parallelism
        each = rate * one.reduced_bytes / split.pipeline
        groups: list[AllReduceGroup] = []
        for stage in _by_stage(pool, replica):
            groups += [_group(copy, each * one.tensor_reduces / split.attention_data) for copy in stage]
            groups.append(_group(stage, each * one.stage_reduces))
        reduced = groups
        reduces += reduced
        stages += _handed_on(pool, replica, rate * one.boundary_bytes, n)
        for group in _expert_groups(pool, replica) if one.expert_layers else ():
            passes = rate * one.expert_layers / pool.parallelism.pipeline / pool.parallelism.expert_tensor
            assert model.experts is not None
            there = server_copies(model.experts, group, n, relayed, sent.loads)
            from_server = np.bincount(group, minlength=n) / len(group)
            copies = passes * np.outer(from_server, there)
            experts += np.asarray(copies * one.dispatch_bytes + copies.T * one.combine_bytes)
    for matrix in (experts, stages):
        np.fill_diagonal(matrix, 0.0)
    return ServingTraffic(n, {"experts": experts, "stages": stages}, merged_traffic(n, reduces).allreduce)


def _by_stage(pool: Pool, replica: Ints) -> Ints:
    """Return the server of each rank, shape (stages, copies of attention, tensor ranks)."""
    split = pool.parallelism
    return replica.reshape(split.pipeline, split.attention_data, split.tensor)


def _handed_on(pool: Pool, replica: Ints, bytes_per_s: float, servers: int) -> Floats:
    """Return the traffic from each stage to the next, rank to rank."""
    stages = _by_stage(pool, replica).reshape(pool.parallelism.pipeline, -1)
    moved = np.zeros((servers, servers))
    np.add.at(moved, (stages[:-1].ravel(), stages[1:].ravel()), bytes_per_s / stages.shape[1])
    return moved


def _expert_groups(pool: Pool, replica: Ints) -> Ints:
    """Return the server of each rank of every expert group, shape (groups, expert); split experts lie on neighbors."""
    split = pool.parallelism
    stages = _by_stage(pool, replica).reshape(split.pipeline, split.expert, split.expert_tensor)
    return stages.transpose(0, 2, 1).reshape(-1, split.expert)


def _group(ranks: Ints, size_bytes: float) -> AllReduceGroup:
    return AllReduceGroup(tuple(np.unique(ranks).tolist()), round(size_bytes))


def server_copies(
    experts: Experts, servers_of_ranks: Ints, servers: int, relayed: bool, loads: ExpertLoads | None = None
) -> Floats:
    """Return the copies of a token that reach the experts on each server, shape (servers,).

    Averages over layers. Where tokens are relayed inside servers, one copy goes to a server however many of a
    token's experts are there; then the probability of at least one of them counts.

    Parameters
    ----------
    servers_of_ranks : int64 array, shape (expert,)
        The server of each rank of an expert group; rank j holds the j-th block of experts.
    loads : ExpertLoads, optional
        Even where not given.

    Examples
    --------
    A token's 8 experts in DeepSeek-V3 are on 3.63 of 8 servers with 8 ranks, on average.

    >>> from topoopt.workloads.transformer import find_transformer
    >>> experts, ranks = find_transformer("deepseek-v3").experts, np.repeat(np.arange(8), 8)
    >>> server_copies(experts, ranks, 8, True).sum().round(2), server_copies(experts, ranks, 8, False).sum()
    (np.float64(3.63), np.float64(8.0))
    """
    ranks = len(servers_of_ranks)
    even = np.full((1, ranks), 1.0 / ranks)
    by_rank = even if loads is None else rank_shares(taken_shares(loads, experts), ranks)
    by_server = np.zeros((len(by_rank), servers))
    np.add.at(by_server.T, servers_of_ranks, by_rank.T)
    if not relayed:
        return np.asarray(experts.per_token * by_server.mean(axis=0))
    shares, place = np.unique(by_server, return_inverse=True)
    visits = np.array([_visits(experts, share) for share in shares.tolist()])
    return np.asarray(visits[place].reshape(by_server.shape).mean(axis=0))


def _visits(experts: Experts, share: float) -> float:
    """Return the probability that a token goes to a server with this share of the experts."""
    if share <= 0:
        return 0.0
    if share >= 1:
        return 1.0
    groups = experts.route_groups, experts.groups_per_token
    return share * expected_places(experts.count, experts.per_token, 1 / share, *groups)


def pass_bytes(model: TransformerModel, parallelism: Parallelism, dispatch: str = "fp8") -> PassBytes:
    """Return the bytes of a token's pass.

    An attention part and a dense feed-forward part each end in an AllReduce over ``tensor`` ranks. A layer of experts
    that are spread (``expert`` > 1) has dispatch and combine instead; otherwise its experts are split over all
    accelerators of a stage.

    Raises
    ------
    InvalidInput
        For an unknown dispatch.

    Examples
    --------
    Llama 3 70B in 8 ways: 160 AllReduces, of 1 MiB for 64 tokens.

    >>> from topoopt.workloads.transformer import find_transformer
    >>> one = pass_bytes(find_transformer("llama3-70b"), Parallelism(tensor=8))
    >>> one.tensor_reduces, 64 * one.reduced_bytes / 2**20
    (160, 1.0)
    """
    check_known("dispatch", dispatch, DISPATCHES)
    tensor, spread = parallelism.tensor, parallelism.expert > 1
    hidden, experts = model.hidden, model.experts
    width = hidden if experts is None else experts.width or hidden
    mixers = model.attention_layers + model.recurrent_layers
    split = 0 if spread or parallelism.stage_accelerators == 1 else model.moe_layers
    inside = split if parallelism.attention_data == 1 else 0
    return PassBytes(
        (mixers + model.dense_layers if tensor > 1 else 0) + inside,
        split - inside,
        ACTIVATION_BYTES * hidden,
        ACTIVATION_BYTES * hidden,
        DISPATCHES[dispatch] * width,
        ACTIVATION_BYTES * width,
        model.moe_layers if spread else 0,
    )


@cache
def exchange_law() -> ExchangeLaw:
    """Return the law.

    Examples
    --------
    >>> law = exchange_law()
    >>> round(law.base_s * 1e6), round(law.slowness, 2), round(law.error, 3)
    (32, 1.04, 0.061)
    """
    terms: list[list[float]] = []
    for row in packaged_rows("inference", "expert_exchanges"):
        copies = int(row["tokens"]) * int(row["experts_per_token"]) * int(row["hidden"])
        per_server = int(row["ranks_per_server"])
        servers = int(row["ranks"]) / per_server
        for number_bytes, seconds in (
            (DISPATCHES["fp8"], float(row["dispatch_s"])),
            (ACTIVATION_BYTES, float(row["combine_s"])),
        ):
            sent = copies * number_bytes
            outside_s = sent * (1 - 1 / servers) / float(row["nic_bytes_per_s"])
            inside_s = sent / servers * (1 - 1 / per_server) / INSIDE_BYTES_PER_S
            terms.append([1 / seconds, outside_s / seconds, inside_s / seconds])
    columns = np.array(terms)
    found = np.linalg.lstsq(columns, np.ones(len(columns)), rcond=None)[0]
    off = columns @ found - 1
    base_s, slowness, inside_slowness = found.tolist()
    return ExchangeLaw(base_s, slowness, inside_slowness, float(np.abs(off).mean()))
