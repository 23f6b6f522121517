"""LoRA adapters that a replica serves side by side: what they hold, and what a step reads and computes of them."""

from dataclasses import dataclass
from functools import lru_cache

from topoopt.inference.deployment import EngineSettings, Parallelism
from topoopt.workloads.transformer import TransformerModel, adapter_parameters, layer_kinds

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
