"""The law of a step: seconds of decoding and of prefill over columns of configurations, and as a table for simulators.

Products of activations with weights take ``(c^3 + m^3)^(1/3)``, where ``c`` is their arithmetic and ``m`` the
reading of weights; experts are read if any token uses them; caches are read completely; accelerators of a server
sum their parts twice per layer; the engine adds its overhead per layer, step and request. Where two halves of a
batch overlap, one computes while the other communicates.
"""

from functools import lru_cache

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.base.errors import InvalidInput
from topoopt.catalog import find_accelerator
from topoopt.inference.deployment import EngineSettings, Parallelism
from topoopt.inference.network.traffic import ACTIVATION_BYTES, DISPATCHES, exchange_law
from topoopt.inference.step.constants import Constants, Number, ServedStack, shipped_constants
from topoopt.inference.step.replica import Replica, replica
from topoopt.inference.step_table import Halves, StepTable, overlapped_s
from topoopt.transformers import System, allreduce_s
from topoopt.workloads.transformer import TransformerModel

MICRO_BATCH_TOKENS = 1024.0
"""Least tokens of a prompt's pieces in pipeline stages; smaller ones would read weights too often."""
ONE, USUAL = Parallelism(), EngineSettings()
LARGEST_STEP = 2**20
"""Tokens of the longest step in a table, of each copy of attention."""
DECODE_REFERENCE, PROMPT_REFERENCE = 2048.0, 4096.0
"""Tokens at which the seconds of a cached token, and of a pair, are taken: windows make them depend on the length."""


@lru_cache(maxsize=4096)
def step_table(
    model: TransformerModel,
    accelerator: str,
    parallelism: Parallelism = ONE,
    settings: EngineSettings = USUAL,
    constants: Constants | None = None,
    fabric: System | None = None,
) -> StepTable:
    """Return the step times of a replica.

    Parameters
    ----------
    accelerator
        A name or alias of the catalogue.
    constants
        Constants of the user's own calibration, in place of the shipped ones.
    fabric
        Servers on a fabric, which adds the time of bytes between them; those of the reference system are in, else.

    Raises
    ------
    InvalidInput
        If a name is unknown, or the model cannot be split so.
    """
    check_split(model, parallelism)
    part = find_accelerator(accelerator)
    stack = ServedStack(model, part, settings, split=parallelism)
    law = shipped_constants(stack) if constants is None else constants
    return table_of(replica(model, part, parallelism, settings, fabric), law, parallelism)


def table_of(one: Replica, law: Constants, parallelism: Parallelism) -> StepTable:
    """Tabulate the step times of a replica."""
    # the numbers of tokens of a table: all powers of two and of half steps between, from 1
    exponents = np.arange(0, 2 * int(np.ceil(np.log2(LARGEST_STEP * parallelism.attention_data))) + 1) / 2
    tokens = np.unique(np.round(2.0**exponents)).astype(float)
    rows = Replica(*(np.repeat(getattr(one, name), len(tokens)) for name in Replica.__slots__))
    own = tokens / parallelism.attention_data
    floor = law.prompt_layer_s * one.layers
    cached = cached_s(one, law, np.array([DECODE_REFERENCE]))[0] / DECODE_REFERENCE
    pairs = prompt_pairs_s(one, law, np.array([PROMPT_REFERENCE]))[0] / (PROMPT_REFERENCE**2 / 2)
    return StepTable(
        tokens.astype(np.int64),
        token_s(rows, law, tokens, decoding=True) + engine_s(rows, law, tokens),
        smooth(token_s(rows, law, tokens, decoding=False), floor) + law.prompt_step_s,
        head_s(rows, law, own),
        float(cached) / parallelism.attention_data,
        float(pairs) / parallelism.attention_data,
        parallelism.pipeline,
        _halves(rows, law, tokens) if np.any(one.overlaps) else None,
    )


def _halves(rows: Replica, law: Constants, tokens: Floats) -> Halves:
    works, sends = halves_s(rows, law, tokens, decoding=True)
    reads, brings = halves_s(rows, law, tokens, decoding=False)
    return Halves(
        works + engine_s(rows, law, tokens),
        sends,
        smooth(reads, law.prompt_layer_s * rows.layers) + law.prompt_step_s,
        brings,
        int(rows.layers[0]),
    )


def check_split(model: TransformerModel, parallelism: Parallelism) -> None:
    """Refuse degrees that a model does not have parts for.

    Raises
    ------
    InvalidInput
        With the possible values.
    """
    if model.heads % parallelism.tensor:
        possible = ", ".join(str(one) for one in range(1, 65) if model.heads % one == 0)
        raise InvalidInput(
            f"tensor {parallelism.tensor}: does not divide {model.heads} heads of {model.name}; possible: {possible}"
        )
    if parallelism.pipeline > model.layers:
        raise InvalidInput(f"pipeline {parallelism.pipeline}: {model.name} has {model.layers} layers")
    experts = model.experts.count if model.experts else 1
    if parallelism.expert > experts:
        what = f"has {experts} experts" if model.experts else "has no experts"
        raise InvalidInput(f"expert {parallelism.expert}: {model.name} {what}; take at most {experts}")


def decode_step_s(one: Replica, law: Constants, requests: Number, cached: Number) -> Floats:
    """Return the seconds of a step in which every request gets its next token.

    Parameters
    ----------
    requests
        Requests of a whole replica.
    cached
        Mean tokens of a request in the caches.
    """
    own = np.maximum(requests / one.attention_data, 1.0)
    layers = token_s(one, law, requests, True, own * cached_s(one, law, cached))
    return layers + head_s(one, law, own) + engine_s(one, law, requests)


def engine_s(one: Replica, law: Constants, requests: Number) -> Floats:
    """Return the engine overhead of a decode step.

    Every host prepares the requests of its own accelerators, while others prepare theirs.
    """
    return np.asarray(law.step_s + law.request_s * requests / one.hosts)


def prompt_step_s(one: Replica, law: Constants, tokens: Number, prompts: Number = 1.0) -> Floats:
    """Return the prefill time of prompts of equal length.

    Copies of attention prefill their prompts in parallel.
    """
    own = tokens / np.minimum(prompts, one.attention_data)
    pairs = prompt_pairs_s(one, law, tokens / prompts) * np.maximum(prompts / one.attention_data, 1.0)
    base = token_s(one, law, own * one.attention_data, False, pairs) - pairs
    floor = law.prompt_layer_s * one.layers
    flowing = np.clip(tokens / MICRO_BATCH_TOKENS, 1.0, one.pipeline)
    filled = (one.pipeline + flowing - 1) / (one.pipeline * flowing)
    return np.asarray(
        (smooth(base, floor) + pairs) * filled
        + head_s(one, law, np.maximum(prompts / one.attention_data, 1.0))
        + law.prompt_step_s
    )


def token_s(
    one: Replica, law: Constants, tokens: Number, decoding: bool, attention_s: Number = 0.0
) -> Floats:
    """Return the time of all layers for the tokens of a replica.

    Parameters
    ----------
    attention_s
        Seconds of attention's caches, or of a prompt's pairs, that are part of it.
    """
    alone = layers_s(one, law, tokens, decoding) + attention_s + exchange_s(one, law, tokens, decoding)
    if not np.any(one.overlaps):
        return np.asarray(alone)
    works, sends = halves_s(one, law, tokens, decoding)
    return np.where(
        one.overlaps > 0, np.minimum(alone, overlapped_s(one.layers, works + attention_s, sends)), alone
    )


def halves_s(one: Replica, law: Constants, tokens: Number, decoding: bool) -> tuple[Floats, Floats]:
    """Return the compute times of two half-batches, and the times of their communication.

    Both halves read the weights, so that together they compute longer than the batch as a whole.
    """
    half = tokens / 2
    return 2 * layers_s(one, law, half, decoding), 2 * exchange_s(one, law, half, decoding)


def layers_s(one: Replica, law: Constants, tokens: Number, decoding: bool) -> Floats:
    """Return the compute time of all layers, without attention's caches and without exchanges of experts."""
    own = tokens / one.attention_data
    compute = law.dense_compute * (law.decode_compute if decoding else 1.0)
    rate, reading = one.dense_flops * compute, one.memory_bytes_per_s * law.dense_memory
    attention = smooth(
        2 * one.attention_weights * own / rate, one.attention_weights * one.attention_bytes / reading
    )
    mlp_rate = one.expert_flops * compute
    mlp = smooth(2 * one.mlp_weights * own / mlp_rate, one.mlp_weights * one.mlp_bytes / reading)
    sums = attention + mlp + expert_s(one, law, tokens) + reduce_s(one, own)
    if np.any(one.adapters):
        sums = sums + adapters_s(one, law, tokens, decoding)
    size = ACTIVATION_BYTES * own * one.hidden
    between = law.activation_passes * one.layers * size / one.memory_bytes_per_s
    return np.asarray(sums + between + boundary_s(one, own) + (law.layer_s * one.layers if decoding else 0.0))


def expert_s(one: Replica, law: Constants, tokens: Number) -> Floats:
    """Return the seconds of the routed experts of all layers."""
    mean = tokens * one.experts_per_token / one.expert_ranks
    uneven = busiest_over_mean(np.maximum(mean, 1.0), one.expert_ranks)
    touched = touched_experts(one.experts, one.experts_per_token, tokens) * one.experts_held / one.experts
    reading = touched * one.expert_weights * one.expert_bytes / (one.memory_bytes_per_s * law.expert_memory)
    arithmetic = 2 * one.expert_weights * mean * uneven / (one.expert_flops * law.expert_compute)
    return smooth(arithmetic, reading)


def adapters_s(one: Replica, law: Constants, tokens: Number, decoding: bool) -> Floats:
    """Return the time of LoRA adapters, one per request, all equally frequent.

    An adapter is read once for all requests of a step that have it (Chen et al., Punica, MLSys 2024); tokens of prompts
    are those of one request. Shares of promised rates are those of weights, for no published run has adapters.
    """
    own = tokens / one.attention_data
    count = np.maximum(one.adapters, 1.0)
    met = touched_experts(count, 1.0, own) if decoding else np.ones_like(own)
    mean = tokens * one.experts_per_token / one.expert_ranks
    kinds = np.maximum(met * one.experts, 1.0)
    chosen = np.minimum(one.experts_per_token, kinds)
    experts = touched_experts(kinds, chosen, tokens) * one.experts_held / one.experts
    reading = one.adapter_weights * met + one.adapter_expert_weights * experts
    arithmetic = one.adapter_weights * own + one.adapter_expert_weights * mean
    seconds = smooth(
        2 * arithmetic / (one.plain_flops * law.dense_compute),
        2.0 * reading / (one.memory_bytes_per_s * law.dense_memory),
    )
    return np.where(one.adapters > 0, seconds, 0.0)


def reduce_s(one: Replica, tokens: Number) -> Floats:
    """Return the seconds of the sums over a tensor parallel group: two a layer, each an AllReduce as of training."""
    size = ACTIVATION_BYTES * tokens * one.hidden
    terms = one.reduce_latency_s, one.reduce_s_per_byte, one.direct_step_s, one.direct_s_per_byte
    return 2 * one.layers * (allreduce_s(size, one.tensor, terms) - size * one.reduce_fabric_s_per_byte)


def exchange_s(one: Replica, law: Constants, tokens: Number, decoding: bool) -> Floats:
    """Return the seconds of bringing tokens to their experts and back, where copies of attention share these.

    Inside a scale-up domain a token goes once to each rank that has experts of it. Between domains kernels for prompts
    send it once to each that has some and hand it on inside, over links that are then the faster part; those for
    decoding send a copy to each expert (DeepEP's normal and low-latency kernels, whose own law holds between domains:
    no AllReduce says how fast they are).
    """
    own = tokens / one.attention_data
    ranks = np.where(one.attention_data > 1, one.stage, 1.0)
    inside = np.minimum(ranks, one.domain)
    chosen = np.maximum(one.experts_per_token, 1.0)
    near = touched_ranks(ranks, chosen) * (ranks - 1) / ranks
    size = own * one.hidden * (DISPATCHES["fp8"] + ACTIVATION_BYTES)
    near_s = 2 * law.exchange_s * np.log2(np.maximum(ranks, 2.0)) + near * size * one.link_s_per_byte
    kernels = exchange_law()
    far = (chosen if decoding else one.domains_visited) * (1 - inside / ranks)
    far_s = 2 * kernels.base_s + far * size * kernels.slowness / one.network_bytes_per_s
    each_s = np.where(ranks > inside, far_s, near_s)
    return np.asarray(one.moe_layers * np.where(ranks > 1, each_s, 0.0))


def boundary_s(one: Replica, tokens: Number) -> Floats:
    """Return the seconds of handing tokens from stage to stage, over the network where stages fill a server."""
    size = ACTIVATION_BYTES * tokens * one.hidden
    return (one.pipeline - 1) * (one.handoff_s + size * one.handoff_s_per_byte)


def head_s(one: Replica, law: Constants, rows: Number) -> Floats:
    """Return the time of the output layer for the given rows."""
    return smooth(
        2 * one.head_weights * rows / (one.plain_flops * law.dense_compute),
        2.0 * one.head_weights / (one.memory_bytes_per_s * law.dense_memory),
    )


def cached_s(one: Replica, law: Constants, cached: Number) -> Floats:
    """Return the attention time of one more request with the given cached tokens."""
    seen = np.minimum(cached, one.window)
    size = one.cache_bytes_per_token * cached + one.window_bytes_per_token * seen + one.state_bytes
    reading = size / (one.memory_bytes_per_s * law.cache_memory)
    return np.maximum(reading, one.cached_flops * cached / (one.plain_flops * law.pair_compute))


def prompt_pairs_s(one: Replica, law: Constants, tokens: Number) -> Floats:
    """Return the seconds of attention among the tokens of one prompt."""
    seen = np.minimum(tokens, one.window)
    pairs = one.pair_flops * tokens**2 / 2 + one.window_pair_flops * (seen * tokens - seen**2 / 2)
    return pairs / (one.plain_flops * law.pair_compute)


def smooth(arithmetic: Number, reading: Number) -> Floats:
    """Return the time of overlapped arithmetic and memory access: a little more than the longer."""
    return np.asarray(np.cbrt(arithmetic**3 + reading**3))


def touched_experts(experts: Number, per_token: Number, tokens: Number) -> Floats:
    """Return the expected number of distinct experts of a layer that the tokens choose at random.

    Examples
    --------
    >>> touched_experts(256.0, 8.0, np.array([1.0, 64.0])).round(2).tolist()
    [8.0, 222.44]
    """
    return np.asarray(experts * (1 - (1 - per_token / experts) ** tokens))


def touched_ranks(ranks: Number, per_token: Number) -> Floats:
    """Return the expected number of distinct ranks of a token's experts, spread at random.

    Examples
    --------
    >>> round(float(touched_ranks(32.0, 8.0)), 3)
    7.178
    """
    return np.asarray(ranks * (1 - (1 - 1 / ranks) ** per_token))


def busiest_over_mean(mean_load: Floats, ranks: Floats) -> Floats:
    """Return the load of the busiest rank over the mean one, of choices at random.

    The largest of ``ranks`` Poisson loads of mean ``mu`` is about ``mu + sqrt(2 mu ln ranks)``.
    """
    return 1 + np.sqrt(2 * np.log(np.maximum(ranks, 1.0)) / np.maximum(mean_load, 1e-9))
