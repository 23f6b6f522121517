"""Kernels of layers with a recurrence: Mamba-2 and linear attention, whose time is linear in the sequence.

No published run times them apart, so their rates are assumed: projections reach what matrix products of these sizes
reach, products between them what the attention's core reaches, the rest the rate of the memory.
"""

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.transformers.step_time.case import Case

RECURRENT_BACKWARD = 3.0
"""Work of the backward pass between the projections over that of the forward pass: it computes convolution and states
once more, as the fused kernels of state-spaces/mamba do, and then two gradients of each product."""


def between_s(case: Case, s_per_byte: Floats) -> Floats:
    """Return the forward time between the projections of one such layer: convolution, chunks, states, gated norm."""
    shapes = case.shapes
    on_units = shapes.recurrent_flops / (case.usual_flops * case.attention_efficiency)
    return np.asarray(case.tokens / case.tp * (on_units + shapes.recurrent_bytes * s_per_byte), np.float64)


def copied_s(case: Case, s_per_byte: Floats) -> Floats:
    """Return the time in which one pass of such a layer brings its sequences together, token after token, and back.

    Megatron Core has tokens of all sequences of a micro-batch side by side, its recurrences want one after the other:
    what is projected, and what comes out, is read and written (``MambaMixer._ssm_training``); one alone is not.
    """
    shapes = case.shapes
    size = 4 * (shapes.recurrent_into + shapes.recurrent_inner) * (case.table.micro_batch > 1)
    return np.asarray(case.tokens / case.tp * size * s_per_byte, np.float64)


def state_exchange_s(case: Case) -> Floats:
    """Return what context parallel ranks wait for in one such layer, both passes.

    Every rank gets the whole sequence for a part of the heads and gives it back (``MambaContextParallel`` of Megatron
    Core): all-to-alls of what is projected and of what comes out.
    """
    shapes, cp = case.shapes, case.table.cp.astype(np.float64)
    widths = shapes.recurrent_into / case.tp, shapes.recurrent_inner / case.tp
    once = sum(case.links.exchange_s(cp, case.tp, 2 * case.tokens * width) for width in widths)
    return np.asarray((2 + case.table.recomputes("full")) * once, np.float64)
