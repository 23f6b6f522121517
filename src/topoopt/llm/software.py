"""What of the software moves a step time besides attention: kernels that are not fused, how ZeRO-3 gathers."""

from topoopt.llm.parts import bits_of_parts

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
    alone = {"": 0, "none": 0, "all": (1 << len(UNFUSED_PARTS)) - 1}
    return alone[word] if word in alone else bits_of_parts("unfused", word, UNFUSED_PARTS, ("none", "all"))
