"""Bytes that kernels between products read and write: norms, sums, rotary embedding, activation, gradient sums."""

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.transformers.configuration import STORED_PRECISIONS
from topoopt.transformers.configuration_table import NF4_BYTES
from topoopt.transformers.step_time.case import Case

APART_PER_NORMED = 36.0
"""RMSNorm as PyTorch runs it, operation by operation, for a number of the hidden size: to 32 bits (6), squared (8),
mean (4), scaled (8), to 16 bits (6), times the weight (4). One kernel reads and writes 4."""

ROTATED_BYTES = 4.0
"""Of a number of queries and keys: read and written by one kernel of rotary embedding."""

APART_PER_ROTATED = 20.0
"""Operation by operation: half negated (2), halves joined (4), two products (8), their sum (6)."""

APART_PER_GATED = 10.0
"""Operation by operation: SiLU (4), its product with the other half (6); one kernel reads and writes 6."""


def streamed_bytes(case: Case) -> Floats:
    """Return the bytes of one forward pass through an average layer.

    A norm and a residual sum with dropout for each part of a layer, of the hidden size; rotary embedding; the
    activation of the inner size. Parts that are not fused read and write every intermediate result.
    """
    shapes = case.shapes
    gated = shapes.into > 1  # the models with rotary embedding and RMSNorm, as far as runs say
    hidden = shapes.parts * shapes.hidden / case.local_tp
    rotated = gated * shapes.attention_share * (shapes.heads + shapes.kv_heads) * shapes.head_dim / case.tp
    fused = 11 * hidden + ROTATED_BYTES * rotated
    more = case.runs_apart("norms") * gated * (APART_PER_NORMED - 4) * hidden
    more = more + case.runs_apart("rotary") * (APART_PER_ROTATED - ROTATED_BYTES) * rotated
    return np.asarray(case.tokens * (fused + more) + activation_bytes(case), np.float64)


def activation_bytes(case: Case) -> Floats:
    """Return the bytes of the activation alone, of the dense layers and of experts."""
    shapes = case.shapes
    inner = shapes.ffn * shapes.dense_share + shapes.moe_share * (
        shapes.per_token * shapes.expert_ffn + shapes.shared_ffn
    )
    more = case.runs_apart("activation") * (shapes.into > 1) * (APART_PER_GATED - 6)
    return np.asarray(case.tokens * (2 * (shapes.into + 1) + more) * inner / case.tp, np.float64)


def joined_bytes(case: Case) -> Floats:
    """Return the bytes by which a backward pass adds up the gradients of an input that several matrices read.

    Where queries, keys and values, or gate and the matrix beside it, are products of their own, each makes a gradient
    of the whole input: two are read, their sum is written.
    """
    three, two = case.runs_apart("queries"), case.runs_apart("gate") & (case.shapes.into > 1)
    if not (np.any(three) or np.any(two)):
        return np.zeros(())
    more = 2 * three * case.shapes.attention_share + two * case.shapes.dense_share
    return np.asarray(6 * more * case.tokens * case.shapes.hidden, np.float64)


def summed_bytes(case: Case) -> tuple[Floats, Floats]:
    """Return the bytes by which gradients of a layer's and of the output's weights are added to their sums.

    With every micro-batch: a gradient in 16 bits is read, its sum read and written. With few tokens in a micro-batch
    that takes as long as some of the products. Frozen weights have no gradients.
    """
    shapes = case.shapes
    each = (2 + 2 * case.gradient_bytes) * (case.table.adapter_rank == 0)
    return each * _layer_parameters(case), each * shapes.vocabulary / case.tp * shapes.hidden


def unpacked_bytes(case: Case) -> Floats:
    """Return the bytes by which frozen weights in 4 bits are made 16 bits before the products that read them.

    Once forward and once backward of every micro-batch (QLoRA, Dettmers 2023, equation 5): packed ones are read, 16
    bits are written.
    """
    four = case.table.weights == STORED_PRECISIONS.index("nf4")
    if not np.any(four):
        return np.zeros(())
    return np.asarray(four * (NF4_BYTES + 2) * _layer_parameters(case), np.float64)


def _layer_parameters(case: Case) -> Floats:
    """Return the parameters of an average layer on one accelerator."""
    shapes = case.shapes
    layer = shapes.dense_parameters / case.tp + shapes.replicated_parameters
    return np.asarray(layer + shapes.expert_parameters / (case.ep * case.etp), np.float64)
