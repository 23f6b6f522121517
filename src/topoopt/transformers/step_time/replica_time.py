"""What replicas exchange in an iteration, how much of it hides, and the optimizer's step."""

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.transformers.columns import Bools
from topoopt.transformers.step_time.adapter_time import adapter_parameters
from topoopt.transformers.step_time.case import Case
from topoopt.transformers.step_time.micro_batch import MicroBatch
from topoopt.transformers.step_time.offload_time import offloaded_step_s
from topoopt.transformers.step_time.sharded import between_shards_s, longer_by_s, sharded_s

COPIED_BYTES = 12.0
"""Of a whole gradient of 16 bits before a step operation by operation: copied into a bucket (4), scaled (4), and back
(4)."""

TURNED_BYTES = 12.0
"""Where it is reduced in 32 bits: turned to them (6) and back (6)."""

OPTIMIZER_BYTES_PER_PARAMETER = 30.0
"""Adam: gradient read, master weight and two moments read and written in 32 bits, weight written in 16 bits."""


def replica_waits_s(case: Case, layers: Floats, one: MicroBatch) -> Floats:
    """Return what a stage waits for its replicas in an iteration.

    ZeRO 2 and 3 exchange gradients and weights with every micro-batch
    (:mod:`topoopt.transformers.step_time.sharded`). ZeRO 0
    and 1 reduce gradients once (an AllReduce is a reduce-scatter and an all-gather); the share that can hide leaves
    while the last backward pass, that of the first chunk, goes on.

    Parameters
    ----------
    layers : array
        Layers of the stage.
    """
    often = case.table.zero >= 2
    if np.all(often):
        return sharded_s(case, layers, one)
    wire_s = _once_s(case, layers)
    behind_s = layers * one.kernels.backward_s / case.table.vpp
    overlap = case.calibration.gradient_overlap * ~case.runs_apart("step")
    early_s = _early_s(case, wire_s)
    late_s = wire_s - early_s
    once_s = late_s - overlap * (late_s - longer_by_s(late_s, behind_s))
    if np.any(early_s):
        once_s = once_s + longer_by_s(early_s, behind_s)
    return np.where(often, sharded_s(case, layers, one), once_s) if np.any(often) else once_s


def _early_s(case: Case, wire_s: Floats) -> Floats:
    """Return what of it begins before the last backward pass: with DualPipe gradients of the other of a rank's stages.

    Its last pass but one is of that stage, also on the ranks in the middle, which have least time left.
    """
    if not np.any(case.copies > 1):
        return np.zeros(())
    gathered = np.where(case.table.zero > 0, case.weight_bytes, case.gradient_bytes)
    return np.where(case.copies > 1, wire_s / 2 * case.gradient_bytes / (case.gradient_bytes + gathered), 0.0)


def optimizer_step_s(case: Case, layers: Floats) -> Floats:
    """Return the time of the optimizer's step on a stage."""
    dense, expert = _trained(case, layers)
    kept = (dense + expert) / np.where(case.table.zero > 0, case.shard, 1.0)
    rate = case.machine.memory_bytes_per_s * case.calibration.memory_efficiency
    adam_s = kept * OPTIMIZER_BYTES_PER_PARAMETER / rate
    if np.any(case.runs_apart("step")):
        apart = _steps_apart(case)
        copied = COPIED_BYTES + TURNED_BYTES * (case.gradient_bytes > 2)
        adam_s = adam_s + apart * copied * (dense + expert) / rate
    return case.calibration.step_overhead_s + adam_s + offloaded_step_s(case, kept)


def _steps_apart(case: Case) -> Bools:
    """Return where whole gradients are copied into buckets and reduced before the step; ZeRO 2 and 3 have slices."""
    return np.asarray(case.runs_apart("step") & (case.table.zero < 2))


def _trained(case: Case, layers: Floats) -> tuple[Floats, Floats]:
    """Return what is trained of a stage on an accelerator before ZeRO: of every replica, and of routed experts."""
    shapes = case.shapes
    dense = layers * (shapes.dense_parameters / case.tp + shapes.replicated_parameters)
    dense = case.copies * (dense + shapes.table_parameters / case.tp / np.minimum(case.table.pp, 2))
    expert = case.copies * layers * shapes.expert_parameters / (case.ep * case.etp)
    if not np.any(case.table.adapter_rank > 0):
        return dense, expert
    adapted, added = case.table.adapter_rank > 0, adapter_parameters(case)
    return np.where(adapted, layers * added[0], dense), np.where(adapted, layers * added[1], expert)


def _once_s(case: Case, layers: Floats) -> Floats:
    """Return what replicas exchange once: gradients scattered, weights gathered, or with ZeRO 0 gradients reduced.

    Who steps operation by operation reduces whole gradients with ZeRO 1, too, and gathers weights after that.
    """
    dense, expert = _trained(case, layers)
    first = case.table.zero > 0
    both = case.gradient_bytes + np.where(first, case.weight_bytes, case.gradient_bytes)
    if np.any(case.runs_apart("step")):
        both = both + (first & _steps_apart(case)) * case.gradient_bytes
    among = np.where(case.table.zero > 0, case.shard, case.replicas)
    wire_s = _pair_s(case, among, case.tp, both * dense)
    if case.shapes.any_experts:
        stride = case.ep * case.etp
        owners = np.maximum(case.tp * among / stride, 1.0)
        wire_s = wire_s + (expert > 0) * _pair_s(case, owners, stride, both * expert)
    if not np.any(case.table.shard > 0):
        return wire_s
    between_s = between_shards_s(case, case.gradient_bytes * dense, case.gradient_bytes * expert)
    return wire_s + np.where(case.table.zero > 0, between_s, 0.0)


def _pair_s(case: Case, size: Floats, stride: Floats, both_bytes: Floats) -> Floats:
    """Return the time of a reduce-scatter and an all-gather of ``both_bytes`` together."""
    return 2 * case.links.gather_s(size, stride, both_bytes / 2)
