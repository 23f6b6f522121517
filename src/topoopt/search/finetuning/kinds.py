"""Ways of fine-tuning: what is trained, what is frozen and in how many bits, as words of a configuration."""

from typing import Any

KINDS = ("lora", "qlora", "full")
"""Adapters beside frozen weights in 16 bits (Hu 2021), or in 4 (Dettmers 2023); or all weights."""

NAMES = {"lora": "LoRA", "qlora": "QLoRA", "full": "full"}

GRADIENTS = "bf16"
"""Of sums and of what is sent: with weights in 16 bits and Adam 16 bytes of a trained parameter, as PEFT and ZeRO have
it (Rajbhandari 2020, section 3.1)."""


def kind_words(kind: str, rank: int, adapters: str) -> dict[str, Any]:
    """Return the words by which a kind is planned like any other training.

    Examples
    --------
    >>> kind_words("qlora", 16, "every-matrix")
    {'gradients': 'bf16', 'adapter_rank': 16, 'adapters': 'every-matrix', 'weights': 'nf4'}
    """
    words: dict[str, Any] = {"gradients": GRADIENTS}
    if kind == "full":
        return words
    words |= {"adapter_rank": rank, "adapters": adapters}
    return {**words, "weights": "nf4"} if kind == "qlora" else words
