"""Exchanges between replicas in an iteration, their hidden part, and the optimizer's step.

ZeRO 2 and 3 wait for weights gathered before every layer, and for gradients scattered after it.

The weights of a layer are gathered while the layer before computes, forward and backward, and its gradients are
sent during the backward pass of the next one (Zhao 2023, "PyTorch FSDP", section 3.3). So a layer waits for the
excess of its communication over that computation, the first gather and the last scatter of a micro-batch are fully
exposed, and a share of everything else is exposed whatever the time: kernels of collectives take multiprocessors
and memory bandwidth from concurrent ones. With hybrid sharding (HSDP) all of this stays within a shard, and the
shards sum their gradients once an iteration, during the last backward pass.

None of this takes longer with faster links: time is hidden behind one exchange only, and the passes with waits and
launches add up to the time of the stage.

Who shares out gradients in an interleaved pipeline scatters those of a chunk when the last of the micro-batches that go
through it one after the other is done, as many as there are stages (Chu 2025, "Scaling Llama 3 Training with Efficient
Parallelism Strategies", section 3.1.3; from memory, unconfirmed).

All-gathers and reduce-scatters are rings in NCCL, whose latency grows with their members (src/graph/tuning.cc: trees
are for AllReduce only). DeepSpeed until version 0.4 gathered every parameter by itself, also for the recomputation,
over one ring: each server receives all bytes over the network interface of one rank. Its issues 1069, 1170 and 1174
(2021) describe it; coalesced gathers came with 0.5.
"""

from dataclasses import dataclass

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.transformers.configuration_table import NF4_BYTES, Bools
from topoopt.transformers.step_time.adapter_time import adapter_parameters
from topoopt.transformers.step_time.case import Case
from topoopt.transformers.step_time.micro_batch import MicroBatch
from topoopt.transformers.step_time.offload import offloaded_step_s

PARAMETERS_OF_A_LAYER = 4
"""Matrices of a GPT layer, each gathered by itself by DeepSpeed in 2021; those of less than 100,000 numbers stay whole
(``stage3_param_persistence_threshold``)."""


@dataclass(frozen=True, eq=False)
class Exchanges:
    """Seconds of the collectives of one unit (a layer, or the tables), as columns.

    Attributes
    ----------
    gather_s, scatter_s : array
        Gathering weights before a pass, and scattering gradients after a backward pass, in the shard.
    reduce_s : array
        Time between shards, once an iteration.
    """

    gather_s: Floats
    scatter_s: Floats
    reduce_s: Floats


COPIED_BYTES = 12.0
"""Bytes moved per 16-bit gradient if unfused: copied into a bucket (4), scaled (4), and back (4)."""
TURNED_BYTES = 12.0
"""Bytes moved where it is reduced in 32 bits: converted to them (6) and back (6)."""
OPTIMIZER_BYTES_PER_PARAMETER = 30.0
"""Adam: gradient read, master weight and two moments read and written in 32 bits, weight written in 16 bits."""


def replica_waits_s(case: Case, layers: Floats, one: MicroBatch) -> Floats:
    """Return the time that a stage waits for its replicas in an iteration.

    ZeRO 2 and 3 exchange gradients and weights with every micro-batch
    (:mod:`topoopt.transformers.step_time.data_parallel_time`). ZeRO 0 and 1 reduce gradients once (an AllReduce is a
    reduce-scatter and an all-gather); the share that can hide leaves while the last backward pass, that of the first
    chunk, goes on.
    """
    often = case.table.zero >= 2
    if np.all(often):
        return sharded_s(case, layers, one)
    once_s = _exposed_once_s(case, layers, one, _once_s(case, layers))
    return np.where(often, sharded_s(case, layers, one), once_s) if np.any(often) else once_s


def _exposed_once_s(case: Case, layers: Floats, one: MicroBatch, wire_s: Floats) -> Floats:
    """Return the exposed part of the exchanges done once per iteration with ZeRO 0 and 1."""
    behind_s = layers * one.kernels.backward_s / case.table.vpp
    overlap = case.calibration.gradient_overlap * ~case.runs_apart("step")
    early_s = _early_s(case, wire_s)
    late_s = wire_s - early_s
    once_s = late_s - overlap * (late_s - longer_by_s(late_s, behind_s))
    if np.any(early_s):
        once_s = once_s + longer_by_s(early_s, behind_s)
    return once_s


def _early_s(case: Case, wire_s: Floats) -> Floats:
    """Return the part that begins before the last backward pass: with DualPipe, gradients of a rank's other stage.

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
    """Return the trained parameters of a stage per accelerator before ZeRO: per replica, and of routed experts."""
    shapes = case.shapes
    dense = layers * (shapes.dense_parameters / case.tp + shapes.replicated_parameters)
    dense = case.copies * (dense + shapes.table_parameters / case.tp / np.minimum(case.table.pp, 2))
    expert = case.copies * layers * shapes.expert_parameters / (case.ep * case.etp)
    if not np.any(case.table.adapter_rank > 0):
        return dense, expert
    adapted, added = case.table.adapter_rank > 0, adapter_parameters(case)
    return np.where(adapted, layers * added[0], dense), np.where(adapted, layers * added[1], expert)


def _once_s(case: Case, layers: Floats) -> Floats:
    """Return the exchanges done once: gradients scattered, weights gathered, or with ZeRO 0 gradients reduced.

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


def sharded_s(case: Case, layers: Floats, one: MicroBatch) -> Floats:
    """Return the exposed exchanges of a stage in an iteration with ZeRO 2 or 3."""
    layer, ends = _of_a_layer(case), _of_the_ends(case)
    overlap, turns = _overlap(case), _turns(case)
    forward_s, backward_s = passes = _passes(case, layers, one)
    all_s, at_least_s = _every_micro_batch(case, layers, passes, layer, ends)
    waits_s = case.batches / turns * _exposed_s(all_s, at_least_s, overlap)
    if np.any(case.table.shard > 0):
        waits_s = waits_s + _exposed_reduce_s(case, layers, layer, ends, backward_s)
    gathered = _exposed_gather_s(layers, layer, ends, forward_s, overlap)
    return waits_s + np.where(case.table.zero == 3, 0.0, gathered)


def replica_exchanges(case: Case, layers: Floats, one: MicroBatch) -> dict[str, tuple[Floats, Floats]]:
    """Return the exposed and total time of the replicas' exchanges in an iteration, by kind.

    Returns
    -------
    dict of (array, array)
        ``every``: exchanges of ZeRO 2 and 3 with the micro-batches; ``gather``: the weights that ZeRO 2 gathers after
        the step; ``reduce``: gradients between shards of ZeRO 2 and 3; ``once``: exchanges of ZeRO 0 and 1.
    """
    layer, ends = _of_a_layer(case), _of_the_ends(case)
    forward_s, backward_s = passes = _passes(case, layers, one)
    overlap = _overlap(case)
    every_s, at_least_s = _every_micro_batch(case, layers, passes, layer, ends)
    once_s = _once_s(case, layers)
    passes_of = case.batches / _turns(case)
    return {
        "every": (passes_of * _exposed_s(every_s, at_least_s, overlap), passes_of * every_s),
        "gather": (
            _exposed_gather_s(layers, layer, ends, forward_s, overlap),
            layers * layer.gather_s + ends.gather_s,
        ),
        "reduce": (
            _exposed_reduce_s(case, layers, layer, ends, backward_s),
            layers * layer.reduce_s + ends.reduce_s,
        ),
        "once": (_exposed_once_s(case, layers, one, once_s), once_s),
    }


def _exposed_reduce_s(
    case: Case, layers: Floats, layer: Exchanges, ends: Exchanges, backward_s: Floats
) -> Floats:
    """Return the exposed part of the AllReduce between shards.

    It hides in the time that the exchanges of the last micro-batch leave beside its backward pass.
    """
    beside_s = _behind_s(case, layer) / _turns(case)
    beside_s = longer_by_s(beside_s + layer.reduce_s, backward_s) - longer_by_s(beside_s, backward_s)
    sums = case.calibration.replica_overlap
    return _exposed_s(layers * layer.reduce_s, layers * beside_s, sums) + ends.reduce_s


def between_shards_s(case: Case, dense_bytes: Floats, expert_bytes: Floats | None) -> Floats:
    """Return the time of an AllReduce of gradients among the replicas of a shard.

    Parameters
    ----------
    dense_bytes, expert_bytes : array
        Bytes on an accelerator before ZeRO, per replica and for routed experts.
    """
    if not np.any(case.table.shard > 0):
        return np.zeros(())
    shards = case.replicas / case.shard
    reduced_s = 2 * case.links.gather_s(shards, case.tp * case.shard, dense_bytes / case.shard)
    if expert_bytes is None or not case.shapes.any_experts:
        return reduced_s
    stride = case.ep * case.etp
    inside, all_owners = _owners(case, case.shard), _owners(case, case.replicas)
    return reduced_s + 2 * case.links.gather_s(all_owners / inside, stride * inside, expert_bytes / inside)


def _owners(case: Case, ranks: Floats) -> Floats:
    """Return the number of these replicas that hold the same experts."""
    return np.maximum(case.tp * ranks / (case.ep * case.etp), 1.0)


def _every_micro_batch(
    case: Case, layers: Floats, passes: tuple[Floats, Floats], layer: Exchanges, ends: Exchanges
) -> tuple[Floats, Floats]:
    """Return the time of the exchanges with the micro-batches of a turn, and a lower bound on the exposed part."""
    table, third = case.table, case.table.zero == 3
    forward_s, backward_s = passes[0], passes[1] * _turns(case)
    before = np.where(third, layer.gather_s, 0.0)
    late = np.where(case.gathers_by("after"), before, 0.0)  # beside the scatter only
    behind = _behind_s(case, layer)
    outside = np.where(third, ends.gather_s, 0.0) + ends.scatter_s
    # No computation is beside the first gather of a chunk and the last scatter; others may take longer than theirs.
    bare = table.vpp * before + layers * late + layer.scatter_s + outside
    peeking = layers * (longer_by_s(before, forward_s) + longer_by_s(behind, backward_s))
    return layers * (before + behind + late) + outside, bare + peeking


def _behind_s(case: Case, layer: Exchanges) -> Floats:
    """Return the exchanges of a layer that overlap a backward pass: its weights once more, and its gradients."""
    again = np.where(case.gathers_by("after"), 0.0, 1.0)
    again = again + np.where(case.gathers_by("each"), case.table.recomputes("full"), 0.0)
    return np.asarray((case.table.zero == 3) * again * layer.gather_s + layer.scatter_s, np.float64)


def _turns(case: Case) -> Floats:
    """Return the micro-batches that pass through a chunk before its gradients are scattered."""
    table = case.table
    waits = (table.zero == 2) & (table.vpp > 1) & (table.pp > 1)
    if not np.any(waits):
        return np.ones(())
    return np.where(waits, np.minimum(table.pp, np.maximum(case.batches, 1.0)), 1.0)


def _overlap(case: Case) -> Floats:
    return np.where(case.gathers_by("alone"), 0.0, case.calibration.gather_overlap)


def longer_by_s(exchange_s: Floats, computation_s: Floats) -> Floats:
    """Return the delay of a computation by a concurrent exchange, as a smooth function of both.

    The 3-norm of the two as in :func:`~topoopt.transformers.step_time.closed_form.combined_s`: where they are alike,
    neither hides all of the other.
    """
    longer = np.maximum(exchange_s, computation_s)
    ratio = np.minimum(exchange_s, computation_s) / np.maximum(longer, 1e-30)
    return np.asarray(longer * np.cbrt(1 + ratio * ratio * ratio) - computation_s, np.float64)


def _exposed_s(all_s: Floats, at_least_s: Floats, overlap: Floats | float) -> Floats:
    """Return the exposed time when a share of the hideable part is hidden."""
    return np.asarray(all_s - overlap * np.maximum(all_s - at_least_s, 0.0), np.float64)


def _exposed_gather_s(
    layers: Floats, layer: Exchanges, ends: Exchanges, forward_s: Floats, overlap: Floats
) -> Floats:
    """Return the exposed gathering of weights after the step with ZeRO 2, while the next forward pass begins."""
    all_s = layers * layer.gather_s + ends.gather_s
    return _exposed_s(all_s, ends.gather_s + layers * longer_by_s(layer.gather_s, forward_s), overlap)


def _passes(case: Case, layers: Floats, one: MicroBatch) -> tuple[Floats, Floats]:
    """Return the time of a layer's forward and backward pass, with waits and the idle time while the host launches.

    The idle time is divided between the passes as the waits are: then shorter waits make neither pass longer.
    """
    forward, backward = one.kernels.forward_s, one.kernels.backward_s + one.recompute_s
    launches = one.launch_s + case.table.vpp / layers * one.chunk_launch_s
    waits = one.tp_s + one.cp_s + one.ep_s
    waits = waits + longer_by_s(launches, forward + backward + waits)
    return forward + (1 - one.backward_share) * waits, backward + one.backward_share * waits


def _of_a_layer(case: Case) -> Exchanges:
    """Return the collectives of an average layer; of adapters few gradients are reduced; ZeRO 3 gathers all weights.

    ZeRO 2 keeps weights whole: it gathers those that a step has changed.
    """
    shapes = case.shapes
    dense = shapes.dense_parameters / case.tp + shapes.replicated_parameters
    expert = shapes.expert_parameters / (case.ep * case.etp)
    if not np.any(case.table.adapter_rank > 0):
        whole = dense, expert
        return _exchanges(case, whole, whole)
    adapted, added = case.table.adapter_rank > 0, adapter_parameters(case)
    trained = np.where(adapted, added[0], dense), np.where(adapted, added[1], expert)
    third = case.table.zero == 3
    held = np.where(third, dense, trained[0]), np.where(third, expert, trained[1])
    return _exchanges(case, held, trained)


def _of_the_ends(case: Case) -> Exchanges:
    """Return the collectives of embedding and output layer, which adapters leave frozen."""
    tables = case.shapes.table_parameters / case.tp / np.minimum(case.table.pp, 2)
    trained = tables * (case.table.adapter_rank == 0)
    held = np.where(case.table.zero == 3, tables, trained)
    return _exchanges(case, (held, None), (trained, None))


def _exchanges(
    case: Case, held: tuple[Floats, Floats | None], trained: tuple[Floats, Floats | None]
) -> Exchanges:
    """Return the collectives of one unit.

    Parameters
    ----------
    held, trained
        Parameters on an accelerator before ZeRO, of every replica and of routed experts: gathered, and with gradients.
    """
    packed = case.table.has_word("weights", "nf4")
    weight, gradient = np.where(packed, NF4_BYTES, case.weight_bytes), case.gradient_bytes
    gather_s = _in_shard_s(case, weight, held)
    alike = held is trained and np.array_equal(weight, gradient)
    scatter_s = gather_s if alike else _in_shard_s(case, gradient, trained)
    expert_bytes = None if trained[1] is None else gradient * trained[1]
    return Exchanges(gather_s, scatter_s, between_shards_s(case, gradient * trained[0], expert_bytes))


def _in_shard_s(case: Case, element_bytes: Floats, parameters: tuple[Floats, Floats | None]) -> Floats:
    """Return the time of an all-gather or a reduce-scatter of one unit within a shard."""
    dense, expert = parameters
    links, messages = case.links, np.where(case.gathers_by("each"), PARAMETERS_OF_A_LAYER, 1)
    gather_s = links.ring_gather_s(case.shard, case.tp, element_bytes * dense, messages, messages > 1)
    if expert is None or not case.shapes.any_experts:
        return gather_s
    stride, owners = case.ep * case.etp, _owners(case, case.shard)
    return gather_s + links.ring_gather_s(owners, stride, element_bytes * expert, messages, messages > 1)
