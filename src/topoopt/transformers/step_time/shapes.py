"""Shapes of transformers as columns, so that configurations of one model, or runs of many, are timed at once."""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.workloads.transformer import TransformerModel, layer_kinds, layer_parameters


@dataclass(frozen=True, eq=False)
class Shapes:
    """Each a float64 array of shape () for one model or (rows,) for a model per row.

    Attributes
    ----------
    layers, moe_share, hidden : array
        ``moe_share`` is the share of the layers that have experts.
    heads, kv_heads, head_dim, value_dim : array
        ``value_dim`` differs from ``head_dim`` with latent attention only.
    query_rank, key_value_rank, rope_dim : array
        Ranks of latent attention; 0 without.
    ffn, expert_ffn, shared_ffn, into : array
        ``into`` is 2 for gated feed-forward parts, else 1. ``ffn`` is that of layers without experts.
    experts, per_token, capacity : array
        ``capacity`` is the computed over the requested expert tokens: the capacity factor, or 1 without limit.
    route_groups, groups_per_token : array
        Groups of group-limited routing; 0 for none.
    vocabulary, mtp_layers : array
    dense_parameters, replicated_parameters, expert_parameters, table_parameters : array
        Parameters of an average layer: split by tp, held by every tp rank, of routed experts; and of embedding
        with output.
    attention_share, recurrent_share, dense_share : array
        Shares of the layers with attention, with a recurrence, and with a dense feed-forward part.
    window_share, window, chunked : array
        Share of the layers with a window; its tokens, and 1 where it is a chunk.
    query_parts : array
        2 where queries come with a gate as wide, else 1.
    expert_width : array
        Size in which tokens go to routed experts.
    indexed : array
        Size of all heads of an indexer together.
    recurrent_into, recurrent_rank, recurrent_inner : array
        Sizes of a recurrence: inputs projected per token, rank of the projection, and values.
    recurrent_products, recurrent_flops, recurrent_bytes : array
        Cost per token of a recurrence, forward: products with the state; FLOPs as implemented; bytes of memory.
    """

    layers: Floats
    moe_share: Floats
    hidden: Floats
    heads: Floats
    kv_heads: Floats
    head_dim: Floats
    value_dim: Floats
    query_rank: Floats
    key_value_rank: Floats
    rope_dim: Floats
    ffn: Floats
    expert_ffn: Floats
    shared_ffn: Floats
    into: Floats
    experts: Floats
    per_token: Floats
    capacity: Floats
    route_groups: Floats
    groups_per_token: Floats
    vocabulary: Floats
    mtp_layers: Floats
    dense_parameters: Floats
    replicated_parameters: Floats
    expert_parameters: Floats
    table_parameters: Floats
    attention_share: Floats
    recurrent_share: Floats
    dense_share: Floats
    window_share: Floats
    window: Floats
    chunked: Floats
    query_parts: Floats
    expert_width: Floats
    indexed: Floats
    recurrent_into: Floats
    recurrent_rank: Floats
    recurrent_inner: Floats
    recurrent_products: Floats
    recurrent_flops: Floats
    recurrent_bytes: Floats

    @property
    def any_latent(self) -> bool:
        """Whether any row has latent attention."""
        return bool(np.any(self.key_value_rank > 0))

    @property
    def any_experts(self) -> bool:
        """Whether any row has experts."""
        return bool(np.any(self.moe_share > 0))

    @property
    def any_recurrence(self) -> bool:
        """Whether any row has layers with a recurrence."""
        return bool(np.any(self.recurrent_share > 0))

    @property
    def any_window(self) -> bool:
        """Whether any row has layers with a window."""
        return bool(np.any(self.window_share > 0))

    @property
    def parts(self) -> Floats:
        """Parts of an average layer: 2, a mixer and a feed-forward part, where no layer lacks one of them."""
        return self.attention_share + self.recurrent_share + self.dense_share + self.moe_share


def shapes_of(model: TransformerModel) -> Shapes:
    """Return the shapes of one model, without a row axis."""
    return Shapes(*np.array(_row(model), np.float64))


def stacked_shapes(models: Sequence[TransformerModel]) -> Shapes:
    """Return the shapes of one model per row."""
    rows = {id(model): _row(model) for model in models}
    columns = np.array([rows[id(model)] for model in models], np.float64).T
    return Shapes(*columns.reshape(len(fields(Shapes)), -1))


def _row(model: TransformerModel) -> tuple[float, ...]:
    experts, latent = model.experts, model.latent
    share = model.moe_layers / model.layers
    kinds = [
        (len(kind.layers) / model.layers, layer_parameters(kind.model, kind.is_moe))
        for kind in layer_kinds(model)
    ]
    replicated = sum(part * kind.replicated for part, kind in kinds)
    split = sum(part * kind.split for part, kind in kinds)
    routed = sum(part * kind.experts for part, kind in kinds)
    tables = model.vocabulary * model.hidden * (1 if model.tied else 2) + model.positions * model.hidden
    return (
        model.layers,
        share,
        model.hidden,
        model.heads,
        model.kv_heads,
        latent.nope_head_dim + latent.rope_head_dim if latent else model.head_dim,
        latent.value_head_dim if latent else model.head_dim,
        latent.query_rank if latent else 0,
        latent.key_value_rank if latent else 0,
        latent.rope_head_dim if latent else 0,
        model.ffn,
        experts.ffn if experts else 0,
        experts.shared_ffn if experts else 0,
        2 if model.gated else 1,
        experts.count if experts else 1,
        experts.per_token if experts else 0,
        (experts.capacity_factor or 1.0) if experts else 1,
        experts.route_groups if experts else 0,
        experts.groups_per_token if experts else 0,
        model.vocabulary,
        model.mtp_layers,
        split,
        replicated,
        routed,
        tables,
        model.attention_layers / model.layers,
        model.recurrent_layers / model.layers,
        model.dense_layers / model.layers,
        model.window_layers / model.layers,
        model.window,
        model.chunked,
        1 + model.attention_gate,
        (experts.width if experts else 0) or model.hidden,
        model.indexer.heads * model.indexer.head_dim if model.indexer else 0,
        *_recurrent(model),
    )


def _recurrent(model: TransformerModel) -> tuple[float, ...]:
    """Return the six columns of a recurrence.

    The common implementation (the ``ssd_combined`` kernels of state-spaces/mamba) processes chunks of tokens: in a
    chunk every token attends to those before it, as in attention, and each chunk changes and reads the state once
    (Dao and Gu 2024, section 6). Bytes forward: the convolution reads and writes its data; chunks read the values
    to make states, then values, gate and states to make two outputs, with and without the gate; the norm reads
    both and writes. A state of each chunk, in 32 bits, is written, passed on (read and written) and read.
    """
    one = model.recurrence
    if one is None:
        return (0.0,) * 6
    inside = one.chunk / 2 * (one.key_dim + one.head_dim)
    flops = 2 * one.heads * (inside + one.products * one.key_dim * one.head_dim)
    passing = 4 * one.convolved * (one.convolution > 0) + 16 * one.inner
    return (
        one.projected,
        one.gate_rank,
        one.inner,
        one.products * one.inner * one.key_dim,
        flops,
        passing + 16 * one.inner * one.key_dim / one.chunk,
    )
