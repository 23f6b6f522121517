"""How long exponentials of a softmax take beside the products that they are between."""

WITH_FLASH_ATTENTION_2 = ("Volta", "Turing", "Ampere", "Ada")
"""Architectures for which FlashAttention 2 is as good as it gets."""

BARE_EXPONENTIALS = 0.67
"""Of the exponentials, what no product hides, in kernels that overlap the two (``benchmarks/attention_kernels.py``)."""

PRODUCTS_OF_AN_EXPONENTIAL = {"Blackwell": 128.0}
"""By architecture, the head size whose two forward products take as long as one exponential: FLOPs of a multiprocessor
and clock over its exponentials, over 4. Blackwell has 8,192 and 16 (Zadouri 2026, "FlashAttention-4")."""

USUAL_PRODUCTS = 64.0
"""Hopper has 4,096 and 16, Blackwell Ultra 8,192 and 32; others take over what is known of these."""


def exponential_width(architecture: str) -> float:
    """Return the head size whose products take as long as the exponentials that they do not hide.

    In FlashAttention 2 the two wait for each other at any width, which its efficiency says: 0.

    Examples
    --------
    >>> exponential_width("Blackwell") == 2 * exponential_width("Hopper"), exponential_width("Ampere")
    (True, 0.0)
    """
    if architecture.startswith(WITH_FLASH_ATTENTION_2):
        return 0.0
    return BARE_EXPONENTIALS * PRODUCTS_OF_AN_EXPONENTIAL.get(architecture, USUAL_PRODUCTS)
