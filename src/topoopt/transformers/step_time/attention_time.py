"""Kernels of the attention's core: products with keys and values, and the softmax between them.

A fused kernel takes as long as its products do, and as its exponentials, which units beside the matrix units compute:
16 a clock in a multiprocessor since Ampere, while the products became twice as fast with each architecture (Shah 2024,
"FlashAttention-3", section 1; Zadouri 2026, "FlashAttention-4"). So a narrow head is slower than a wide one. Short
sequences leave the processors waiting at the ends of tiles and of the causal mask. The three constants of this law are
fitted to published kernel times by ``python -m benchmarks.attention_kernels``.
"""

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.transformers.step_time.case import Case
from topoopt.transformers.step_time.documents import imbalance, tokens_seen
from topoopt.transformers.step_time.windows import computed_share

EAGER_BYTES_PER_SCORE = 9.0
"""Scores in memory, forward, beside the two products: read and written by softmax (4), by dropout with its mask (5)."""

EAGER_BYTES_PER_SCORE_BACKWARD = 11.0
"""Gradients of dropout (5) and of softmax, which reads its output, too (6)."""

SCORE_BYTES = 2.0
"""Each product with a matrix of scores writes or reads them in 16 bits, at the memory's rate at best."""

HALF_SEQUENCE = 720.0
"""Tokens at which a fused kernel with a causal mask reaches half of what it does on long sequences."""

FUSED_BACKWARD = 3.32
"""Products of a fused kernel's backward pass over those of its forward pass, in time: five instead of two, each 1.33
times as slow."""


def fused_passes(
    head_dim: Floats | float, seen: Floats | float, width: Floats | float
) -> tuple[Floats, Floats]:
    """Return the time of a fused kernel's passes over that of its two forward products at full rate.

    Parameters
    ----------
    head_dim
        Of queries and values on average.
    seen
        Tokens of a sequence.
    width
        As of :func:`~topoopt.transformers.step_time.exponentials.exponential_width`.
    """
    ends = 1 + HALF_SEQUENCE / np.asarray(seen, np.float64)
    exponentials = width / np.asarray(head_dim, np.float64)
    return ends * (1 + exponentials), ends * (FUSED_BACKWARD + exponentials)


def core_s(case: Case, s_per_byte: Floats) -> tuple[Floats, Floats]:
    """Return forward and backward time of an average layer's core."""
    shapes, fused = case.shapes, case.fused
    seen = _seen(case)
    scores = case.tokens * shapes.heads / case.tp * seen * shapes.attention_share
    products = 2 * scores * (shapes.head_dim + shapes.value_dim)
    misaligned = case.calibration.misaligned_slowdown
    odd = np.where(shapes.head_dim % 4 == 0, misaligned ** (2 / 3), misaligned)
    slow = np.where(shapes.head_dim % 8 == 0, 1.0, odd)
    flops = case.usual_flops * case.attention_efficiency
    # A causal mask halves the work of fused kernels, a window leaves less.
    half = slow * products / flops / 2 * computed_share(shapes, seen)
    if np.any(shapes.indexed > 0):  # an indexer looks at all tokens, on every tensor parallel rank
        half = half + case.tokens * seen * shapes.attention_share * shapes.indexed / flops
    width = np.maximum((shapes.head_dim + shapes.value_dim) / 2, 1)
    forward, backward = fused_passes(width, seen, case.machine.exponential_width)
    if np.all(fused):
        return half * forward, half * backward
    # Eager: two products forward and four backward, each bound by its work or by the scores.
    pair = slow * np.maximum(products / flops, 2 * scores * SCORE_BYTES * s_per_byte)
    softmax = slow * scores * s_per_byte
    return (
        np.where(fused, half * forward, pair + EAGER_BYTES_PER_SCORE * softmax),
        np.where(fused, half * backward, 2 * pair + EAGER_BYTES_PER_SCORE_BACKWARD * softmax),
    )


def _seen(case: Case) -> Floats:
    """Return the tokens that one token meets, where the heaviest packed sequences are waited for.

    Kernels that are not fused meet all, and mask what is of other documents.
    """
    table = case.table
    if not np.any(table.document > 0):
        return table.sequence.astype(np.float64)
    heaviest = tokens_seen(table) * (1 + imbalance(table))
    return np.where(case.fused, heaviest, table.sequence)
