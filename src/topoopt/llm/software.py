"""What of the software moves a step time besides attention: kernels that are not fused, how ZeRO-3 gathers."""

from topoopt.errors import InvalidInput, check_known

UNFUSED_PARTS = ("norms", "rotary", "activation")
"""Parts of a layer that may run operation by operation, as PyTorch runs them uncompiled: RMSNorm, rotary embedding,
the gated activation. PyTorch's own LayerNorm and GELU are one kernel each."""

GATHERS = ("ahead", "after", "alone", "each")
"""How ZeRO-3 gathers weights: those of the next layer while this one computes (PyTorch's ``BACKWARD_PRE``, its
default); in the backward pass after that (``BACKWARD_POST``, the default of MosaicML's Composer); with no computation
beside it, as runs with PyTorch 1.13 look like; or every parameter by itself, as DeepSpeed did until 0.4 of 2021."""


def unfused_bits(word: str) -> int:
    """Return the bits of ``none``, ``all``, or of :data:`UNFUSED_PARTS` joined by ``+``.

    Raises
    ------
    InvalidInput
        For an unknown part, with the known ones.

    Examples
    --------
    >>> unfused_bits("none"), unfused_bits("norms+activation"), unfused_bits("all")
    (0, 5, 7)
    """
    if word in ("", "none"):
        return 0
    if word == "all":
        return (1 << len(UNFUSED_PARTS)) - 1
    bits = 0
    for part in word.split("+"):
        check_known("unfused", part, ("none", "all", *UNFUSED_PARTS))
        if part in ("none", "all"):
            raise InvalidInput(f"unfused: {part} stands alone, got {word}")
        bits |= 1 << UNFUSED_PARTS.index(part)
    return bits
