"""What of the software moves a step time besides attention: what is not fused, how ZeRO gathers and scatters."""

from topoopt.transformers.parts import bits_of_parts

UNFUSED_PARTS = (
    *("norms", "rotary", "activation", "queries", "gate"),
    *("step", "sums", "loss", "logits", "sends", "hops", "pieces"),
)
"""What may run operation by operation, as PyTorch runs it uncompiled, or whole where a slice would do.

========== =========================================================================================================
norms      RMSNorm; PyTorch's own LayerNorm is one kernel
rotary     rotary embedding of queries and keys
activation the gated activation; PyTorch's own GELU is one kernel
queries    queries, keys and values as products of their own
gate       the gate and the matrix beside it as products of their own
step       whole gradients are copied into buckets and reduced, though ZeRO 1 needs a slice of them
sums       tensor-parallel sums are not cut into pieces that go on beside the products, as Megatron's user buffers
           and PyTorch's asynchronous tensor parallelism do it
loss       logits are turned to 32 bits, their softmax and its gradients are written
logits     every tensor-parallel rank gathers all logits, and has the loss of all
sends      every tensor-parallel rank sends all activations to the next stage, not its slice (Narayanan 2021, 4.1)
hops       interleaved stages wait for what they send, which does not go on beside the work on other chunks, as it does
           by default in Megatron Core since 2023 (``overlap_p2p_comm``)
pieces     tensor-parallel sums are whole, but the backward pass scatters beside the product for weights, as Megatron
           does without user buffers (``LinearWithGradAccumulationAndAsyncCommunication``, 2022)
========== =========================================================================================================

Without sequence parallelism, every matrix that is a product of its own sums up the gradient of its input over the
tensor-parallel ranks by itself.
"""

GATHERS = ("ahead", "after", "alone", "each")
"""How ZeRO-3 gathers weights: those of the next layer while this one computes (PyTorch's ``BACKWARD_PRE``, its
default); in the backward pass after that (``BACKWARD_POST``, the default of MosaicML's Composer); with no computation
beside it, as runs with PyTorch 1.13 look like; or every parameter by itself, as DeepSpeed did until 0.4 of 2021.

ZeRO-2 scatters gradients beside the backward pass, too, but ``alone`` in PaddlePaddle (``_reduce_overlap`` of
``group_sharded_stage2.py`` is off) and in DeepSpeed unless ``overlap_comm`` is set, which is so for ZeRO-3 only."""


def is_apart(part: str, word: str) -> bool:
    """Return whether a word as of :func:`unfused_bits` has one of :data:`UNFUSED_PARTS`."""
    return bool(unfused_bits(word) >> UNFUSED_PARTS.index(part) & 1)


def unfused_bits(word: str) -> int:
    """Return the bits of ``none``, ``all``, or of :data:`UNFUSED_PARTS` joined by ``+``.

    Raises
    ------
    InvalidInput
        For an unknown part, with the known ones.

    Examples
    --------
    >>> unfused_bits("none"), unfused_bits("norms+activation"), unfused_bits("all")
    (0, 5, 4095)
    """
    alone = {"": 0, "none": 0, "all": (1 << len(UNFUSED_PARTS)) - 1}
    return alone[word] if word in alone else bits_of_parts("unfused", word, UNFUSED_PARTS, ("none", "all"))
