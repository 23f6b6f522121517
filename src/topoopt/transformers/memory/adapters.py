"""What low-rank adapters (LoRA, Hu et al. 2021) leave of the memory of training.

Frozen weights have no gradients and no optimizer state. What enters a frozen matrix is kept only where its adapter
needs it; what the backward pass of norms, activations and attention's core needs stays, for gradients of inputs go
through all of them.
"""

from dataclasses import replace

import numpy as np

from topoopt.transformers.configuration import STORED_PRECISIONS
from topoopt.transformers.configuration_table import ConfigurationTable
from topoopt.transformers.memory.frameworks import Framework
from topoopt.transformers.memory.layer import ELEMENT_BYTES, LayerActivations, product_inputs
from topoopt.transformers.memory.stages import Stage
from topoopt.transformers.memory.states import StageParameters, States, stage_states, state_bytes
from topoopt.workloads.transformer import ADAPTERS, EVERYWHERE, TransformerModel, adapter_parameters

ADAPTED = {"qkv": 1, "attention": 2, "all-linear": 4, "every-matrix": 7}
"""Adapters of a layer, each of which keeps as many numbers of a token as its rank."""


def adapted_states(
    model: TransformerModel, table: ConfigurationTable, stage: Stage, framework: Framework, all_states: States
) -> States:
    """Return the states of a stage, of which only adapters are trained where there are some."""
    if not np.any(table.adapter_rank > 0):
        return all_states
    four = STORED_PRECISIONS.index("nf4")
    own = replace(
        table, weights=np.where(table.weights == four, 0, table.weights)
    )  # adapters are never in 4 bits
    added = stage_states(_stage_adapters(model, table, stage), own, framework, state_bytes(own, framework))
    adapted = table.adapter_rank > 0
    trained = {
        name: np.where(adapted, getattr(added, name), getattr(all_states, name))
        for name in ("gradients", "optimizer", "step")
    }
    return States(parameters=all_states.parameters + added.parameters, **trained)


def adapted_activations(
    one: LayerActivations,
    model: TransformerModel,
    table: ConfigurationTable,
    layer_is_moe: bool,
    framework: Framework,
) -> LayerActivations:
    """Return what a layer keeps without the inputs of matrices that are frozen and have no adapter."""
    if not np.any(table.adapter_rank > 0):
        return one
    inputs = product_inputs(model, table, layer_is_moe, framework)
    everywhere = np.logical_or.reduce([table.has_word("adapters", word) for word in EVERYWHERE])
    lone = (table.adapter_rank > 0) & ~everywhere
    in_qkv = table.has_word("adapters", "qkv") & lone
    counts = np.array([ADAPTED[word] for word in ADAPTERS])[table.adapters]
    ranks = ELEMENT_BYTES[table.precision] * table.adapter_rank * counts
    return replace(
        one,
        norms=one.norms - lone * inputs.feed_forward,
        activation=one.activation - lone * inputs.last,
        experts=one.experts - lone * inputs.experts,
        others=one.others - in_qkv * inputs.output + ranks,
    )


def _stage_adapters(model: TransformerModel, table: ConfigurationTable, stage: Stage) -> StageParameters:
    layers, experts = np.zeros(len(table)), np.zeros(len(table))
    kinds = [(stage.layers - stage.moe_layers, False)]
    if model.experts is not None:
        kinds.append((stage.moe_layers, True))
    for count, is_moe in kinds:
        for index, word in enumerate(ADAPTERS):
            one, has_it = adapter_parameters(model, is_moe, word), count * (table.adapters == index)
            layers = layers + has_it * (one.whole + one.split / table.tp)
            experts = experts + has_it * (one.expert_whole + one.expert_split / table.etp) / table.ep
    rank = table.adapter_rank.astype(np.float64)
    return StageParameters(rank * layers, np.zeros(len(table)), rank * experts)
