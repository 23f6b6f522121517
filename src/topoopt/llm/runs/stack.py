"""The software of one row of a table of runs: its framework, and how its attention ran."""

import re

from topoopt.errors import unknown_name
from topoopt.llm.memory.accelerator import ATTENTION_KERNELS
from topoopt.llm.memory.frameworks import find_framework
from topoopt.llm.runs.columns import Row, meaning, switched_on, text

ATTENTION_COLUMNS = ("attention", "attention_kernel", "attn", "kernel", "flash_attention", "flash_attn")
"""Columns that may say how attention ran, by a word or, where the name has ``flash``, by yes or no."""

EAGER_WORDS = (
    r"\beager\b|\bunfused\b|\b(no|not|without|before) flash"
    r"|\b(torch|megatron) (attention|softmax|kernel)|\bkernels?[:= ]+(torch|megatron|fused)\b"
)
"""In notes; a fused kernel beside Megatron's and PyTorch's is its softmax, which reads and writes all scores."""

FLASH_WORD = "flash"
PLACES = ("note", "recompute", "source", "dataset", "zero")


def run_framework(row: Row) -> str:
    """Return the framework of a row: its column ``framework``, or what its note or source says, or megatron.

    Raises
    ------
    InvalidInput
        If the column has an unknown name.
    """
    framework = text(row, "framework").lower()
    if framework:
        find_framework(framework)
        return framework
    return meaning("framework", _words(row)) or "megatron"


def written_attention(row: Row) -> str:
    """Return how a row says that attention ran: ``fused`` or ``eager``, or nothing where it does not say.

    Raises
    ------
    InvalidInput
        If a column about it has an unknown word.
    """
    for column in ATTENTION_COLUMNS:
        if text(row, column):
            return _kernel(row, column)
    words = _words(row)
    if re.search(EAGER_WORDS, words):
        return "eager"
    return "fused" if FLASH_WORD in words else ""


def run_attention(row: Row) -> str:
    """Return how attention ran: as the row says; else eager with DeepSpeed, fused without.

    The published runs with Megatron-DeepSpeed are from before FlashAttention.

    Raises
    ------
    InvalidInput
        If a column about it has an unknown word.
    """
    return written_attention(row) or ("eager" if run_framework(row) == "deepspeed" else "fused")


def _kernel(row: Row, column: str) -> str:
    word = text(row, column).lower()
    if "flash" in word or word in ("fused", "te", "cudnn", "sdpa"):
        return "fused"
    if word in ("eager", "unfused", "torch", "megatron", "math") or "softmax" in word:
        return "eager"
    if "flash" in column:
        return "fused" if switched_on(row, column, True) else "eager"
    raise unknown_name(column, word, (*ATTENTION_KERNELS, "flash", "torch"))


def _words(row: Row) -> str:
    return " ".join(text(row, place) for place in PLACES).lower()
