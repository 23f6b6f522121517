"""Parameters, their gradients and their optimizer state on one accelerator of a stage.

ZeRO shares out the optimizer state (1), gradients (2) and parameters (3) over the replicas of a parameter: ``dp·cp``,
or those of an expert (Rajbhandari 2020). Where there are more than ``shard`` replicas, it shares out over ``shard`` of
them (HSDP).

Low-rank adapters (LoRA, Hu et al. 2021) reduce this memory.

Frozen weights have no gradients and no optimizer state. The input of a frozen matrix is kept only where its
adapter needs it; inputs of the backward pass of norms, activations and attention's core stay, since gradients of
inputs go through all of them.
"""

from dataclasses import dataclass, replace

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.catalog import PRECISIONS, Accelerator
from topoopt.transformers.configuration import STORED_PRECISIONS
from topoopt.transformers.configuration_table import STORED_BYTES, ConfigurationTable
from topoopt.transformers.memory.activations import ELEMENT_BYTES, LayerActivations, product_inputs
from topoopt.transformers.memory.frameworks import Framework
from topoopt.transformers.memory.pipeline_stages import Stage, two_way
from topoopt.workloads.transformer import (
    ADAPTERS,
    EVERYWHERE,
    TransformerModel,
    adapter_parameters,
    count_parameters,
    layer_parameters,
)

CAST_BYTES, ONE_CAST_BYTES = 2.0, 1.0
"""Bytes per weight of casts to 8 bits: a copy by rows for the forward pass, and one by columns for the gradients
of inputs, which 8-bit kernels read in that order (Transformer Engine, ``columnwise_usage``); or one copy read both
ways."""
READ_BOTH_WAYS = ("Blackwell", "Blackwell Ultra", "Rubin")
"""Architectures with such kernels, for scales of whole tensors (``is_non_tn_fp8_gemm_supported`` there)."""
FROZEN_CAST_BYTES = 1.0
"""The same for frozen weights: NVIDIA's recipes of adapters do not keep the copy by columns
(``disable_parameter_transpose_cache`` in Megatron Bridge's and in MLPerf's llama2_70b_lora)."""
GATHERED_BYTES = 2.0
"""Bytes per weight that FSDP has gathered and, below ZeRO 3, does not free until the step."""
MOMENTS = 2
_IN_EIGHT_BITS = np.array([name in ("fp8", "fp4") for name in PRECISIONS])


@dataclass(frozen=True, eq=False)
class States:
    """Bytes on one accelerator, each of shape (configurations,).

    Attributes
    ----------
    parameters, gradients, optimizer : float array
    step : float array
        More, while the optimizer steps.
    """

    parameters: Floats
    gradients: Floats
    optimizer: Floats
    step: Floats


@dataclass(frozen=True, eq=False)
class StateBytes:
    """Bytes per parameter, whatever the stage, each of shape (configurations,) or ().

    Attributes
    ----------
    replicas, expert_replicas : float array
        Number of replicas over which its states are sharded.
    weights, in_eight : float array
        Outside of layers, and in a layer, whose products may be in 8 bits; one array where they do not differ.
    gradients, optimizer, step : float array
        See :class:`States`.
    """

    replicas: Floats
    expert_replicas: Floats
    weights: Floats
    in_eight: Floats
    gradients: Floats
    optimizer: Floats
    step: Floats


@dataclass(frozen=True, eq=False)
class StageParameters:
    """Parameters on one accelerator before ZeRO, each of shape (configurations,).

    Attributes
    ----------
    layers, ends : float array
        Parameters of layers without their routed experts, and outside of layers.
    experts : float array
        Routed experts.
    """

    layers: Floats
    ends: Floats
    experts: Floats


def cast_bytes(part: Accelerator) -> float:
    """Return the bytes of a weight that products in 8 bits read, by rows and, where that takes a copy, by columns."""
    return ONE_CAST_BYTES if part.architecture in READ_BOTH_WAYS else CAST_BYTES


def state_bytes(table: ConfigurationTable, framework: Framework, casts: float = CAST_BYTES) -> StateBytes:
    """Return the inputs of every stage's states; weights in 8 bits have ``casts`` bytes of casts."""
    # DualPipe: each of a rank's two stages is on the rank of its mirror image, too.
    copies = np.where(both, 2.0, 1.0) if np.any(both := two_way(table)) else 1.0
    replicas = np.asarray(copies * table.dp * table.cp, np.float64)
    expert_replicas = np.maximum(table.tp * replicas / (table.ep * table.etp), 1.0)
    sharing = np.where(table.shard > 0, table.shard, replicas)
    each = {
        name: _by_precision(framework, table, name) for name in ("weights", "gradients", "optimizer", "step")
    }
    summed = _given(table.gradients, each["gradients"])
    step = np.where(table.gradients > 0, np.maximum(4.0 - summed, 0.0), each["step"])
    moments = (STORED_BYTES[table.moments] - 4.0) * MOMENTS
    here = 1 - table.offload_optimizer
    weights, in_eight = _weight_bytes(framework, table, each["weights"], casts)
    return StateBytes(
        replicas=np.minimum(replicas, sharing),
        expert_replicas=np.minimum(expert_replicas, sharing),
        weights=weights,
        in_eight=in_eight,
        gradients=summed,
        optimizer=here * (each["optimizer"] + np.where(table.moments > 0, moments, 0.0)),
        step=here * step,
    )


def stage_states(
    parameters: StageParameters, table: ConfigurationTable, framework: Framework, each: StateBytes
) -> States:
    """Return the states of one accelerator of a stage."""
    in_layers, experts = parameters.layers, parameters.experts
    whole = in_layers + parameters.ends
    in_shards = whole / each.replicas
    if np.any(experts):
        whole, in_shards = whole + experts, in_shards + experts / each.expert_replicas
    held = {stage: np.where(table.zero >= stage, in_shards, whole) for stage in (1, 2, 3)}
    own = held[1 if framework.gathers else 3]
    weights = each.weights * own
    if each.in_eight is not each.weights:
        weights = weights + (each.in_eight - each.weights) * (in_layers + experts) * own / np.maximum(
            whole, 1.0
        )
    if framework.gathers:
        weights = weights + GATHERED_BYTES * held[3] * ((table.zero == 1) | (table.zero == 2))
    return States(weights, each.gradients * held[2], each.optimizer * held[1], each.step * held[1])


def stage_parameters(model: TransformerModel, table: ConfigurationTable, stage: Stage) -> StageParameters:
    """Return the parameters of a stage on one accelerator before ZeRO."""
    dense = (stage.layers - stage.moe_layers) * dense_parameters(model, table, False)
    experts = np.zeros(len(table))
    if model.experts is not None:
        one = layer_parameters(model, True)
        dense = dense + stage.moe_layers * dense_parameters(model, table, True)
        experts = stage.moe_layers * one.experts / (table.ep * table.etp)
    # embeddings on the first stage; the output layer on the last, a copy even where it is tied
    count = count_parameters(model)
    first = count.embedding / table.tp + count.positions + count.extra
    own = np.where(table.pp > 1, count.embedding, count.output)
    last = own / table.tp + model.norm_parameters
    last = last + model.mtp_layers * (2 * model.hidden**2 / table.tp + 3 * model.norm_parameters)
    ends = np.where(stage.is_first, first, 0.0) + np.where(stage.is_last, last, 0.0)
    return StageParameters(dense, ends, experts)


def dense_parameters(model: TransformerModel, table: ConfigurationTable, layer_is_moe: bool) -> Floats:
    """Return the parameters of a layer without its routed experts."""
    one = layer_parameters(model, layer_is_moe)
    return np.asarray(one.replicated + one.split / table.tp, np.float64)


def _by_precision(framework: Framework, table: ConfigurationTable, column: str) -> Floats:
    values: Floats = np.array([getattr(framework.recipe(name), column) for name in PRECISIONS])[
        table.precision
    ]
    return values


def _given(column: Ints, usual: Floats) -> Floats:
    """Return the bytes of a column of stored precisions, and those of the framework where it has none."""
    return np.where(column > 0, STORED_BYTES[column], usual) if np.any(column) else usual


def _weight_bytes(
    framework: Framework, table: ConfigurationTable, usual: Floats, trained_casts: float
) -> tuple[Floats, Floats]:
    """Return the bytes of a weight outside of layers, and in a layer, whose products may be in 8 bits.

    Those products read casts of the weights, which are kept over the micro-batches: besides weights of 16 or 32
    bits, or as the only ones. FSDP casts gathered weights; online casts are not kept.
    """
    eight, four = STORED_PRECISIONS.index("fp8"), STORED_PRECISIONS.index("nf4")
    stored = np.where(table.weights == eight, usual, _given(table.weights, usual))
    arithmetic = _IN_EIGHT_BITS[table.precision]
    if np.any(in_four := table.weights == four):  # embedding and output layer stay in 16 bits
        return np.where(in_four, 2.0, stored), stored
    if not np.any(arithmetic):
        return stored, stored
    only = (table.weights == eight) | ((table.weights == 0) & (framework.fp8_weights == "fp8"))
    casts = np.where(table.adapter_rank > 0, FROZEN_CAST_BYTES, trained_casts)
    beside = 0.0 if framework.gathers or framework.fp8_weights == "online" else casts
    return stored, np.where(arithmetic, np.where(only, casts, stored + beside), stored)


ADAPTED = {"qkv": 1, "attention": 2, "all-linear": 4, "every-matrix": 7}
"""Adapters of a layer, each of which keeps as many numbers of a token as its rank."""


def adapted_states(
    model: TransformerModel, table: ConfigurationTable, stage: Stage, framework: Framework, all_states: States
) -> States:
    """Return the states of a stage; with adapters, only these are trained."""
    if not np.any(table.adapter_rank > 0):
        return all_states
    four = STORED_PRECISIONS.index("nf4")
    own = replace(
        table, weights=np.where(table.weights == four, 0, table.weights)
    )  # adapters are never in 4 bits
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
    stage_adapters = StageParameters(rank * layers, np.zeros(len(table)), rank * experts)
    added = stage_states(stage_adapters, own, framework, state_bytes(own, framework))
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
    """Return the activations of a layer without the inputs of frozen matrices that have no adapter."""
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
