"""Short-lived memory: the loss with its logits, or a layer in its backward pass, whichever is larger.

The two never coincide: logits are freed before the backward pass reaches the last layer.
"""

from dataclasses import dataclass

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.transformers.configuration_table import Bools, ConfigurationTable
from topoopt.transformers.memory.activations import ELEMENT_BYTES, context_buffers, widest_gradients
from topoopt.transformers.memory.frameworks import Framework
from topoopt.transformers.memory.pipeline_stages import Stage
from topoopt.transformers.memory.zero import dense_parameters
from topoopt.workloads.transformer import TransformerModel, layer_parameters

LOSS_BYTES = 4.0
"""Bytes per logit in the loss, where that is in fp32."""

REDUCED_BYTES = 4.0
"""Bytes per gradient while FSDP scatters it: in fp32, from a buffer beside the gradient."""


@dataclass(frozen=True, eq=False)
class Moment:
    """Bytes of every stage at its fullest moment besides kept activations, each of shape (configurations,).

    Attributes
    ----------
    layer : float array
        Per token: gradients of a layer's backward pass, and data received from other ranks.
    hidden : float array
        Per token: input of the output layer, and its gradient.
    logits : float array
        Per token, with the loss's copies.
    weights : float array
        Weights and gradients of whole layers while they are at work.
    outside : float array
        The same for embeddings and output layer, through all of the step.
    output : float array
        The same for the output layer alone, on the last stage.
    block : float array
        Per token: a block of logits in fp32, where smaller tensors settle in one that the loss has freed.
    compiled : bool
        Whether matrices are there only while they are used: those of a layer are gone when the loss has its own.
    """

    layer: Floats
    hidden: Floats
    logits: Floats
    weights: Floats
    outside: Floats
    output: Floats
    block: Floats
    compiled: bool


def moment_of(
    model: TransformerModel, table: ConfigurationTable, fused: Bools, framework: Framework
) -> Moment:
    """Return the short-lived memory, for any stage."""
    element = ELEMENT_BYTES[table.precision]
    split = table.sequence_parallel > 0
    arriving = np.where(table.pp > 1, 2.0, 0.0) * np.where(split, 1.0 / table.tp, 1.0) + split
    ranks = 1.0 if framework.whole_logits else table.tp
    others: Floats | float = 0.0
    if framework.keeps_logits:
        others = np.where(table.pp > 1, table.global_batch // (table.dp * table.micro_batch) - 1.0, 0.0)
    weights, outside, output = _whole_weights(model, table, framework)
    return Moment(
        layer=widest_gradients(model, table, fused, framework)
        + element * (model.hidden * arriving + context_buffers(model, table)),
        hidden=2 * element * model.hidden,
        logits=(element * (1 + others) + framework.logit_bytes)
        * (1 + model.mtp_layers)
        * model.vocabulary
        / ranks,
        weights=weights,
        outside=outside,
        output=output,
        block=np.asarray(LOSS_BYTES * framework.splits_blocks * model.vocabulary / ranks, np.float64),
        compiled=framework.compiled,
    )


def moment_bytes(moment: Moment, stage: Stage, again: Floats, tokens: Floats) -> tuple[Floats, Floats]:
    """Return the logits of a stage, and the other memory of its fullest moment."""
    logits = np.where(stage.is_last, moment.logits, 0.0) * tokens
    always = moment.outside + np.where(stage.is_last, moment.output, 0.0)
    loss = logits + np.where(stage.is_last, moment.hidden, 0.0) * tokens
    layer = (again + moment.layer) * tokens
    if moment.compiled:
        return logits, np.maximum(loss + always, layer + moment.weights) - logits
    return logits, np.maximum(loss, layer) - logits + always + moment.weights


def lost_bytes(moment: Moment, stage: Stage, settled: Floats, tokens: Floats) -> Floats | float:
    """Return the rest of the loss's memory block, after gradients and kept inputs have been allocated in it.

    PyTorch's caching allocator gives the smallest free block that is large enough, splits it, and can give it again as
    a whole only when all parts are free: the next loss needs another one. This is the least loss.
    """
    if not np.any(moment.block):
        return 0.0
    return np.where(stage.is_last, np.maximum(moment.block * tokens - settled, 0.0), 0.0)


def _whole_weights(
    model: TransformerModel, table: ConfigurationTable, framework: Framework
) -> tuple[Floats, Floats, Floats]:
    """Return bytes of weights and gradients that are whole for a moment: of layers, outside of them, of the output."""
    element = ELEMENT_BYTES[table.precision]
    none, trained = np.zeros(len(table)), table.adapter_rank == 0  # frozen weights have no gradients
    shared = (table.dp * table.cp > 1) & (table.zero > 1)
    if not framework.dummy_gradients and not np.any(shared):
        return none, none, none
    kinds = [
        dense_parameters(model, table, is_moe) for is_moe in {model.is_moe(0), model.is_moe(model.layers - 1)}
    ]
    layer, table_entries = np.max(kinds, axis=0), model.vocabulary * model.hidden / table.tp
    experts = layer_parameters(model, True) if model.experts is not None else None
    weights, outside, output = none, none, none
    if framework.dummy_gradients:
        one = layer + (experts.one_expert / table.etp if experts else 0.0)
        weights, output = trained * element * one, trained * element * table_entries
    if not np.any(shared):
        return weights, outside, output
    whole = layer + (experts.experts / (table.ep * table.etp) if experts else 0.0)
    sharded = table.zero > 2
    if framework.compiled:
        matrices, dense = 2 + model.gated, model.hidden * model.ffn / table.tp
        widest = np.maximum(dense, experts.experts / matrices / (table.ep * table.etp) if experts else 0.0)
        used = element * (2.0 * sharded + trained)
        return weights + shared * used * widest, outside, output + shared * (used - element) * table_entries
    if framework.gathers:
        summed = REDUCED_BYTES * _layers_of_a_turn(model, table)
        one = whole * (element * (sharded * framework.gathers + trained) + summed * trained)
        ends = table_entries * (1.0 if model.tied else 2.0)
        return (
            weights + shared * one,
            shared * sharded * element * ends,
            output + shared * trained * element * table_entries,
        )
    unit = np.maximum(whole, table_entries)
    gradients = np.maximum(unit, whole * _layers_of_a_turn(model, table))
    return weights + shared * element * (2.0 * sharded * unit + trained * gradients), outside, output


def _layers_of_a_turn(model: TransformerModel, table: ConfigurationTable) -> Floats:
    """Return the layers whose whole gradients are summed up before they are scattered.

    One, but in interleaved pipelines of ZeRO 2 those of a chunk, through which several micro-batches go one after the
    other (:mod:`topoopt.transformers.step_time.data_parallel_time`).
    """
    in_turns = (table.zero == 2) & (table.pp > 1) & (table.vpp > 1)
    return np.where(in_turns, np.ceil(model.layers / (table.pp * table.vpp)), 1.0)
