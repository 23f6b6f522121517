"""Shapes of transformers as columns, so that configurations of one model, or runs of many, are timed at once."""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from topoopt.llm.columns import Floats
from topoopt.transformer import TransformerModel, layer_parameters


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
        Of latent attention; 0 without.
    ffn, expert_ffn, shared_ffn, into : array
        ``into`` is 2 for gated feed-forward parts, else 1. ``ffn`` is that of layers without experts.
    experts, per_token, capacity : array
        ``capacity`` is what experts compute over what tokens ask for: the capacity factor, or 1 without limit.
    route_groups, groups_per_token : array
        Of group-limited routing; 0 for none.
    vocabulary : array
    dense_parameters, replicated_parameters, expert_parameters, table_parameters : array
        Of an average layer: what tp splits, what every tp rank holds, routed experts; embedding with output.
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
    dense_parameters: Floats
    replicated_parameters: Floats
    expert_parameters: Floats
    table_parameters: Floats

    @property
    def any_latent(self) -> bool:
        """Whether any row has latent attention."""
        return bool(np.any(self.key_value_rank > 0))

    @property
    def any_experts(self) -> bool:
        """Whether any row has experts."""
        return bool(np.any(self.moe_share > 0))


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
    dense, mixed = layer_parameters(model, False), layer_parameters(model, share > 0)
    replicated = dense.attention_replicated + dense.norms + share * mixed.router
    split = dense.attention - dense.attention_replicated + (1 - share) * dense.mlp + share * mixed.shared
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
        split,
        replicated,
        share * mixed.experts,
        tables,
    )
