"""Which activations the backward pass computes again: a word, and its bits in a column."""

from topoopt.transformers.parts import bits_of_parts

RECOMPUTED_PARTS = ("core", "norms", "activation", "experts", "latent")
"""Parts of a layer that can be computed again by themselves: the attention's core (Korthikanti 2022), norms, the
activation between the feed-forward matrices, all of a layer's experts, the up-projections of latent attention
(Megatron Core's ``--recompute-modules``)."""

RECOMPUTATIONS = ("none", "selective", "full")
"""What most runs do: nothing, the attention's core, or whole layers."""

FULL = 1 << len(RECOMPUTED_PARTS)
"""The bit of whole layers; it includes all parts."""

_EVERYTHING = 2 * FULL - 1


def recomputation_bits(word: str) -> int:
    """Return the bits of ``none``, ``selective`` (the core), ``full``, or of parts joined by ``+``.

    Raises
    ------
    InvalidInput
        For an unknown part, with the known ones.

    Examples
    --------
    >>> recomputation_bits("selective"), recomputation_bits("core+norms"), recomputation_word(3)
    (1, 3, 'core+norms')
    """
    alone = {"none": 0, "selective": part_bit("core"), "full": _EVERYTHING}
    return (
        alone[word] if word in alone else bits_of_parts("recompute", word, RECOMPUTED_PARTS, RECOMPUTATIONS)
    )


def recomputation_word(bits: int) -> str:
    """Return the word of some bits; the core alone is ``selective``."""
    if bits & FULL:
        return "full"
    parts = [part for place, part in enumerate(RECOMPUTED_PARTS) if bits >> place & 1]
    return {(): "none", ("core",): "selective"}.get(tuple(parts), "+".join(parts))


def part_bit(what: str) -> int:
    """Return the bit of one of :data:`RECOMPUTED_PARTS`, of ``selective`` (the core), or of ``full``."""
    if what == "full":
        return FULL
    return 1 << RECOMPUTED_PARTS.index("core" if what == "selective" else what)
