"""Cost of one micro-batch on one accelerator in an average layer: kernels, recomputation, waits, launches.

Ranks that split a sequence wait until every query meets all keys and values.

There are three methods, each with the core's work in equal parts. A ring and an all-gather give every rank two pieces
of the sequence, one from its front and one from its end, so that a causal mask leaves all ranks as much to do (Llama
3, section 3.3.2; ``zigzag`` elsewhere). With Ulysses every rank has the whole sequence for a part of the heads.
"""

from dataclasses import dataclass

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.transformers.configuration_table import ConfigurationTable
from topoopt.transformers.step_time.case import Case
from topoopt.transformers.step_time.expert_exchange import exchanges_s, hidden_exchanges_s, overlaps
from topoopt.transformers.step_time.layer_time import (
    LayerKernels,
    layer_kernels,
    part_kernels,
    state_exchange_s,
)
from topoopt.transformers.step_time.offload import offloaded_layer_s
from topoopt.transformers.step_time.pipeline_bubble import paired_share

PARTS = ("norms", "activation", "experts", "latent")
"""Parts beside attention's core; the forward pass of each is in :func:`part_kernels`."""


@dataclass(frozen=True, eq=False)
class MicroBatch:
    """Seconds of one micro-batch on one accelerator, as columns.

    Attributes
    ----------
    kernels : LayerKernels
        Kernels of an average layer, and of the logits.
    recompute_s : array
        Kernels that run again in the backward pass of a layer.
    tp_s, cp_s, ep_s : array
        Waits in one layer, both passes and recomputation, that nothing hides.
    ep_alone_s : array
        Waits for experts where no other micro-batch can hide them: while a pipeline fills and drains.
    backward_share : array
        Part of the waits in the backward pass, recomputation included.
    launch_s, chunk_launch_s : array
        Host time of a layer and of a chunk, both passes.
    logits_tp_s : array
        Waits around the logits.
    """

    kernels: LayerKernels
    recompute_s: Floats
    tp_s: Floats
    cp_s: Floats
    ep_s: Floats
    ep_alone_s: Floats
    backward_share: Floats
    launch_s: Floats
    chunk_launch_s: Floats
    logits_tp_s: Floats


def micro_batch(case: Case) -> MicroBatch:
    """Return the seconds of one micro-batch in an average layer and in the logits."""
    shapes, table, calibration = case.shapes, case.table, case.calibration
    layer = layer_kernels(case)
    share = recomputed_layers(table, shapes.layers)
    full = table.recomputes("full") * share
    routed = table.recomputes("experts") * share  # whole layers or experts: tokens are sent again, too
    hidden_bytes = 2 * case.tokens * shapes.hidden
    gather = case.links.gather_s(case.tp, np.ones_like(case.tp), hidden_bytes)
    passes = 2 + full
    bare = 1 - (table.sequence_parallel > 0) * _hidden_sums(case, passes)
    tp_s = passes * _tensor_s(case, hidden_bytes, gather) * bare
    apart_s = _apart_s(case, gather)
    recompute_s = again_s(case, layer) - full * _left_out_s(case, layer)
    alone_s = (2 + routed) * exchanges_s(case)
    by_host = table.graphs == 0
    crowd = calibration.group_launch * np.square(case.tp / 8) * (case.tp > 1)
    cp_s = context_s(case, layer, table.recomputes("core") * share)
    ep_s = _bare_exchanges_s(case, alone_s, layer.forward_s + layer.backward_s + recompute_s)
    whole = case.runs_apart("logits")
    if not np.any(whole):
        joined_logits_s = np.zeros(())
    else:
        size_bytes = 2 * case.tokens * case.shapes.vocabulary
        joined_logits_s = np.asarray(
            whole * case.links.gather_s(case.tp, np.ones_like(case.tp), size_bytes), np.float64
        )
    return MicroBatch(
        kernels=layer,
        recompute_s=recompute_s + offloaded_layer_s(case, layer.forward_s, layer.backward_s + recompute_s),
        tp_s=tp_s + apart_s,
        cp_s=cp_s,
        ep_s=ep_s,
        ep_alone_s=alone_s,
        backward_share=_backward_share((1 + full) / passes, tp_s + cp_s + ep_s, apart_s),
        launch_s=by_host
        * calibration.layer_launch_s
        * passes
        * (shapes.parts / 2 + calibration.expert_launch * shapes.moe_share)
        * (1 + crowd),
        chunk_launch_s=np.asarray(calibration.chunk_launch_s * by_host, np.float64),
        logits_tp_s=2 * gather + joined_logits_s,
    )


def _left_out_s(case: Case, layer: LayerKernels) -> Floats:
    """Return the time saved by ending a recomputation with the last needed tensor, as in PyTorch since 2.1.

    That is the input of a layer's last product (``torch.utils.checkpoint.set_checkpoint_early_stop``). Megatron's own
    recomputation does all of a layer, and so did Composer and DeepSpeed in the runs that are known.
    """
    return np.asarray((case.table.zero == 3) * case.gathers_by("ahead") * layer.last_s, np.float64)


def _hidden_sums(case: Case, passes: Floats) -> Floats:
    """Return the share of a layer's tensor parallel collectives that hide, where the sequence is split.

    Megatron without user buffers hides two of the four in the backward pass: scattering the result of a product
    with the weights overlaps with computing the gradients of these weights.
    """
    share = np.asarray(case.calibration.tensor_overlap, np.float64)
    if case.runs_apart("pieces").any():
        share = np.where(case.runs_apart("pieces"), 0.5 / passes, share)
    return share * ~case.runs_apart("sums")


def _tensor_s(case: Case, hidden_bytes: Floats, gather: Floats) -> Floats:
    """Return the tensor parallel collectives of one pass through an average layer.

    An all-gather and a reduce-scatter (or both in one, an AllReduce) belong to attention, a dense feed-forward
    part and shared experts. Split experts gather the tokens of all of their ranks; after experts the slices of the
    tokens are joined again, unless the sequence is split.
    """
    shapes = case.shapes
    if not shapes.any_experts:
        return 2 * shapes.parts * gather
    pairs = shapes.parts - shapes.moe_share * (shapes.shared_ffn == 0)
    narrow = shapes.expert_width / shapes.hidden
    received = hidden_bytes * narrow * shapes.per_token * case.etp / case.tp
    cut = case.links.gather_s(case.etp, np.ones_like(case.tp), received)
    again = gather * (case.table.sequence_parallel == 0)
    return np.asarray(2 * pairs * gather + shapes.moe_share * (2 * cut + again), np.float64)


def _apart_s(case: Case, gather: Floats) -> Floats:
    """Return the AllReduces of a backward pass in addition to :func:`_tensor_s`, where matrices run separately.

    Each of them sums up the gradient of its input by itself; with sequence parallelism all of them have one gather.
    """
    three, two = case.runs_apart("queries"), case.runs_apart("gate") & (case.shapes.into > 1)
    if not (np.any(three) or np.any(two)):
        return np.zeros(())
    alone = (case.table.sequence_parallel == 0) & (case.table.tp > 1)
    more = 2 * three * case.shapes.attention_share + two * case.shapes.dense_share
    return np.asarray(alone * more * 2 * gather, np.float64)


def _backward_share(usual: Floats, waits_s: Floats, apart_s: Floats) -> Floats:
    """Return the share of the waits that falls into the backward pass, where ``apart_s`` come to it."""
    if not np.any(apart_s):
        return usual
    return np.asarray((usual * waits_s + apart_s) / np.maximum(waits_s + apart_s, 1e-30), np.float64)


def _bare_exchanges_s(case: Case, alone_s: Floats, computing_s: Floats) -> Floats:
    """Return the exposed part of a layer's all-to-alls, on average over the micro-batches."""
    overlapped = overlaps(case)
    if not np.any(overlapped) or not case.shapes.any_experts:
        return alone_s
    paired = paired_share(case.table) * overlapped
    dedicated = case.table.has_word("schedule", "dualpipe")
    return np.asarray(
        alone_s + paired * (hidden_exchanges_s(alone_s, computing_s, dedicated) - alone_s), np.float64
    )


def again_s(case: Case, layer: LayerKernels) -> Floats:
    """Return the kernels that run again in the backward pass of an average layer."""
    table = case.table
    full = table.recomputes("full")
    again = np.where(full, layer.forward_s, table.recomputes("core") * layer.core_s)
    wanted = [part for part in PARTS if np.any(table.recomputes(part) & ~full)]
    if wanted:
        forward_s = part_kernels(case)
        for part in wanted:
            inside = part == "activation"  # of experts that are computed again as a whole
            does = table.recomputes(part) & ~full & ~(inside & table.recomputes("experts"))
            again = again + does * forward_s[part]
    return np.asarray(again * recomputed_layers(table, case.shapes.layers), np.float64)


def recomputed_layers(table: ConfigurationTable, layers: Floats) -> Floats:
    """Return the share of all layers that recomputation is about."""
    if not np.any(table.recompute_layers):
        return np.ones(())
    some = np.minimum(table.recompute_layers * table.vpp * table.pp / layers, 1.0)
    return np.where(table.recompute_layers > 0, some, 1.0)


def context_s(case: Case, layer: LayerKernels, again: Floats) -> Floats:
    """Return the waits of one micro-batch in one layer, both passes.

    Parameters
    ----------
    again : array
        1 where the backward pass computes the core once more.
    """
    table = case.table
    if not np.any(table.cp > 1):
        return np.zeros_like(case.tp)
    wait_s = _ring_s(case, layer, again)
    if np.any(table.context > 0):
        wait_s = np.where(table.has_word("context", "ulysses"), _exchanges_s(case, again), wait_s)
        wait_s = np.where(table.has_word("context", "all-gather"), _gathers_s(case, again), wait_s)
    if case.shapes.any_recurrence:
        wait_s = wait_s + case.shapes.recurrent_share * state_exchange_s(case)
    return np.where(table.cp > 1, wait_s, 0.0)


def key_round_s(case: Case) -> Floats:
    """Return the time of one round of keys and values over the context ranks, forward, in an average layer."""
    return case.shapes.attention_share * case.links.ring_s(
        case.table.cp.astype(np.float64), case.tp, _keys_bytes(case)
    )


def _ring_s(case: Case, layer: LayerKernels, again: Floats) -> Floats:
    """Return the exposed time of passing keys and values around the ring (Liu et al. 2023).

    Backward they go around twice, with their gradients.
    """
    return np.maximum((3 + again) * key_round_s(case) - (2 + again) * layer.core_s, 0.0)


def _exchanges_s(case: Case, again: Floats) -> Floats:
    """Return the all-to-alls of queries, keys, values and the core's output (Jacobs et al. 2023, Ulysses).

    Heads of keys and values are repeated where there are fewer than ranks. Nothing is hidden: the core needs all
    of them, and the next operation all of its output.
    """
    shapes, cp = case.shapes, case.table.cp.astype(np.float64)
    heads, keys = shapes.heads / case.tp, np.maximum(shapes.kv_heads / case.tp, cp)
    widths = (
        heads * shapes.head_dim,
        keys * shapes.head_dim,
        keys * shapes.value_dim,
        heads * shapes.value_dim,
    )
    once = sum(case.links.exchange_s(cp, case.tp, 2 * case.tokens * width) for width in widths)
    return (2 + again) * once * shapes.attention_share


def _gathers_s(case: Case, again: Floats) -> Floats:
    """Return the all-gathers of keys and values, once more backward, and the reduce-scatter of their gradients.

    They come before the core and behind it, exposed (Llama 3, section 3.3.2): cheap where there are few heads of keys.
    """
    cp = case.table.cp.astype(np.float64)
    return (3 + again) * case.links.gather_s(cp, case.tp, _keys_bytes(case)) * case.shapes.attention_share


def _keys_bytes(case: Case) -> Floats:
    """Return the keys and values of all context ranks together, of one tensor parallel rank."""
    shapes = case.shapes
    width = np.maximum(shapes.kv_heads / case.tp, 1) * (shapes.head_dim + shapes.value_dim)
    return 2 * case.tokens * width * case.table.cp
