"""Activations of one transformer layer that its backward pass needs, per token of one accelerator.

The terms are those of Korthikanti et al. 2022, section 4, for any feed-forward size, for grouped-query and latent
attention, for gated feed-forward parts and for experts. With ``h`` hidden, ``a`` heads, ``s`` tokens of a sequence,
2-byte elements, multi-head attention and an MLP of ``4h`` they come out as ``34 + 5as/h`` bytes per token and element
of the hidden size, of which ``10`` are not split by tensor parallelism unless the sequence is. What enters a product is
kept as it is computed with: in 8 bits under fp8 (Transformer Engine saves the cast input, not the original).
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TypeVar

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.catalog import PRECISIONS
from topoopt.transformers.configuration_table import STORED_BYTES, Bools, ConfigurationTable
from topoopt.transformers.memory.frameworks import Framework
from topoopt.workloads.transformer import TransformerModel, layer_kinds

ColumnsT = TypeVar("ColumnsT")
ELEMENT_BYTES = np.array([4.0 if name in ("fp32", "tf32") else 2.0 for name in PRECISIONS])
"""Bytes per element of an activation, by index of precision."""
INPUT_BYTES = np.array([1.0 if name in ("fp8", "fp4") else 2.0 for name in PRECISIONS]) * (
    1 + (ELEMENT_BYTES == 4)
)
"""Bytes per element of product inputs kept for gradients of weights, by index of precision; fp4: 8 bits."""
MASK_BYTES = 1.0
SCORE_BYTES = 4.0


@dataclass(frozen=True, eq=False)
class LayerActivations:
    """Bytes per layer and token, each of shape (configurations,); the first six add up to everything.

    Attributes
    ----------
    norms : float array
        Outputs of norms, besides their inputs.
    core : float array
        The core of attention: scores, softmax and its dropout.
    activation : float array
        Output of the activation between feed-forward matrices.
    experts : float array
        The other activations of routed and shared experts, and of their router.
    latent : float array
        Queries, keys and values that latent attention projects up.
    others : float array
    entry : float array
        Input of the layer, all that full recomputation keeps.
    products : float array
        Outputs of every second matrix product and of attention, with the input of the layer.
    """

    norms: Floats
    core: Floats
    activation: Floats
    experts: Floats
    latent: Floats
    others: Floats
    entry: Floats
    products: Floats

    @property
    def rest(self) -> Floats:
        """Everything but the core of attention."""
        return self.norms + self.activation + self.experts + self.latent + self.others

    @property
    def everything(self) -> Floats:
        """All that is kept where nothing is computed again."""
        return self.rest + self.core


def layer_activations(
    model: TransformerModel, table: ConfigurationTable, layer_is_moe: bool, fused: Bools, framework: Framework
) -> LayerActivations:
    """Return the activations of a layer; ``fused`` marks configurations with fused attention."""
    if not model.is_uniform:
        return mean_of_kinds(
            model, layer_is_moe, lambda one: layer_activations(one, table, layer_is_moe, fused, framework)
        )
    element, kept = ELEMENT_BYTES[table.precision], INPUT_BYTES[table.precision]
    whole = np.where(table.sequence_parallel > 0, 1.0 / table.tp, 1.0)
    gathered = 1.0 if framework.keeps_gathered else whole
    hidden, norms = model.hidden, model.norms_per_layer
    entry = element * hidden * whole
    masks = MASK_BYTES * 2 * has_dropout(model) * hidden * whole
    copies = framework.norm_copies * element * hidden * whole
    attention, latent = _projections(model, table, whole, framework)
    into, activated = _feed_forward(model, table, layer_is_moe, framework)
    own = _around_experts(model, table, whole) if layer_is_moe else 0.0
    heads = model.head_dim * (
        2 * model.heads / table.tp + model.kv_heads / np.minimum(table.tp, model.kv_heads)
    )
    inner = model.ffn / table.tp
    every_second_product = np.asarray(
        ELEMENT_BYTES[table.precision] * (heads + inner + model.hidden / table.tp), np.float64
    )
    return LayerActivations(
        norms=norms * (kept * hidden * gathered + copies),
        core=_core(model, table, fused),
        activation=activated,
        experts=np.asarray(into + own if layer_is_moe else 0.0 * into, np.float64),
        latent=latent,
        others=np.asarray(norms * entry + masks + attention + (0.0 if layer_is_moe else into), np.float64),
        entry=entry,
        products=every_second_product + entry,
    )


@dataclass(frozen=True, eq=False)
class ProductInputs:
    """Bytes per token that a layer keeps for the gradients of weights alone, each of shape (configurations,).

    Attributes
    ----------
    feed_forward : float array
        Output of the norm before the feed-forward part, where that has a norm of its own.
    last : float array
        Input of the last feed-forward matrix.
    experts : float array
        Tokens that came in from the group.
    output : float array
        The copy in 8 bits that enters the output projection; in 16 the core keeps that itself.
    """

    feed_forward: Floats
    last: Floats
    experts: Floats
    output: Floats


def product_inputs(
    model: TransformerModel, table: ConfigurationTable, layer_is_moe: bool, framework: Framework
) -> ProductInputs:
    """Return the inputs that only the gradients of weights need."""
    if not model.is_uniform:
        return mean_of_kinds(
            model, layer_is_moe, lambda one: product_inputs(one, table, layer_is_moe, framework)
        )
    element, kept = ELEMENT_BYTES[table.precision], INPUT_BYTES[table.precision]
    whole = np.where(table.sequence_parallel > 0, 1.0 / table.tp, 1.0)
    gathered = 1.0 if framework.keeps_gathered else whole
    inner, arrived = _inner(model, layer_is_moe), 0.0
    if layer_is_moe:
        arrived = _visits(model) * _expert_width(model)
    values = model.latent.value_head_dim if model.latent else model.head_dim
    heads = model.heads * (model.mixer(0) == "*")
    return ProductInputs(
        feed_forward=np.asarray(kept * model.hidden * gathered * (model.norms_per_layer > 1), np.float64),
        last=np.asarray(kept * inner / table.tp, np.float64),
        experts=np.asarray(kept * arrived * table.etp / table.tp, np.float64),
        output=(_output_bytes(element, kept, framework) - element) * heads * values / table.tp,
    )


def has_dropout(model: TransformerModel) -> bool:
    """Return whether dropout masks are kept: by models of the GPT and BERT generation, which have biases everywhere."""
    return model.norm == "layernorm" and model.mlp_bias and not model.gated


def widest_gradients(
    model: TransformerModel, table: ConfigurationTable, fused: Bools, framework: Framework
) -> Floats:
    """Return bytes per token of the gradients alive at once in a layer's backward pass, shape (configurations,).

    Gradients of the layer's output and input, and of the widest part between: the inner feed-forward part, or
    softmax and scores of an unfused attention, after the feed-forward part's activations are freed. In compiled
    code gradients replace the tensors that they belong to.
    """
    element, matrices = ELEMENT_BYTES[table.precision], 1 if framework.compiled else 2 + model.gated
    dense = element * matrices * model.ffn / table.tp
    inner: list[Floats] = [dense]
    if not np.all(fused):
        scores = 2 * element * model.heads / table.tp * table.sequence
        inner.append(np.where(fused, 0.0, scores - dense))
    if model.experts is not None:
        experts = model.experts
        each = 2 * _expert_width(model) * table.etp + matrices * experts.ffn
        inner.append(element * _visits(model) * each / table.tp)
    return np.asarray(2 * element * model.hidden + np.max(inner, axis=0), np.float64)


def _projections(
    model: TransformerModel, table: ConfigurationTable, whole: Floats, framework: Framework
) -> tuple[Floats, Floats]:
    """Return queries, keys, values and attention's output: without, and with projection up from ranks."""
    element, kept, latent = ELEMENT_BYTES[table.precision], INPUT_BYTES[table.precision], model.latent
    values = latent.value_head_dim if latent else model.head_dim
    if model.mixer(0) != "*":
        nothing = np.zeros(len(table))
        return nothing if model.mixer(0) == "." else recurrence_kept(model, table, element, kept), nothing
    output = _output_bytes(element, kept, framework) * model.heads * values / table.tp
    if latent is None:
        keys = 2 * kept_key_heads(model, table)
        # A gate is kept, and what it makes of the core's output.
        queries = (1 + 2 * model.attention_gate) * model.heads / table.tp
        plain = element * model.head_dim * (queries + keys) + output
        return plain + _copies(model, table, framework), np.zeros(len(table))
    ranks = latent.query_rank + latent.key_value_rank
    down = element * (ranks + latent.rope_head_dim) + kept * ranks  # their norms' inputs, and outputs
    query = latent.nope_head_dim + latent.rope_head_dim
    up = element * model.heads * (2 * query + values) / table.tp
    return down * whole + output, np.asarray(up, np.float64)


def _output_bytes(element: Floats, kept: Floats, framework: Framework) -> Floats:
    """Return bytes per element of the core's output, including an 8-bit copy for the output projection."""
    both = np.where(kept < element, element + kept, element)
    return np.where(kept < element, framework.output_bytes, both) if framework.output_bytes else both


def _copies(model: TransformerModel, table: ConfigurationTable, framework: Framework) -> Floats | float:
    """Return the additional copies of eager code around attention.

    Queries and keys as they were before rotation, in the storage that values are a view of; attention's output in
    another order of tokens; sines and cosines that were looked up for each token.
    """
    copies: Floats | float = 0.0
    if framework.joint_projection:
        copies = model.heads / table.tp + model.kv_heads / np.minimum(table.tp, model.kv_heads)
    if framework.reordered_output:
        copies = copies + (table.micro_batch > 1) * model.heads / table.tp
    return ELEMENT_BYTES[table.precision] * model.head_dim * (copies + framework.rotary_tables)


def _core(model: TransformerModel, table: ConfigurationTable, fused: Bools) -> Floats:
    """Softmax, its dropout mask and output over all keys; a fused kernel keeps one number per head.

    Without dropout the softmax itself is multiplied by the values, so there is only one copy.
    """
    heads, element = model.heads * (model.mixer(0) == "*") / table.tp, ELEMENT_BYTES[table.precision]
    each = 2 * element + MASK_BYTES if has_dropout(model) else element
    return np.where(fused, SCORE_BYTES * heads, each * heads * table.sequence)


def _feed_forward(
    model: TransformerModel, table: ConfigurationTable, layer_is_moe: bool, framework: Framework
) -> tuple[Floats, Floats]:
    """Return the bytes of the input of the activation between feed-forward matrices, and of its output."""
    element, kept = ELEMENT_BYTES[table.precision], INPUT_BYTES[table.precision]
    columns = _inner(model, layer_is_moe) / table.tp
    stored = np.where(table.activation_inputs > 0, STORED_BYTES[table.activation_inputs], element)
    into = stored * columns * (2 if model.gated else 1)
    return into, columns * (kept + element * framework.gate_copies * model.gated)


def _around_experts(model: TransformerModel, table: ConfigurationTable, whole: Floats) -> Floats:
    """Router, and tokens that came in from the group.

    Loads are even, as far as capacity does not pad them. Outputs of experts are weighted inside of them, so that
    nothing of it is kept on its return (Megatron Core's ``weighted_bias_swiglu``).
    """
    experts = model.experts
    assert experts is not None
    router = 2 * SCORE_BYTES * experts.count * whole
    arrived = _visits(model) * _expert_width(model) * INPUT_BYTES[table.precision] * table.etp / table.tp
    return np.asarray(router + arrived, np.float64)


def _inner(model: TransformerModel, layer_is_moe: bool) -> float:
    """Return the numbers of a token between feed-forward matrices."""
    if not layer_is_moe:
        return 0.0 if model.feed_forwards == "." else float(model.ffn)
    assert model.experts is not None
    return model.experts.shared_ffn + _visits(model) * model.experts.ffn


def _expert_width(model: TransformerModel) -> int:
    """Return the size in which tokens come to routed experts."""
    assert model.experts is not None
    return model.experts.width or model.hidden


def _visits(model: TransformerModel) -> float:
    """Return the number of experts per token, including padding to the capacity."""
    assert model.experts is not None
    return model.experts.per_token * max(model.experts.capacity_factor, 1.0)


def mean_of_kinds(
    model: TransformerModel, layer_is_moe: bool, of_kind: Callable[[TransformerModel], ColumnsT]
) -> ColumnsT:
    """Return columns of an average layer with experts, or without, of a model whose layers differ otherwise.

    Kinds of layers are spread evenly over such models, so that every stage has about the same of each.

    Parameters
    ----------
    of_kind : function
        Returns a dataclass of columns for a model of one kind of layers.
    """
    kinds = [kind for kind in layer_kinds(model) if kind.is_moe == layer_is_moe] or [layer_kinds(model)[0]]
    rows = [(len(kind.layers), of_kind(kind.model)) for kind in kinds]
    whole = sum(count for count, _ in rows)
    noun = type(rows[0][1])
    means = {
        one.name: sum(count / whole * getattr(row, one.name) for count, row in rows)
        for one in fields(noun)  # type: ignore[arg-type]
    }
    return noun(**means)


def recurrence_kept(
    model: TransformerModel, table: ConfigurationTable, element: Floats, kept: Floats
) -> Floats:
    """Return bytes per token that a layer's recurrence keeps between its norm and the residual.

    The kept tensors are the projections, the output of the states, and the gated norm's output into the last
    projection: convolution and states are recomputed from the first (``MambaSplitConv1dScanCombinedFn`` of
    state-spaces/mamba). With the delta rule, the output of the convolution is kept, too
    (``chunk_gated_delta_rule`` of flash-linear-attention).
    """
    one = model.recurrence
    assert one is not None
    numbers = one.projected + 2 * one.gate_rank + one.inner
    numbers += one.convolved * (one.products > 2 and one.convolution > 0)
    return np.asarray((element * numbers + kept * one.inner) / table.tp, np.float64)


def kept_key_heads(model: TransformerModel, table: ConfigurationTable) -> Floats:
    """Return the heads of keys (and of values) that a rank keeps per token.

    With Ulysses a rank has all tokens of at least one head, so that heads fewer than ranks are repeated.
    """
    heads = model.kv_heads / np.minimum(table.tp, model.kv_heads)
    if not np.any(table.context > 0):
        return np.asarray(heads, np.float64)
    return np.where(table.has_word("context", "ulysses"), np.maximum(heads, table.cp), heads)


def context_buffers(model: TransformerModel, table: ConfigurationTable) -> Floats:
    """Return numbers that the layer at work needs for a moment.

    Ulysses: queries, keys, values and output while they leave and arrive. All-gather: keys and values of the whole
    sequence, and their gradients before these are summed up. What a ring gathers piece by piece is gone
    before the backward pass, whose gradients are more.
    """
    if not np.any(table.context > 0) or not np.any(table.cp > 1):
        return np.zeros(len(table))
    query, value = model.head_widths
    heads = model.heads if model.latent is not None else model.kv_heads
    of_keys = np.maximum(heads / table.tp, 1) * (query + value)
    exchanged = model.heads / table.tp * (query + value) + np.maximum(heads / table.tp, table.cp) * (
        query + value
    )
    added = np.where(table.has_word("context", "ulysses"), exchanged, 0.0)
    added = np.where(table.has_word("context", "all-gather"), 2 * of_keys * table.cp, added)
    return np.where(table.cp > 1, added, 0.0)
