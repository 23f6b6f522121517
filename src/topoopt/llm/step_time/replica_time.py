"""What replicas exchange in an iteration, how much of it hides, and the optimizer's step."""

import numpy as np

from topoopt.llm.columns import Floats
from topoopt.llm.step_time.adapter_time import adapter_parameters
from topoopt.llm.step_time.case import Case
from topoopt.llm.step_time.offload_time import offloaded_step_s

OPTIMIZER_BYTES_PER_PARAMETER = 30.0
"""Adam: gradient read, master weight and two moments read and written in 32 bits, weight written in 16 bits."""


def replica_times(case: Case, layers: Floats, batches_s: Floats, backward_s: Floats) -> tuple[Floats, Floats]:
    """Return what replicas wait for, and the optimizer's step.

    ZeRO-3 gathers the parameters in both passes of every micro-batch and scatters gradients; it can hide behind all
    but the first layer of all micro-batches. ZeRO-2 scatters gradients after every backward pass, behind which they
    hide, and gathers parameters once. ZeRO 0 and 1 reduce gradients once (an AllReduce is a reduce-scatter and an
    all-gather); the share that can hide leaves while the last backward pass, that of the first chunk, goes on.

    Parameters
    ----------
    layers, batches_s, backward_s : array
        Of the busiest stage: its layers; its time in all micro-batches, and in one backward pass.
    """
    shapes, table, calibration = case.shapes, case.table, case.calibration
    pp = table.pp.astype(np.float64)
    dense = layers * (shapes.dense_parameters / case.tp + shapes.replicated_parameters)
    copies = np.where(table.has_word("schedule", "dualpipe"), 2.0, 1.0)  # a stage and its mirror image
    dense = copies * (dense + shapes.table_parameters / case.tp / np.minimum(pp, 2))
    expert = copies * layers * shapes.expert_parameters / (case.ep * case.etp)
    replicas = np.asarray(copies * table.dp * table.cp, np.float64)
    sharded = table.zero == 3
    batches = case.batches
    scattered = table.zero == 2
    wire_s = _gather_s(case, replicas, dense, expert)
    if np.any(table.adapter_rank > 0):  # frozen weights are gathered by ZeRO 3, and have no gradients
        frozen_s, adapted = wire_s, table.adapter_rank > 0
        added = adapter_parameters(case)
        dense = np.where(adapted, layers * added[0], dense)
        expert = np.where(adapted, layers * added[1], expert)
        wire_s = _gather_s(case, replicas, dense, expert)
        frozen_s = np.where(adapted & sharded, 2 * batches * frozen_s, 0.0)
    else:
        frozen_s = np.zeros(())
    wire_s = wire_s * np.select([sharded, scattered], [3 * batches, batches + 1], 2.0) + frozen_s
    overlap = np.where(sharded, calibration.gather_overlap, calibration.gradient_overlap)
    room_s = np.where(sharded, batches_s * (1 - 1 / layers), backward_s * batches)
    often_s = wire_s - np.minimum(overlap * wire_s, room_s)
    once_s = wire_s - overlap * np.minimum(wire_s, backward_s / table.vpp)
    kept = (dense + expert) / np.where(table.zero > 0, replicas, 1.0)
    rate = case.machine.memory_bytes_per_s * calibration.memory_efficiency
    adam_s = kept * OPTIMIZER_BYTES_PER_PARAMETER / rate
    step_s = calibration.step_overhead_s + adam_s + offloaded_step_s(case, kept)
    return np.where(sharded | scattered, often_s, once_s), step_s


def _gather_s(case: Case, replicas: Floats, dense: Floats, expert: Floats) -> Floats:
    """Return an all-gather or a reduce-scatter of parameters over the replicas of each."""
    gather = case.links.gather_s(replicas, case.tp, 2 * dense)
    if not case.shapes.any_experts:
        return gather
    owners = np.maximum(case.tp * replicas / (case.ep * case.etp), 1.0)
    return gather + (expert > 0) * case.links.gather_s(owners, case.ep * case.etp, 2 * expert)
