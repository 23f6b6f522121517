"""Kernels of one layer and of the logits: matrix products, the attention's core, and memory-bound kernels.

Kernels of layers with a recurrence: Mamba-2 and linear attention, whose time is linear in the sequence.

No published run measures them separately, so their rates are assumed: projections have the rate of matrix products
of these sizes, products between them that of the attention's core, the rest that of the memory.
"""

from dataclasses import dataclass

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.transformers.configuration import STORED_PRECISIONS
from topoopt.transformers.configuration_table import NF4_BYTES
from topoopt.transformers.step_time.adapter_time import adapter_kernels
from topoopt.transformers.step_time.attention_time import core_s
from topoopt.transformers.step_time.case import Case

RECURRENT_BACKWARD = 3.0
"""Work of the backward pass between the projections over that of the forward pass: it computes convolution and states
once more, as the fused kernels of state-spaces/mamba do, and then two gradients of each product."""
APART_PER_NORMED = 36.0
"""RMSNorm as PyTorch runs it, operation by operation, for a number of the hidden size: to 32 bits (6), squared (8),
mean (4), scaled (8), to 16 bits (6), times the weight (4). One kernel reads and writes 4."""
ROTATED_BYTES = 4.0
"""Bytes per number of queries and keys: read and written by one kernel of rotary embedding."""
APART_PER_ROTATED = 20.0
"""Operation by operation: half negated (2), halves joined (4), two products (8), their sum (6)."""
APART_PER_GATED = 10.0
"""Operation by operation: SiLU (4), its product with the other half (6); one kernel reads and writes 6."""
STREAMED_BACKWARD = 1.5
"""Bytes of the backward pass of norms, softmax, dropout and activations over those of the forward pass."""
LOSS_BYTES_PER_LOGIT = 24.0
"""Logits written in 16 bits, and read and written in 32 bits by the loss and its gradient."""
APART_LOSS_BYTES = 40.0
"""Operation by operation: to 32 bits (6), logarithms of the softmax (8), the best one (4); gradients of the chosen (4),
of the softmax (12), and to 16 bits (6)."""
JOINED_LOGIT_BYTES = 8.0
"""Bytes per logit gathered in pieces: copied out of the receive buffer (4), and joined (4)."""


@dataclass(frozen=True, eq=False)
class LayerKernels:
    """Seconds of kernels of one micro-batch: a layer's forward and backward pass, its attention's core, the logits.

    ``weights_s`` is the part of a layer's backward pass that makes the gradients of its weights, which nothing waits
    for; of the logits it is half of their backward products.
    """

    forward_s: Floats
    backward_s: Floats
    core_s: Floats
    last_s: Floats
    logits_forward_s: Floats
    logits_backward_s: Floats
    weights_s: Floats
    logits_weights_s: Floats


def layer_kernels(case: Case) -> LayerKernels:
    """Return the kernels of an average layer and of the logits."""
    return _Kernels(case).layer()


def part_kernels(case: Case) -> dict[str, Floats]:
    """Return forward seconds of the parts of an average layer that can be computed again by themselves."""
    return _Kernels(case).parts()


class _Kernels:
    def __init__(self, case: Case) -> None:
        self.case = case
        machine, calibration = case.machine, case.calibration
        self.efficiency = calibration.gemm_efficiency
        self.half_depth = calibration.gemm_half_depth
        self.half_area = calibration.gemm_half_side**2
        self.s_per_byte = 1 / (machine.memory_bytes_per_s * calibration.memory_efficiency)

    def product_s(self, rows: Floats, columns: Floats, depth: Floats, flops: Floats) -> Floats:
        """Return the time of a product of (rows, depth) and (depth, columns) matrices.

        A tile takes longer by its start and its end, in which nothing is multiplied: as much as ``half_depth``
        more of depth would in 16 bits, and no less where the products themselves are faster, since the data loaded
        and stored then has 16 and 32 bits. The last wave of tiles over the processors is partly empty. The
        memory's rate is a roof. So it takes 2·MNK·(1 + a²/MN)·(1/rate + k/(K·usual rate))/e for M rows, N columns
        and a depth of K.
        """
        written = rows * columns
        s_per_two = depth / flops + self.half_depth / self.case.usual_flops
        work_s = (written + self.half_area) * s_per_two * (2 / self.efficiency)
        return np.maximum(work_s, (depth * (rows + columns) + written) * (2 * self.s_per_byte))

    def layer(self) -> LayerKernels:
        """Return all kernels."""
        shapes, case = self.case.shapes, self.case
        linear = shapes.attention_share * self._projections() + self._feed_forward()
        streamed = streamed_bytes(case) * self.s_per_byte
        core_forward, core_backward = core_s(case, self.s_per_byte)
        adapters = np.zeros(()), np.zeros(())
        if np.any(case.table.adapter_rank > 0):
            adapters = adapter_kernels(case, self.product_s, self.s_per_byte)
        between: Floats = np.zeros(())
        copied: Floats = np.zeros(())
        if shapes.any_recurrence:
            linear = linear + shapes.recurrent_share * self._recurrent_projections()
            between = shapes.recurrent_share * between_s(case, self.s_per_byte)
            copied = shapes.recurrent_share * copied_s(case, self.s_per_byte)
        logits = self.product_s(case.tokens, shapes.vocabulary / case.tp, shapes.hidden, case.usual_flops)
        loss = case.tokens * shapes.vocabulary / case.tp * self._loss_bytes() * self.s_per_byte
        products = np.where(
            case.table.adapter_rank > 0, 1, 2
        )  # frozen weights have no gradients, only their input has
        summed, summed_ends = (self.s_per_byte * size for size in summed_bytes(case))
        unpacked = unpacked_bytes(case) * self.s_per_byte
        return LayerKernels(
            linear + streamed + core_forward + between + copied + adapters[0] + unpacked,
            products * linear
            + STREAMED_BACKWARD * streamed
            + core_backward
            + RECURRENT_BACKWARD * between
            + copied
            + adapters[1]
            + unpacked
            + summed
            + joined_bytes(case) * self.s_per_byte,
            core_forward,
            self._last_product() if np.any(case.table.zero == 3) else np.zeros(()),
            logits + loss / 2,
            products * logits + loss / 2 + summed_ends,
            (products - 1) * linear + adapters[0] + summed,
            (products - 1) * logits + summed_ends,
        )

    def _loss_bytes(self) -> Floats:
        """Return the bytes that the loss and its gradient take for a logit of this rank's."""
        case = self.case
        each = np.where(case.runs_apart("loss"), APART_LOSS_BYTES, LOSS_BYTES_PER_LOGIT)
        whole = case.runs_apart("logits")
        if not np.any(whole):
            return each
        return np.where(whole & (case.tp > 1), case.tp * (each + JOINED_LOGIT_BYTES), each)

    def parts(self) -> dict[str, Floats]:
        """Return norms, activations, routed experts, and the up-projections of latent attention."""
        shapes, case = self.case.shapes, self.case
        norms = 4 * case.tokens * shapes.parts * shapes.hidden / case.local_tp * self.s_per_byte
        latent, experts = np.zeros_like(norms), np.zeros_like(norms)
        if shapes.any_latent:
            latent = np.where(shapes.key_value_rank > 0, self._projected_up(), 0.0)
        if shapes.any_experts:
            experts = shapes.moe_share * self._mixed()
        return {
            "norms": norms,
            "activation": activation_bytes(self.case) * self.s_per_byte,
            "experts": experts,
            "latent": latent,
        }

    def _projections(self) -> Floats:
        shapes, case = self.case.shapes, self.case
        heads, flops, tokens = shapes.heads / case.tp, case.peak_flops, case.tokens
        into_heads = heads * shapes.head_dim
        back = self.product_s(tokens, shapes.hidden, heads * shapes.value_dim, flops)
        keys_values = np.maximum(shapes.kv_heads / case.tp, 1) * (shapes.head_dim + shapes.value_dim)
        queries = into_heads * shapes.query_parts
        plain = self.product_s(tokens, queries + keys_values, shapes.hidden, flops)
        apart = case.runs_apart("queries")
        if np.any(apart):
            alone = self.product_s(tokens, queries, shapes.hidden, flops)
            pair = 2 * self.product_s(tokens, keys_values / 2, shapes.hidden, flops)
            plain = np.where(apart, alone + pair, plain)
        if not shapes.any_latent:
            return plain + back
        latent = shapes.key_value_rank > 0
        rank, query_rank = np.maximum(shapes.key_value_rank, 1), np.maximum(shapes.query_rank, 1)
        down = self.product_s(tokens, query_rank + rank + shapes.rope_dim, shapes.hidden, flops)
        return back + np.where(latent, down + self._projected_up(), plain)

    def _projected_up(self) -> Floats:
        """Queries, keys and values of latent attention, from their ranks."""
        shapes, case = self.case.shapes, self.case
        heads, flops, tokens = shapes.heads / case.tp, case.peak_flops, case.tokens
        rank, query_rank = np.maximum(shapes.key_value_rank, 1), np.maximum(shapes.query_rank, 1)
        up = self.product_s(tokens, heads * shapes.head_dim, query_rank, flops)
        up_values = heads * (shapes.head_dim - shapes.rope_dim + shapes.value_dim)
        return up + self.product_s(tokens, up_values, rank, flops)

    def _recurrent_projections(self) -> Floats:
        shapes, case = self.case.shapes, self.case
        inner, rank = np.maximum(shapes.recurrent_inner / case.tp, 1), shapes.recurrent_rank
        into = np.maximum(shapes.recurrent_into / case.tp, 1)
        back = self.product_s(case.tokens, shapes.hidden, inner, case.peak_flops)
        plain = self.product_s(case.tokens, into, shapes.hidden, case.peak_flops) + back
        if not np.any(rank > 0):
            return plain
        ranks = np.maximum(rank, 1)
        down = self.product_s(case.tokens, 2 * ranks, shapes.hidden, case.peak_flops)
        up = 2 * self.product_s(case.tokens, inner, ranks, case.peak_flops)
        return plain + np.where(rank > 0, down + up, 0.0)

    def _feed_forward(self) -> Floats:
        shapes, case = self.case.shapes, self.case
        inner = np.maximum(shapes.ffn / case.tp, 1)
        dense = self._two_products(case.tokens, inner, shapes.hidden)
        apart = case.runs_apart("gate") & (shapes.into > 1)
        if np.any(apart):
            each = self.product_s(case.tokens, inner, shapes.hidden, case.peak_flops)
            back = self.product_s(case.tokens, shapes.hidden, inner, case.peak_flops)
            dense = np.where(apart, 2 * each + back, dense)
        if not shapes.any_experts:
            return dense
        return dense * shapes.dense_share + self._mixed() * shapes.moe_share

    def _mixed(self) -> Floats:
        """Return routed and shared experts of a layer that has some."""
        shapes, case = self.case.shapes, self.case
        shared = self._two_products(case.tokens, np.maximum(shapes.shared_ffn / case.tp, 1), shapes.hidden)
        visits = np.maximum(shapes.per_token, 1) * shapes.capacity * (1.0 if case.padded else case.hottest)
        rows = case.tokens * visits * case.etp / case.tp  # tokens that come to this accelerator
        local = np.maximum(shapes.experts / case.ep, 1)
        inner = np.maximum(shapes.expert_ffn / case.etp, 1)
        routed = local * self._two_products(rows / local, inner, shapes.expert_width)
        permuted = 8 * rows * shapes.expert_width * self.s_per_byte  # rows are sorted by expert, and back
        return routed + permuted + shared * (shapes.shared_ffn > 0) + self._to_expert_width()

    def _last_product(self) -> Floats:
        """Return the product that ends a layer; that of the dense layers only, where others have experts."""
        shapes, case = self.case.shapes, self.case
        inner = np.maximum(shapes.ffn, 1) / case.tp
        return shapes.dense_share * self.product_s(case.tokens, shapes.hidden, inner, case.peak_flops)

    def _two_products(self, rows: Floats, inner: Floats, width: Floats) -> Floats:
        flops = self.case.peak_flops
        into = self.product_s(rows, self.case.shapes.into * inner, width, flops)
        return into + self.product_s(rows, width, inner, flops)

    def _to_expert_width(self) -> Floats:
        """Return a token's projections to the width of routed experts and back, where that is not the hidden size."""
        shapes, case = self.case.shapes, self.case
        narrow = shapes.expert_width != shapes.hidden
        if not np.any(narrow):
            return np.zeros(())
        there = self.product_s(case.tokens / case.tp, shapes.expert_width, shapes.hidden, case.peak_flops)
        back = self.product_s(case.tokens / case.tp, shapes.hidden, shapes.expert_width, case.peak_flops)
        return np.where(narrow, there + back, 0.0)


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
    shapes = case.shapes
    layer = shapes.dense_parameters / case.tp + shapes.replicated_parameters
    return np.asarray(layer + shapes.expert_parameters / (case.ep * case.etp), np.float64)


def between_s(case: Case, s_per_byte: Floats) -> Floats:
    """Return the forward time between the projections of one such layer: convolution, chunks, states, gated norm."""
    shapes = case.shapes
    on_units = shapes.recurrent_flops / (case.usual_flops * case.attention_efficiency)
    return np.asarray(case.tokens / case.tp * (on_units + shapes.recurrent_bytes * s_per_byte), np.float64)


def copied_s(case: Case, s_per_byte: Floats) -> Floats:
    """Return the time in which one pass of such a layer brings its sequences together, token after token, and back.

    Megatron Core stores the tokens of all sequences of a micro-batch interleaved, its recurrences need one after
    the other: projections and outputs are read and written (``MambaMixer._ssm_training``); a single sequence is
    not.
    """
    shapes = case.shapes
    size = 4 * (shapes.recurrent_into + shapes.recurrent_inner) * (case.table.micro_batch > 1)
    return np.asarray(case.tokens / case.tp * size * s_per_byte, np.float64)


def state_exchange_s(case: Case) -> Floats:
    """Return the exposed exchange of context parallel ranks in one such layer, both passes.

    Every rank gets the whole sequence for a part of the heads and returns it (``MambaContextParallel`` of Megatron
    Core): all-to-alls of the projections and of the outputs.
    """
    shapes, cp = case.shapes, case.table.cp.astype(np.float64)
    widths = shapes.recurrent_into / case.tp, shapes.recurrent_inner / case.tp
    once = sum(case.links.exchange_s(cp, case.tp, 2 * case.tokens * width) for width in widths)
    return np.asarray((2 + case.table.recomputes("full")) * once, np.float64)
