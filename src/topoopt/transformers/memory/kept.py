"""What a stage keeps of its layers for the backward pass, and what is computed again for a moment."""

from dataclasses import dataclass

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.transformers.columns import Bools
from topoopt.transformers.configuration_table import ConfigurationTable
from topoopt.transformers.memory.adapters import adapted_activations
from topoopt.transformers.memory.frameworks import Framework
from topoopt.transformers.memory.layer import ELEMENT_BYTES, LayerActivations, has_dropout, layer_activations
from topoopt.transformers.memory.stages import Stage, two_way
from topoopt.transformers.memory.waiting import longer_kept
from topoopt.workloads.transformer import TransformerModel


@dataclass(frozen=True, eq=False)
class LayerKeeps:
    """One kind of layer: bytes per token, each of shape (configurations,).

    Attributes
    ----------
    everything : float array
        Of a layer that computes nothing again.
    keeps : float array
        Of a layer that computes again what ``recompute`` says.
    again : float array
        What is there while such a layer is computed again, beside what it keeps.
    entry : float array
        What enters the layer.
    """

    everything: Floats
    keeps: Floats
    again: Floats
    entry: Floats


def layer_kinds(
    model: TransformerModel, table: ConfigurationTable, fused: Bools, framework: Framework
) -> tuple[LayerKeeps, ...]:
    """Return what layers without experts keep and, in a model that has any, those with experts."""
    kinds = (False,) if model.experts is None else (False, True)
    layers = [
        adapted_activations(
            layer_activations(model, table, is_moe, fused, framework), model, table, is_moe, framework
        )
        for is_moe in kinds
    ]
    return tuple(
        _kept(one, table, fused, framework, is_moe) for one, is_moe in zip(layers, kinds, strict=True)
    )


def stage_activations(
    table: ConfigurationTable,
    stage: Stage,
    model: TransformerModel,
    kinds: tuple[LayerKeeps, ...],
    framework: Framework,
) -> tuple[Floats, Floats]:
    """Return bytes per token that a stage keeps, and those of the one layer that is being computed again."""
    kept, again = np.zeros(len(table)), np.zeros(len(table))
    share = recomputed_share(table, stage.layers)
    held = (stage.kept_layers - stage.kept_moe_layers, stage.kept_moe_layers)
    there = (stage.layers - stage.moe_layers, stage.moe_layers)
    for one, times, layers in zip(kinds, held, there, strict=False):
        kept = kept + times * (one.everything - share * (one.everything - one.keeps))
        again = np.maximum(again, np.where(layers > 0, one.again, 0.0))
    if np.any(table.schedule):
        rows = list(zip(kinds, there, strict=False))
        whole = np.sum([layers * one.everything for one, layers in rows], axis=0)
        freed = np.sum([layers * share * (one.everything - one.keeps) for one, layers in rows], axis=0)
        kept = kept + longer_kept(table, stage, whole, freed, kept)
    entry = kinds[0].entry
    mask = entry / ELEMENT_BYTES[table.precision] * has_dropout(model)
    kept = kept + stage.in_flight * np.where(stage.is_first, mask, 0.0)
    if framework.keeps_outputs:
        kept = kept + stage.in_flight * entry * (table.pp > 1) * ~stage.is_last
    if framework.frees_inputs:
        chunks = np.minimum(stage.in_flight * table.vpp, stage.kept_layers)
        kept = kept - chunks * entry * ((table.pp > 1) & ~table.recomputes("full"))
    if np.any(table.offload_activations):
        # Of what is in the host's memory, one layer is on its way.
        kept = np.maximum(kept * (1 - table.offload_activations), kept / np.maximum(stage.layers, 1.0))
    return kept, again


def recomputed_share(table: ConfigurationTable, layers: Floats) -> Floats:
    """Return the share of a stage's layers that ``recompute`` is about, from ``recompute_layers`` of each chunk."""
    if not np.any(table.recompute_layers):
        return np.ones(())
    chunks = table.vpp * np.where(two_way(table), 2, 1)
    some = np.minimum(table.recompute_layers * chunks / np.maximum(layers, 1.0), 1.0)
    return np.where(table.recompute_layers > 0, some, 1.0)


def _kept(
    one: LayerActivations, table: ConfigurationTable, fused: Bools, framework: Framework, is_moe: bool
) -> LayerKeeps:
    everything = one.everything
    parts = {
        # A fused kernel computes its core again by itself; what it keeps is too little to give up.
        "core": np.where(fused, 0.0, one.core),
        "norms": one.norms,
        "latent": one.latent,
        "activation": one.activation,
    }
    if is_moe:
        experts = table.recomputes("experts")
        parts["experts"] = one.experts + one.activation
        parts["activation"] = np.where(experts, 0.0, one.activation)
    freed, again = np.zeros(len(table)), np.zeros(len(table))
    for name, part in parts.items():
        if np.any(does := table.recomputes(name)):
            freed = freed + does * part
            again = np.maximum(again, does * part)
    if framework.every_second_product:
        selective = table.recomputes("core") & ~table.recomputes("full")
        freed = np.where(selective, everything - one.products, freed)
        again = np.where(selective, freed, again)
    full = table.recomputes("full")
    freed = np.where(full, everything - one.entry, freed)
    return LayerKeeps(everything, everything - freed, np.where(full, freed, again), one.entry)
