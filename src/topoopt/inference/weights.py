"""Weights of a served model: how many there are by part, and the bytes of them that an accelerator holds."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from topoopt.base.errors import check_known
from topoopt.catalog import Accelerator
from topoopt.inference.deployment import EngineSettings, Parallelism
from topoopt.workloads.transformer import (
    TransformerModel,
    adapter_parameters,
    count_parameters,
    layer_kinds,
    layer_parameters,
)

ELEMENT_BYTES = 2.0
"""Adapters stay in 16 bits, whatever format the weights have."""


@dataclass(frozen=True, slots=True)
class AdapterShape:
    """Parameters of one adapter of every linear layer for each of its rank, all layers together.

    Attributes
    ----------
    whole, split : int
        Outside of experts: what each accelerator of a tensor parallel group holds, and what they split.
    one_expert_whole, one_expert_split : float
        The same of one routed expert.
    experts : int
        Of one layer; 0 for none.
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
        Of one weight: in routed experts; in attention of a model with experts; in everything else that is quantized,
        attention of dense models included. Scales of blocks are counted.
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
"""Bytes of a weight of embedding and output layer, which stay in 16 bits."""


@dataclass(frozen=True, slots=True)
class WeightShape:
    """Weights of a model by how they are split, all layers together.

    Attributes
    ----------
    attention_split, attention_whole : int
        Of attention and recurrences: what tensor parallelism splits, and what each of its accelerators holds whole.
    mlp : int
        Dense feed-forward parts and shared experts.
    whole : int
        Routers and norms.
    one_expert : int
        One routed expert, over all layers that have experts.
    experts, experts_per_token : int
        Of one layer; 0 for none.
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


@lru_cache(maxsize=512)
def weight_shape(model: TransformerModel) -> WeightShape:
    """Return the weights of a model by how they are split."""
    sums = dict.fromkeys(("split", "kept", "mlp", "whole", "expert"), 0)
    for kind in layer_kinds(model):
        one, layers = layer_parameters(kind.model, kind.is_moe), len(kind.layers)
        sums["split"] += layers * (one.attention - one.attention_replicated)
        sums["kept"] += layers * one.attention_replicated
        sums["mlp"] += layers * (one.mlp + one.shared)
        sums["whole"] += layers * (one.router + one.norms)
        sums["expert"] += layers * one.one_expert
    count, experts = count_parameters(model), model.experts
    return WeightShape(
        sums["split"],
        sums["kept"],
        sums["mlp"],
        sums["whole"],
        sums["expert"],
        experts.count if experts else 0,
        experts.per_token if experts else 0,
        count.embedding + count.positions + count.extra,
        model.vocabulary * model.hidden,
    )


def attention_element_bytes(model: TransformerModel, precision: str) -> float:
    """Return the bytes of a weight of attention: checkpoints of models with experts keep some formats out of it."""
    one = weight_format(precision)
    return one.attention_bytes if model.experts else one.other_bytes


def accelerator_weight_bytes(
    model: TransformerModel, parallelism: Parallelism, settings: EngineSettings
) -> float:
    """Return the bytes of weights that an accelerator of a replica holds, in a stage of mean size.

    Attention is split ``tensor`` ways, and so are feed-forward parts and shared experts; routed experts are spread over
    all accelerators of a stage.
    """
    shape, stored = weight_shape(model), weight_format(settings.weight_precision)
    tensor = parallelism.tensor
    attention = shape.attention_split / tensor + shape.attention_whole
    layers = attention * attention_element_bytes(model, settings.weight_precision)
    layers += shape.mlp / tensor * stored.other_bytes + 2.0 * shape.whole
    layers += shape.experts * shape.one_expert * stored.expert_bytes / parallelism.stage_accelerators
    outside = (shape.embedding + (0 if model.tied else shape.output)) / tensor
    return layers / parallelism.pipeline + outside * HEAD_BYTES + adapter_bytes(model, parallelism, settings)


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
    """Return the bytes of the adapters that an accelerator holds, in a stage of mean size."""
    if not settings.adapters:
        return 0.0
    shape = adapter_shape(model)
    parts = parallelism.stage_accelerators / parallelism.expert
    outside = shape.whole + shape.split / parallelism.tensor
    one_expert = shape.one_expert_whole + shape.one_expert_split / parts
    values = outside + shape.experts / parallelism.expert * one_expert
    return ELEMENT_BYTES * settings.adapters * settings.adapter_rank * values / parallelism.pipeline
