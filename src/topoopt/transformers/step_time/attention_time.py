"""Kernels of the attention's core: products with keys and values, and the softmax between them.

A fused kernel takes as long as its products do, and as its exponentials, which units beside the matrix units compute:
16 a clock in a multiprocessor since Ampere, while the products became twice as fast with each architecture (Shah 2024,
"FlashAttention-3", section 1; Zadouri 2026, "FlashAttention-4"). So a narrow head is slower than a wide one. Short
sequences leave the processors waiting at the ends of tiles and of the causal mask. The three constants of this law are
fitted to published kernel times by ``python -m benchmarks.attention_kernels``.

Documents packed into sequences: which pairs of tokens attention meets, and how uneven that is.

Tokens see those of their own document only, so the core's work goes with the sum of the squares of the lengths.
Lengths are assumed to be gamma distributed, with an average and a spread (standard deviation over average); a spread
of 0 is documents all alike, 1 is exponential. What is longer than a sequence is cut to it. With l such a length, a
token sees ``r = E[l²]/E[l]`` tokens on average (of a long document there are more of them), and the work of a
micro-batch of n documents strays by ``sqrt(E[(l² - r·l)²]/n)/E[l²]`` of its average: the central limit of a renewal
process with rewards.

Who has less to do waits. Micro-batches in which replicas meet (ZeRO 2 and 3, experts that are spread over replicas)
take as long as the heaviest of them; others meet once an iteration, after sums in which micro-batches make up for each
other. A pipeline fills and drains at the pace of its heaviest micro-batch, as in a flow shop whose stages are alike.
Context parallel ranks have even parts of every document (per-document sharding).

References
----------
.. [1] Z. Wang et al., "WLB-LLM: Workload-Balanced 4D Parallelism for Large Language Model Training", OSDI 2025.
.. [2] Llama Team, "The Llama 3 Herd of Models", 2024, section 3.2 (masks between documents).
.. [3] D. Cox, "Renewal Theory", 1962, chapter 8 (cumulative processes).
.. [4] M. Pinedo, "Scheduling", section 6.1 (proportionate flow shops: the sum of all jobs, and the longest for every
   further machine).
.. [5] G. Blom, "Statistical Estimates and Transformed Beta-Variables", 1958 (the largest of k normal numbers).
"""

from statistics import NormalDist

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.transformers.configuration_table import ConfigurationTable
from topoopt.transformers.step_time.case import Case
from topoopt.transformers.step_time.shapes import Shapes

WINDOW_TILE = 128.0
"""Queries that a fused kernel takes at once: of a window it computes the keys of all of them (FlashAttention-2)."""
EAGER_BYTES_PER_SCORE = 9.0
"""Scores in memory, forward, beside the two products: read and written by softmax (4), by dropout with its mask (5)."""
EAGER_BYTES_PER_SCORE_BACKWARD = 11.0
"""Gradients of dropout (5) and of softmax, which reads its output, too (6)."""
SCORE_BYTES = 2.0
"""Each product with a matrix of scores writes or reads them in 16 bits, at the memory's rate at best."""
HALF_SEQUENCE = 720.0
"""Tokens at which a fused kernel with a causal mask reaches half of its rate on long sequences."""
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
        Mean head size of queries and values.
    seen
        Tokens of a sequence.
    width
        As returned by :func:`~topoopt.transformers.step_time.collective_time.exponential_width`.
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

    Unfused kernels compute all pairs, and mask those of other documents.
    """
    table = case.table
    if not np.any(table.document > 0):
        return table.sequence.astype(np.float64)
    heaviest = tokens_seen(table) * (1 + imbalance(table))
    return np.where(case.fused, heaviest, table.sequence)


def computed_share(shapes: Shapes, sequence: Floats | Ints) -> Floats:
    """Return the share by which windows shorten the core, 1 without any.

    With s tokens, a causal mask leaves s/2 per token, a sliding window w ``w·(1 - w/2s)`` and a chunk of w
    ``w/2``. A kernel works on tiles, of which the mask cuts off corners: windows compute a tile's more keys than
    they let through, at most as many as without a window. Kernels that write scores (eager) compute them all,
    windows or not.
    """
    if not shapes.any_window:
        return np.ones(())
    window = np.where(shapes.window > 0, np.minimum(shapes.window + WINDOW_TILE, sequence), sequence)
    ratio = window / sequence
    seen = np.where(shapes.chunked > 0, ratio, ratio * (2 - ratio))
    with_window = shapes.window_share / np.maximum(shapes.attention_share, 1e-9)
    return np.asarray(1 - with_window * (1 - seen), np.float64)


def allowed_tokens(shapes: Shapes, sequence: Floats | Ints) -> Floats:
    """Return the tokens that a token may see in an average layer, without a causal mask; 0 where no attention is."""
    everything = sequence * shapes.attention_share
    if not shapes.any_window:
        return np.asarray(everything, np.float64)
    window = np.where(shapes.window > 0, np.minimum(shapes.window, sequence), sequence)
    return np.asarray(everything - shapes.window_share * (sequence - window), np.float64)


def tokens_seen(table: ConfigurationTable) -> Floats:
    """Return the mean number of tokens that one token attends to without a causal mask: those of its document."""
    if not np.any(table.document > 0):
        return table.sequence.astype(np.float64)
    return np.where(table.document > 0, _moment(table, 2) / _moment(table, 1), table.sequence)


def imbalance(table: ConfigurationTable) -> Floats:
    """Return the relative excess of the core's work over its mean, since all wait for the heaviest.

    As if all micro-batches were alike: so much longer that the iteration takes as long.
    """
    if not np.any((table.document > 0) & (table.document_spread > 0)):
        return np.zeros(len(table))
    first, second, third, fourth = (_moment(table, power) for power in (1, 2, 3, 4))
    seen = second / first
    strays = np.maximum(fourth - 2 * seen * third + seen * seen * second, 0.0)
    documents = table.micro_batch * table.sequence / first
    batches = np.maximum(table.global_batch // (table.dp * table.micro_batch), 1)
    together = np.where(table.zero >= 2, table.dp, table.ep * table.etp // (table.tp * table.cp))
    together = np.minimum(np.maximum(together, 1), table.dp)
    drain = (table.pp - 1) / table.vpp
    waits = batches * _largest(together) + np.sqrt(batches) * _largest(table.dp // together)
    heaviest = np.asarray((waits + drain * _largest(batches * together)) / (batches + drain), np.float64)
    share = np.sqrt(strays / documents) / second * heaviest
    longest = table.sequence / seen - 1  # one document fills the sequence
    return np.where(table.document > 0, np.minimum(share, longest), 0.0)


def _largest(of: Ints) -> Floats:
    """Return the expected maximum of this many standard normal numbers."""
    counts, place = np.unique(of, return_inverse=True)
    values = [NormalDist().inv_cdf((count - 0.375) / (count + 0.25)) for count in counts.tolist()]
    return np.asarray(np.array(values)[place].reshape(np.shape(of)), np.float64)


def _moment(table: ConfigurationTable, power: int) -> Floats:
    """Return the average of a power of the length of documents, which are cut to the sequence."""
    average, longest = np.maximum(table.document, 1).astype(np.float64), table.sequence.astype(np.float64)
    alike = np.minimum(average, longest) ** power
    square = np.square(table.document_spread)
    if not np.any(square > 0):
        return np.asarray(alike, np.float64)
    from scipy.special import gammainc  # noqa: PLC0415 - takes a quarter of a second to import

    square = np.where(square > 0, square, 1.0)
    shape = 1 / square
    grown = average**power * np.prod([1 + step * square for step in range(power)], axis=0)
    cut = longest / (average * square)
    whole, rest = grown * gammainc(shape + power, cut), longest**power * (1 - gammainc(shape, cut))
    return np.where(table.document_spread > 0, whole + rest, alike)
