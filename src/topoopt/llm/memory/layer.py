"""Activations of one transformer layer that its backward pass needs, per token of one accelerator.

The terms are those of Korthikanti et al. 2022, section 4, for any feed-forward size, for grouped-query and latent
attention, for gated feed-forward parts and for experts. With ``h`` hidden, ``a`` heads, ``s`` tokens of a sequence,
2-byte elements, multi-head attention and an MLP of ``4h`` they come out as ``34 + 5as/h`` bytes per token and element
of the hidden size, of which ``10`` are not split by tensor parallelism unless the sequence is.
"""

from dataclasses import dataclass

import numpy as np

from topoopt.hardware import PRECISIONS
from topoopt.llm.columns import Bools, Floats
from topoopt.llm.configuration_table import ConfigurationTable
from topoopt.llm.memory.context import kept_key_heads
from topoopt.transformer import TransformerModel

ELEMENT_BYTES = np.array([4.0 if name in ("fp32", "tf32") else 2.0 for name in PRECISIONS])
"""Of an activation, by index of precision. fp8 computes in 8 bits and keeps what it saves in 16."""

MASK_BYTES = 1.0
SCORE_BYTES = 4.0


@dataclass(frozen=True, eq=False)
class LayerActivations:
    """Bytes per layer and token, each of shape (configurations,).

    Attributes
    ----------
    rest : float array
        Everything but the core of attention.
    core : float array
        The core of attention, which selective recomputation computes again: scores, softmax and its dropout.
    entry : float array
        What enters the layer, all that full recomputation keeps.
    """

    rest: Floats
    core: Floats
    entry: Floats


def layer_activations(
    model: TransformerModel, table: ConfigurationTable, layer_is_moe: bool, fused: Bools
) -> LayerActivations:
    """Return what a layer keeps, where ``fused`` says which configurations have fused attention."""
    element = ELEMENT_BYTES[table.precision]
    whole = np.where(table.sequence_parallel > 0, 1.0 / table.tp, 1.0)
    norms = (2 * element * model.norms_per_layer + MASK_BYTES * 2 * has_dropout(model)) * model.hidden * whole
    feed_forward = (
        _experts(model, table, element, whole) if layer_is_moe else _mlp(model, model.ffn, table, element)
    )
    return LayerActivations(
        rest=norms + _projections(model, table, element, whole) + feed_forward,
        core=_core(model, table, element, fused),
        entry=element * model.hidden * whole,
    )


def has_dropout(model: TransformerModel) -> bool:
    """Return whether dropout masks are kept: by models of the GPT and BERT generation, which have biases everywhere."""
    return model.norm == "layernorm" and model.mlp_bias and not model.gated


def widest_gradients(model: TransformerModel, table: ConfigurationTable) -> Floats:
    """Return bytes per token of the gradients alive at once in a layer's backward pass, shape (configurations,).

    Those of the layer's output and input, and of the widest part between: the inner feed-forward part.
    """
    element = ELEMENT_BYTES[table.precision]
    inner = [_mlp(model, model.ffn, table, element)] if model.ffn else []
    if model.experts is not None:
        inner.append(_routed(model, table, element))
    return np.asarray(2 * element * model.hidden + np.max(inner, axis=0), np.float64)


def _projections(
    model: TransformerModel, table: ConfigurationTable, element: Floats, whole: Floats
) -> Floats:
    """Queries, keys, values and the input of the output projection."""
    latent = model.latent
    if latent is None:
        keys = 2 * kept_key_heads(model, table)
        queries = 2 * model.heads / table.tp
        return np.asarray(element * model.head_dim * (queries + keys), np.float64)
    down = 2 * (latent.query_rank + latent.key_value_rank) + latent.rope_head_dim
    query = latent.nope_head_dim + latent.rope_head_dim
    up = 2 * query + (latent.nope_head_dim + latent.value_head_dim) + 2 * latent.value_head_dim
    return np.asarray(element * (down * whole + model.heads * up / table.tp), np.float64)


def _core(model: TransformerModel, table: ConfigurationTable, element: Floats, fused: Bools) -> Floats:
    """Softmax, its dropout mask and output over all keys; a fused kernel keeps one number per head."""
    heads = model.heads / table.tp
    return np.where(fused, SCORE_BYTES * heads, (2 * element + MASK_BYTES) * heads * table.sequence)


def _mlp(model: TransformerModel, ffn: int, table: ConfigurationTable, element: Floats) -> Floats:
    return np.asarray(element * (3 if model.gated else 2) * ffn / table.tp, np.float64)


def _experts(model: TransformerModel, table: ConfigurationTable, element: Floats, whole: Floats) -> Floats:
    """Router, shared experts and the routed ones."""
    experts = model.experts
    assert experts is not None
    router = 2 * SCORE_BYTES * experts.count * whole
    return router + _mlp(model, experts.shared_ffn, table, element) + _routed(model, table, element)


def _routed(model: TransformerModel, table: ConfigurationTable, element: Floats) -> Floats:
    """Tokens that came in from the group, what experts make of them, and what is weighted on the way back.

    Loads are even, as far as capacity does not pad them.
    """
    experts = model.experts
    assert experts is not None
    copies = experts.per_token * max(experts.capacity_factor, 1.0) / table.tp
    inner = (3 if model.gated else 2) * experts.ffn
    return np.asarray(element * copies * (2 * model.hidden * table.etp + inner), np.float64)
