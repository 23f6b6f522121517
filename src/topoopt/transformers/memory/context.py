"""What context parallelism adds to the activations of a layer, in numbers per token of one accelerator."""

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.transformers.configuration_table import ConfigurationTable
from topoopt.workloads.transformer import TransformerModel


def kept_key_heads(model: TransformerModel, table: ConfigurationTable) -> Floats:
    """Return heads of keys, and as many of values, whose numbers a rank keeps for each of its tokens.

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
    query, value = _head_widths(model)
    heads = model.heads if model.latent is not None else model.kv_heads
    of_keys = np.maximum(heads / table.tp, 1) * (query + value)
    exchanged = model.heads / table.tp * (query + value) + np.maximum(heads / table.tp, table.cp) * (
        query + value
    )
    added = np.where(table.has_word("context", "ulysses"), exchanged, 0.0)
    added = np.where(table.has_word("context", "all-gather"), 2 * of_keys * table.cp, added)
    return np.where(table.cp > 1, added, 0.0)


def _head_widths(model: TransformerModel) -> tuple[int, int]:
    latent = model.latent
    if latent is None:
        return model.head_dim, model.head_dim
    return latent.nope_head_dim + latent.rope_head_dim, latent.value_head_dim
