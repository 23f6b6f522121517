"""Memory of the fullest accelerator of every configuration, by cause.

The first, second and last stage are computed: the first holds most micro-batches, the second has experts where the
first layers are dense, the last has the logits. The fullest counts.

Schedules that defer gradients of weights keep their inputs until then.

A pass for the gradients of weights needs the inputs of the matrix products, and the gradients of their outputs: 14 and
18 s·b·h bytes of a GPT layer, 32 of the 34 that it keeps in all, which counts as everything here. What is computed
again in the backward pass is there until then, too.
"""

from dataclasses import dataclass, fields
from functools import reduce
from typing import Any

import numpy as np

from topoopt.base.answers import fields_of
from topoopt.base.arrays import Floats, Ints
from topoopt.base.errors import InvalidInput, check_known
from topoopt.catalog import find_accelerator
from topoopt.transformers.configuration_table import Bools, ConfigurationTable, blocks_of
from topoopt.transformers.memory.activations import (
    ELEMENT_BYTES,
    LayerActivations,
    has_dropout,
    layer_activations,
)
from topoopt.transformers.memory.frameworks import FRAMEWORKS, Framework, find_framework, shared_by
from topoopt.transformers.memory.pipeline_stages import Stage, first_holds_most, stage_of, two_way
from topoopt.transformers.memory.transient import Moment, lost_bytes, moment_bytes, moment_of
from topoopt.transformers.memory.zero import (
    StateBytes,
    adapted_activations,
    adapted_states,
    cast_bytes,
    stage_parameters,
    stage_states,
    state_bytes,
)
from topoopt.workloads.transformer import TransformerModel


@dataclass(frozen=True, eq=False)
class LayerKeeps:
    """One kind of layer: bytes per token, each of shape (configurations,).

    Attributes
    ----------
    everything : float array
        Bytes kept by a layer without recomputation.
    keeps : float array
        Bytes kept by a layer that recomputes the parts in ``recompute``.
    again : float array
        Additional bytes while such a layer is recomputed.
    """

    everything: Floats
    keeps: Floats
    again: Floats
    entry: Floats


ATTENTION_KERNELS = ("fused", "eager")
"""``fused`` never writes the scores (FlashAttention); ``eager`` keeps scores, softmax and dropout of all pairs."""


@dataclass(frozen=True, eq=False)
class MemoryColumns:
    """Bytes on the fullest accelerator, each a float array of shape (configurations,), but ``stage`` and ``fits``.

    Attributes
    ----------
    parameters, gradients, optimizer : array
    activations : array
        Activations kept for the backward pass, of all micro-batches in flight.
    logits : array
        Logits of one micro-batch, with their softmax and gradient; 0 where the fullest stage is not the last.
    buffers : array
        Short-lived buffers: the layer that is recomputed, gradients of a layer's activations, data arriving over
        the network, gathered weights; and the optimizer step's needs beyond all of this and the activations.
    overhead : array
        Memory of the framework besides tensors.
    total : array
        Required memory: the sum of these.
    slack : array
        Memory that the allocator would hold in addition, and frees when memory is short: nvidia-smi shows both.
    stage : int64 array
        Index of the fullest stage.
    capacity_bytes : float
        Memory of the accelerator.
    """

    parameters: Floats
    gradients: Floats
    optimizer: Floats
    activations: Floats
    logits: Floats
    buffers: Floats
    overhead: Floats
    total: Floats
    slack: Floats
    stage: Ints
    capacity_bytes: float

    @property
    def fits(self) -> Bools:
        """Whether each configuration fits into the accelerator."""
        return self.total <= self.capacity_bytes

    def row(self, index: int) -> dict[str, float]:
        """Return the bytes of one configuration by cause; ``total`` is their sum."""
        return {cause: float(getattr(self, cause)[index]) for cause in MEMORY_CAUSES}


MEMORY_CAUSES = tuple(
    column.name
    for column in fields(MemoryColumns)
    if column.name not in ("total", "slack", "stage", "capacity_bytes")
)
"""Causes of memory."""
_BY_STAGE = (*MEMORY_CAUSES, "total", "slack", "stage")


def memory(
    model: TransformerModel,
    table: ConfigurationTable,
    accelerator: str,
    attention: str = "fused",
    framework: str = "megatron",
) -> MemoryColumns:
    """Return the memory of the fullest accelerator of every configuration.

    Parameters
    ----------
    model : TransformerModel
    table : ConfigurationTable
    accelerator : str
        A name or alias of the catalogue.
    attention : str
        One of :data:`ATTENTION_KERNELS`. Today's stacks fuse attention, so ``fused`` is the default; runs before
        2023 are mostly ``eager``.
    framework : str
        One of :data:`~topoopt.transformers.FRAMEWORKS`: bytes per parameter, and memory besides tensors.

    Raises
    ------
    InvalidInput
        For an unknown accelerator, attention or framework.

    References
    ----------
    .. [1] V. Korthikanti et al., "Reducing Activation Recomputation in Large Transformer Models", 2022.
    """
    blocks = [
        _memory_of_block(common_of(model, block, accelerator, attention, framework))
        for block in blocks_of(table)
    ]
    columns = {name: np.concatenate([block[name] for block in blocks]) for name in _BY_STAGE}
    return MemoryColumns(**columns, capacity_bytes=find_accelerator(accelerator).usable_memory_bytes)


def _memory_of_block(common: "Common") -> dict[str, Any]:
    last = common.table.pp - 1
    fullest = vars(stage_memory(common, np.zeros_like(last)))
    table, between = common.table, list[Ints]()
    if not first_holds_most(common.model, table, common.framework.ends_are_layers):
        between.append(np.minimum(1, last))
    if np.any(table.schedule):
        between += inner_stages(table, common.model.layers)
    for index in (*between, last):
        other = vars(stage_memory(common, index))
        more = other["total"] > fullest["total"]
        fullest = {name: np.where(more, other[name], fullest[name]) for name in _BY_STAGE}
    return fullest


def check_offload(table: ConfigurationTable, framework: str) -> None:
    """Refuse data that a framework cannot offload to the host's memory.

    Raises
    ------
    InvalidInput
        With the frameworks that can.
    """
    for what in ("optimizer", "activations"):
        if np.any(getattr(table, f"offload_{what}")) and what not in find_framework(framework).offloads:
            able = ", ".join(name for name, one in FRAMEWORKS.items() if what in one.offloads)
            raise InvalidInput(
                f"offload_{what}: {framework} keeps {what} on the accelerator; these can do otherwise: {able}"
            )


@dataclass(frozen=True, eq=False)
class Common:
    """Common inputs of the memory of every stage."""

    model: TransformerModel
    table: ConfigurationTable
    framework: Framework
    kinds: tuple[LayerKeeps, ...]
    moment: Moment
    overhead: Floats
    states: StateBytes
    capacity: float


def common_of(
    model: TransformerModel, table: ConfigurationTable, accelerator: str, attention: str, framework: str
) -> Common:
    """Return the inputs common to all stages; arguments as in :func:`memory`."""
    check_known("attention", attention, ATTENTION_KERNELS)
    rules = find_framework(framework)
    check_offload(table, framework)
    table = shared_by(table, framework)
    part = find_accelerator(accelerator)
    fused = np.full(len(table), attention == "fused")
    kinds, moment = layer_kinds(model, table, fused, rules), moment_of(model, table, fused, rules)
    overhead = rules.reserved_bytes + communicator_bytes(table, rules)
    states = state_bytes(table, rules, cast_bytes(part))
    return Common(model, table, rules, kinds, moment, overhead, states, part.usable_memory_bytes)


def stage_memory(common: Common, index: Ints) -> MemoryColumns:
    """Return the memory of an accelerator of stage ``index``."""
    model, table, framework = common.model, common.table, common.framework
    stage = stage_of(model, table, index, framework.ends_are_layers)
    tokens = table.sequence * table.micro_batch / table.cp
    everything = stage_states(stage_parameters(model, table, stage), table, framework, common.states)
    states = adapted_states(model, table, stage, framework, everything)
    kept, again = stage_activations(table, stage, model, common.kinds, framework)
    activations = (kept + np.where(stage.is_last, 2 * common.kinds[0].entry, 0.0)) * tokens
    logits, buffers = moment_bytes(common.moment, stage, again, tokens)
    buffers = buffers + lost_bytes(common.moment, stage, states.gradients + activations, tokens)
    moving = activations + logits + buffers
    causes = {
        **fields_of(states, "parameters", "gradients", "optimizer"),
        "activations": activations,
        "logits": logits,
        "buffers": buffers + np.maximum(states.step - moving, 0.0),
        "overhead": common.overhead,
    }
    total = reduce(np.add, causes.values())
    slack = framework.held * moving + np.minimum(states.step, moving)
    return MemoryColumns(
        **causes, total=total, slack=slack, stage=stage.index, capacity_bytes=common.capacity
    )


def communicator_bytes(table: ConfigurationTable, framework: Framework) -> Floats:
    """Return the bytes of a rank's communicators: tensor, pipeline, data, context and expert parallel groups.

    NCCL has buffers for every channel of a communicator, however many ranks are in it; groups of one rank have none.
    """
    groups = np.asarray(table.tp > 1, np.float64)
    groups += table.pp > 1
    for ranks in (table.dp * table.cp, table.cp, table.ep):
        groups += ranks > 1
    return framework.group_bytes * groups


def layer_kinds(
    model: TransformerModel, table: ConfigurationTable, fused: Bools, framework: Framework
) -> tuple[LayerKeeps, ...]:
    """Return the memory of layers without experts and, if the model has any, of those with experts."""
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
        **fields_of(one, "norms", "latent", "activation"),
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
    whole_again = freed - framework.compiled * (one.norms + one.activation)
    return LayerKeeps(everything, everything - freed, np.where(full, whole_again, again), one.entry)


def longer_kept(
    table: ConfigurationTable, stage: Stage, everything: Floats, computed_again: Floats, kept: Floats
) -> Floats:
    """Return the additional memory of a stage beyond ``kept``, bytes per token.

    ZB-H1: stage i makes gradients of weights i micro-batches later, so that i + 1 wait when a backward pass ends.
    DualPipe: rank i makes those of its last min(i, p - 1 - i) + 1 micro-batches at the end, when few others are left.

    Parameters
    ----------
    everything, computed_again : float array
        Bytes of all layers of the stage for one micro-batch: kept without recomputation, and the recomputed part
        of it.
    """
    zero, dual = table.has_word("schedule", "zero-bubble"), two_way(table)
    later = np.minimum(stage.index + 1.0, stage.in_flight)
    last = np.minimum(stage.index, table.pp - 1 - stage.index) + 1.0
    at_the_end = last * everything / 2  # of one of the two stages that a rank has
    return np.asarray(zero * later * computed_again + dual * np.maximum(at_the_end - kept, 0.0), np.float64)


def inner_stages(table: ConfigurationTable, layers: int) -> tuple[Ints, Ints]:
    """Return the stages between the first and the last that may defer most gradients of weights.

    Those in the middle and the last but one, or the last of those that have a layer more than others.
    """
    before = np.maximum(table.pp - 2, 0)
    return np.where(two_way(table), table.pp // 2, before), np.where(
        layers % table.pp, layers % table.pp - 1, before
    )
