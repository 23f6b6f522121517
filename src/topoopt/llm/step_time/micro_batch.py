"""What one micro-batch costs one accelerator in an average layer: kernels, recomputation, waits, launches."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from topoopt.hardware import PRECISIONS
from topoopt.llm.calibration.parameters import Calibration
from topoopt.llm.configuration import RECOMPUTATIONS
from topoopt.llm.configuration_table import ConfigurationTable
from topoopt.llm.step_time.collective_time import Links
from topoopt.llm.step_time.layer_time import Kernels, LayerKernels, Work
from topoopt.llm.step_time.machine import Machine
from topoopt.llm.step_time.shapes import Shapes

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class MicroBatch:
    """Seconds of one micro-batch on one accelerator, as columns.

    Attributes
    ----------
    kernels : LayerKernels
        Of an average layer, and of the logits.
    recompute_s : array
        Kernels that run again in the backward pass of a layer.
    tp_s, cp_s, ep_s : array
        Waits in one layer, both passes and recomputation, that nothing hides.
    backward_share : array
        Of the waits: what falls into the backward pass, recomputation included.
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
    backward_share: Floats
    launch_s: Floats
    chunk_launch_s: float
    logits_tp_s: Floats


def work_of(table: ConfigurationTable, machine: Machine, calibration: Calibration) -> Work:
    """Return what one accelerator has of one micro-batch."""
    tp = table.tp.astype(np.float64)
    usual = machine.peak_flops[PRECISIONS.index("bf16")]
    rows = () if machine.peak_flops.ndim == 1 else (np.arange(len(table)),)
    peak = machine.peak_flops[(table.precision, *rows)]
    peak = np.where(peak > usual, usual + calibration.low_precision_gain * (peak - usual), peak)
    return Work(
        tokens=table.micro_batch * table.sequence / table.cp,
        keys=table.sequence.astype(np.float64),
        tp=tp,
        local_tp=np.where(table.sequence_parallel > 0, tp, 1.0),
        ep=table.ep.astype(np.float64),
        etp=table.etp.astype(np.float64),
        fused=_fused(table, calibration),
        attention=np.where(table.zero == 3, calibration.sharded_attention, 1.0)
        * calibration.attention_efficiency,
        peak_flops=peak,
        usual_flops=np.broadcast_to(usual, tp.shape),
    )


def _fused(table: ConfigurationTable, calibration: Calibration) -> Floats:
    if calibration.attention == "auto":  # eager in the stacks that had no ZeRO-3, fused in those that have
        sharded: Floats = (table.zero == 3).astype(np.float64)
        return sharded
    return np.full(len(table), float(calibration.attention == "fused"))


def micro_batch(
    shapes: Shapes,
    table: ConfigurationTable,
    work: Work,
    machine: Machine,
    links: Links,
    calibration: Calibration,
) -> MicroBatch:
    """Return the seconds of one micro-batch in an average layer and in the logits."""
    layer = Kernels(machine, calibration).layer(shapes, work)
    full = (table.recompute == RECOMPUTATIONS.index("full")).astype(np.float64)
    selective = (table.recompute == RECOMPUTATIONS.index("selective")).astype(np.float64)
    hidden_bytes = 2 * work.tokens * shapes.hidden
    reduced = 2 * links.gather_s(work.tp, np.ones_like(work.tp), hidden_bytes)
    passes = 2 + full
    bare = 1 - calibration.tensor_overlap * (table.sequence_parallel > 0)
    crowd = calibration.group_launch * np.square(work.tp / 8) * (work.tp > 1)
    return MicroBatch(
        kernels=layer,
        recompute_s=full * layer.forward_s + selective * layer.core_s,
        tp_s=passes * _tensor_s(shapes, table, work, links, hidden_bytes) * bare,
        cp_s=_ring_s(shapes, table, work, links, layer, full + selective),
        ep_s=passes * _exchanges_s(shapes, work, links, hidden_bytes),
        backward_share=(1 + full) / passes,
        launch_s=calibration.layer_launch_s * passes * (1 + shapes.moe_share) * (1 + crowd),
        chunk_launch_s=calibration.chunk_launch_s,
        logits_tp_s=reduced,
    )


def _tensor_s(
    shapes: Shapes, table: ConfigurationTable, work: Work, links: Links, hidden_bytes: Floats
) -> Floats:
    """Return the tensor parallel collectives of one pass through an average layer.

    An all-gather and a reduce-scatter (or both in one, an AllReduce) go with attention, with a dense feed-forward
    part and with shared experts. Experts that are cut gather what all of their ranks have received; behind experts
    the slices of the tokens are put together again, unless the sequence is split.
    """
    gather = links.gather_s(work.tp, np.ones_like(work.tp), hidden_bytes)
    if not shapes.any_experts:
        return 4 * gather
    pairs = 2 - shapes.moe_share * (shapes.shared_ffn == 0)
    received = hidden_bytes * shapes.per_token * work.etp / work.tp
    cut = links.gather_s(work.etp, np.ones_like(work.tp), received)
    again = gather * (table.sequence_parallel == 0)
    return np.asarray(2 * pairs * gather + shapes.moe_share * (2 * cut + again), np.float64)


def _ring_s(
    shapes: Shapes, table: ConfigurationTable, work: Work, links: Links, layer: LayerKernels, again: Floats
) -> Floats:
    """Return what the attention's core does not hide of the keys and values that go round the context ranks.

    ``again`` is 1 where the backward pass computes the core once more.
    """
    cp = table.cp.astype(np.float64)
    kv_heads = np.maximum(shapes.kv_heads / work.tp, 1)
    round_bytes = 2 * work.tokens * kv_heads * (shapes.head_dim + shapes.value_dim) * cp
    ring = links.ring_s(cp, work.tp, round_bytes)  # forward; twice as much backward, with the gradients
    bare = np.maximum((3 + again) * ring - (2 + again) * layer.core_s, 0.0)
    return np.where(cp > 1, bare, 0.0)


def _exchanges_s(shapes: Shapes, work: Work, links: Links, hidden_bytes: Floats) -> Floats:
    """Return dispatch and combine of one pass through an average layer."""
    if not shapes.any_experts:
        return np.zeros_like(work.tp)
    sent = hidden_bytes * shapes.per_token / work.tp
    return shapes.moe_share * 2 * links.exchange_s(work.ep, work.etp, sent)
