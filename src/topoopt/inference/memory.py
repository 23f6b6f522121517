"""Memory of a served model: weights by part, and keys and values of requests, in bytes and pages."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from topoopt.base.errors import InvalidInput, check_known
from topoopt.base.units import format_memory
from topoopt.catalog import Accelerator
from topoopt.inference.deployment import EngineSettings, Parallelism, engine_memory
from topoopt.workloads.transformer import (
    TransformerModel,
    adapter_parameters,
    count_parameters,
    layer_kinds,
    layer_parameters,
)


@dataclass(frozen=True, slots=True)
class AdapterShape:
    """Parameters of one adapter of every linear layer for each of its rank, all layers together.

    Attributes
    ----------
    whole, split : int
        Parameters outside of experts: held by each accelerator of a tensor parallel group, and split by them.
    one_expert_whole, one_expert_split : float
        The same for one routed expert.
    experts : int
        Experts per layer; 0 for none.
    """

    whole: int
    split: int
    one_expert_whole: float
    one_expert_split: float
    experts: int


@dataclass(frozen=True, slots=True)
class WeightFormat:
    """A format of weights.

    Attributes
    ----------
    expert_bytes, attention_bytes, other_bytes : float
        Bytes per weight: in routed experts; in attention of a model with experts; in everything else that is
        quantized, attention of dense models included. Scales of blocks are counted.
    compute : str
        The precision whose rate its products have, where the accelerator has it; else that of bf16.
    """

    expert_bytes: float
    attention_bytes: float
    other_bytes: float
    compute: str


WEIGHT_FORMATS: Mapping[str, WeightFormat] = {
    "bf16": WeightFormat(2.0, 2.0, 2.0, "bf16"),
    "fp16": WeightFormat(2.0, 2.0, 2.0, "fp16"),
    "fp8": WeightFormat(1.0, 1.0, 1.0, "fp8"),
    "int8": WeightFormat(1.0, 1.0, 1.0, "bf16"),
    "fp4": WeightFormat(0.5 + 1 / 16, 2.0, 0.5 + 1 / 16, "fp4"),
    "int4": WeightFormat(0.5 + 2 / 32, 2.0, 2.0, "bf16"),
}
"""``fp4`` is NVFP4, a scale of one byte for 16 weights, and checkpoints of models with experts leave attention in bf16
(those of NVIDIA on Hugging Face; MXFP4 of gpt-oss does, too, with a scale for 32). ``int4`` is that of Kimi K2: routed
experts only, a scale of two bytes for 32."""
CACHE_FORMATS: Mapping[str, float] = {"bf16": 2.0, "fp16": 2.0, "fp8": 1.0, "int8": 1.0, "fp4": 0.5 + 1 / 16}
"""Bytes of a number in caches of keys and values."""
HEAD_BYTES = 2.0
"""Bytes of a weight of embedding, output layer and adapters, which stay in 16 bits."""


@dataclass(frozen=True, slots=True)
class WeightShape:
    """Weights of a model by how they are split, all layers together.

    Attributes
    ----------
    attention_split, attention_whole : int
        Parameters of attention and recurrences: those split by tensor parallelism, and those held whole by each
        accelerator.
    mlp : int
        Dense feed-forward parts and shared experts.
    whole : int
        Routers and norms.
    one_expert : int
        One routed expert, over all layers that have experts.
    experts, experts_per_token : int
        Experts per layer; 0 for none.
    embedding, output : int
    """

    attention_split: int
    attention_whole: int
    mlp: int
    whole: int
    one_expert: int
    experts: int
    experts_per_token: int
    embedding: int
    output: int


STATE_BYTES = 4
"""Bytes of a number in the state of a recurrence, which engines keep in fp32."""


@dataclass(frozen=True, slots=True)
class CacheShape:
    """Cache size of a request, by layers of each kind; all of them together.

    Attributes
    ----------
    whole_values : int
        Numbers that each token leaves in layers that look at all of them.
    window_values : int
        Numbers that each of the last ``window`` tokens leaves in layers of sliding windows.
    window : int
        Tokens that such a layer keeps.
    state_values : int
        Numbers of the states of recurrent layers, whatever the length.
    shares : int
        Accelerators that can split the cache of a request: heads of keys and values; 1 with latent attention.
    """

    whole_values: int
    window_values: int
    window: int
    state_values: int
    shares: int


def cache_shape(model: TransformerModel) -> CacheShape:
    """Return the cache shape of a model's requests.

    With grouped queries a token leaves ``2 * kv_heads * head_dim`` numbers a layer, with latent attention
    ``key_value_rank + rope_head_dim``; an indexer keeps one key of its own. Sparse attention stores all tokens, though
    it looks at few.
    """
    latent = model.latent
    values = latent.key_value_rank + latent.rope_head_dim if latent else 2 * model.kv_heads * model.head_dim
    sparse = model.indexer is not None
    values += model.indexer.head_dim if model.indexer else 0
    windowed = 0 if sparse else model.window_layers
    recurrence = model.recurrence
    state = 0
    if recurrence is not None:
        state = recurrence.inner * recurrence.key_dim + recurrence.convolved * max(
            recurrence.convolution - 1, 0
        )
    return CacheShape(
        (model.attention_layers - windowed) * values,
        windowed * values,
        model.window if windowed else 0,
        model.recurrent_layers * state,
        model.kv_heads if latent is None else 1,
    )


def cache_bytes_per_token(model: TransformerModel, precision: str = "bf16") -> float:
    """Return the bytes that one more token leaves in the caches of a model, beyond all windows, stored once.

    Examples
    --------
    >>> from topoopt.workloads.transformer import find_transformer
    >>> cache_bytes_per_token(find_transformer("llama3-70b"))
    327680.0
    """
    shape = cache_shape(model)
    return float(
        (shape.whole_values + (0 if shape.window else shape.window_values)) * cache_element_bytes(precision)
    )


def request_cache_bytes(
    model: TransformerModel, tokens: int, precision: str = "bf16", page_tokens: int = 1
) -> float:
    """Return the cache bytes of a request with ``tokens`` tokens, stored once: whole pages, windows, states."""
    shape, element = cache_shape(model), cache_element_bytes(precision)
    paged = page_tokens * cache_pages(tokens, page_tokens)
    kept = min(paged, page_tokens * cache_pages(shape.window, page_tokens))
    return float(
        element * (shape.whole_values * paged + shape.window_values * kept) + STATE_BYTES * shape.state_values
    )


def cache_pages(tokens: int, page_tokens: int = 16) -> int:
    """Return the pages for ``tokens`` tokens."""
    return -(-tokens // page_tokens)


def cache_copies(model: TransformerModel, tensor: int) -> float:
    """Return the copies of a request's cache over ``tensor`` accelerators: heads beyond ``kv_heads`` are copies.

    The same holds on the wire between pools, but where attention is copied instead of split, or a relay in the server
    hands it on.

    Examples
    --------
    >>> from topoopt.workloads.transformer import find_transformer
    >>> cache_copies(find_transformer("qwen3-235b-a22b"), 8), cache_copies(find_transformer("deepseek-v3"), 8)
    (2.0, 8.0)
    """
    return max(1.0, tensor / cache_shape(model).shares)


@dataclass(frozen=True, slots=True)
class CacheCapacity:
    """Memory left for caches, over all attention copies of one replica.

    Attributes
    ----------
    bytes_per_accelerator : float
        Memory for caches of one accelerator.
    tokens : int
        Tokens of unending requests that fit: whole pages, all of whose layers keep every token.
    request_tokens : float
        Cached tokens for the given requests, by their mean length; more than ``tokens`` with windows.
    """

    bytes_per_accelerator: float
    tokens: int
    request_tokens: float

    def requests(self, tokens: float) -> int:
        """Return the number of concurrent requests with ``tokens`` tokens."""
        return int(self.request_tokens // tokens)


def cache_capacity(
    model: TransformerModel,
    accelerator: Accelerator,
    parallelism: Parallelism,
    settings: EngineSettings,
    length: int = 4096,
) -> CacheCapacity:
    """Return the cache capacity of a replica.

    Parameters
    ----------
    length
        Tokens of a typical request, for models whose windows and states make a token's bytes depend on it.

    Raises
    ------
    InvalidInput
        If the weights leave no room for a page: with the missing memory, and remedies.
    """
    free = cache_bytes(model, accelerator, parallelism, settings)
    split = min(parallelism.tensor, cache_shape(model).shares) * model.layers / _fullest(model, parallelism)
    page = (
        request_cache_bytes(model, settings.page_tokens, settings.kv_precision, settings.page_tokens) / split
    )
    if free < page:
        raise InvalidInput(
            f"{model.name}: {format_memory(accelerator_weight_bytes(model, parallelism, settings))} of weights an "
            f"accelerator leave no room for keys and values in {accelerator.name}, which has "
            f"{format_memory(accelerator.usable_memory_bytes)} (memory_share {settings.share:g}); take more tensor, "
            "pipeline or expert parallelism, or a smaller weight precision"
        )
    grown = cache_bytes_per_token(model, settings.kv_precision)
    usual = request_cache_bytes(model, length, settings.kv_precision, settings.page_tokens) / length
    pages = int(free * split / (grown * settings.page_tokens)) if grown else 2**40
    copies = parallelism.attention_data
    return CacheCapacity(free, pages * settings.page_tokens * copies, free * split / usual * copies)


def cache_bytes(
    model: TransformerModel, accelerator: Accelerator, parallelism: Parallelism, settings: EngineSettings
) -> float:
    """Return the bytes that an engine leaves for caches on the fullest accelerator; negative: no room."""
    engine, usable = engine_memory(settings.engine, settings.version), accelerator.usable_memory_bytes
    runtime = engine.context_bytes + engine.group_bytes * (parallelism.stage_accelerators > 1)
    weights = accelerator_weight_bytes(model, parallelism, settings)
    if engine.basis == "static":
        return settings.share * (usable - runtime) - weights
    taken = weights + runtime + activation_bytes(model, parallelism, settings)
    return settings.share * (usable - taken) if engine.basis == "free" else settings.share * usable - taken


def activation_bytes(model: TransformerModel, parallelism: Parallelism, settings: EngineSettings) -> float:
    """Return the peak of the trial run by which engines size caches, beside weights: of a layer or of the logits.

    A layer has queries, keys, values and outputs, and three tensors of the inner size, in 16 bits; the logits of all
    requests are in fp32, beside two tensors of the hidden size. Tokens in transit through experts have three copies.
    """
    engine, tokens = engine_memory(settings.engine, settings.version), settings.token_budget
    layer = 2.0 * tokens * (3 * model.ffn / parallelism.tensor + 4 * model.hidden)
    logits = 4.0 * settings.max_batch * model.vocabulary * engine.logit_copies + 4.0 * tokens * model.hidden
    routed = 6.0 * tokens * model.hidden * model.experts.per_token if model.experts else 0.0
    return max(layer, logits + engine.base_bytes) + routed


def _fullest(model: TransformerModel, parallelism: Parallelism) -> int:
    return -(-model.layers // parallelism.pipeline)


@lru_cache(maxsize=512)
def weight_shape(model: TransformerModel) -> WeightShape:
    """Return the weights of a model by how they are split."""
    sums = dict.fromkeys(("attention_split", "attention_whole", "mlp", "whole", "one_expert"), 0)
    for kind in layer_kinds(model):
        one, layers = layer_parameters(kind.model, kind.is_moe), len(kind.layers)
        sums["attention_split"] += layers * (one.attention - one.attention_replicated)
        sums["attention_whole"] += layers * one.attention_replicated
        sums["mlp"] += layers * (one.mlp + one.shared)
        sums["whole"] += layers * (one.router + one.norms)
        sums["one_expert"] += layers * one.one_expert
    count, experts = count_parameters(model), model.experts
    return WeightShape(
        **sums,
        experts=experts.count if experts else 0,
        experts_per_token=experts.per_token if experts else 0,
        embedding=count.embedding + count.positions + count.extra,
        output=model.vocabulary * model.hidden,
    )


def attention_element_bytes(model: TransformerModel, precision: str) -> float:
    """Return the bytes of a weight of attention: checkpoints of models with experts keep some formats out of it."""
    one = weight_format(precision)
    return one.attention_bytes if model.experts else one.expert_bytes


def other_element_bytes(model: TransformerModel, precision: str) -> float:
    """Return the bytes of a weight of feed-forward parts outside routed experts; dense models quantize all of them."""
    one = weight_format(precision)
    return one.other_bytes if model.experts else one.expert_bytes


def accelerator_weight_bytes(
    model: TransformerModel, parallelism: Parallelism, settings: EngineSettings
) -> float:
    """Return the weight bytes of an accelerator of a replica, in the stage with most layers.

    Embedding and output layer are on stages of their own where there are several. Attention is split ``tensor`` ways,
    and so are feed-forward parts and shared experts; routed experts are spread over all accelerators of a stage.
    """
    shape, stored = weight_shape(model), weight_format(settings.weight_precision)
    tensor = parallelism.tensor
    attention = shape.attention_split / tensor + shape.attention_whole
    layers = attention * attention_element_bytes(model, settings.weight_precision)
    layers += shape.mlp / tensor * other_element_bytes(model, settings.weight_precision) + 2.0 * shape.whole
    layers += shape.experts * shape.one_expert * stored.expert_bytes / parallelism.stage_accelerators
    ends = (shape.embedding, 0 if model.tied and parallelism.pipeline == 1 else shape.output)
    outside = (sum(ends) if parallelism.pipeline == 1 else max(ends)) / tensor
    layers *= _fullest(model, parallelism) / model.layers
    return layers + outside * HEAD_BYTES + adapter_bytes(model, parallelism, settings)


def weight_format(precision: str) -> WeightFormat:
    """Return a format of weights by its name.

    Raises
    ------
    InvalidInput
        If there is none.
    """
    check_known("weight_precision", precision, tuple(WEIGHT_FORMATS))
    return WEIGHT_FORMATS[precision]


def cache_element_bytes(precision: str) -> float:
    """Return the bytes of a number in a cache.

    Raises
    ------
    InvalidInput
        If there is no such format.
    """
    check_known("kv_precision", precision, tuple(CACHE_FORMATS))
    return CACHE_FORMATS[precision]


def compute_rate(accelerator: Accelerator, precision: str) -> float:
    """Return the peak rate in FLOP/s of products with weights of a format.

    An accelerator without such arithmetic unpacks them and multiplies in bf16, or in fp16 if it has only that.
    """
    peaks = accelerator.peaks
    for one in (weight_format(precision).compute, "bf16", "fp16", "fp32"):
        if one in peaks:
            return peaks[one]
    raise AssertionError(f"{accelerator.name} has no rate at all")


@lru_cache(maxsize=512)
def adapter_shape(model: TransformerModel) -> AdapterShape:
    """Return the parameters of one adapter by how they are split."""
    sums = [0, 0, 0, 0]
    for kind in layer_kinds(model):
        one = adapter_parameters(kind.model, kind.is_moe, "all-linear")
        parts = (one.whole, one.split, one.expert_whole, one.expert_split)
        sums = [total + len(kind.layers) * part for total, part in zip(sums, parts, strict=True)]
    experts = model.experts.count if model.experts else 0
    each = max(experts, 1)
    return AdapterShape(sums[0], sums[1], sums[2] / each, sums[3] / each, experts)


def adapter_bytes(model: TransformerModel, parallelism: Parallelism, settings: EngineSettings) -> float:
    """Return the adapter bytes of an accelerator, in a stage of mean size."""
    if not settings.adapters:
        return 0.0
    shape = adapter_shape(model)
    parts = parallelism.stage_accelerators / parallelism.expert
    outside = shape.whole + shape.split / parallelism.tensor
    one_expert = shape.one_expert_whole + shape.one_expert_split / parts
    values = outside + shape.experts / parallelism.expert * one_expert
    return HEAD_BYTES * settings.adapters * settings.adapter_rank * values / parallelism.pipeline
