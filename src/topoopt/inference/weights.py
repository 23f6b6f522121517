"""Weights of a served model: how many there are by part, and the bytes of them that an accelerator holds."""

from dataclasses import dataclass
from functools import lru_cache

from topoopt.inference.adapters import adapter_bytes
from topoopt.inference.deployment import EngineSettings, Parallelism
from topoopt.inference.precision import weight_format
from topoopt.workloads.transformer import TransformerModel, count_parameters, layer_kinds, layer_parameters

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
