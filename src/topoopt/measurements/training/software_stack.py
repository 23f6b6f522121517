"""The software of a row of a table of runs: its framework, how attention and kernels around it ran, its gathers."""

import re

from topoopt.base.errors import check_known, unknown_name
from topoopt.measurements.run_table import Row, text
from topoopt.measurements.training.cells import meaning, switched_on, zero_stage
from topoopt.transformers import ATTENTION_KERNELS, FRAMEWORKS, GATHERS, find_framework, unfused_bits

ATTENTION_COLUMNS = ("attention", "attention_kernel", "attn", "kernel", "flash_attention", "flash_attn")
"""Columns that may give the attention kernel, by a word or, if named ``flash``, by yes or no."""

EAGER_WORDS = (
    r"\beager\b|\bunfused\b|\b(no|not|without|before) flash"
    r"|\b(torch|megatron) (attention|softmax|kernel)|\bkernels?[:= ]+(torch|megatron|fused)\b"
)
"""Pattern in notes; a fused kernel beside Megatron's and PyTorch's is its softmax, which moves all scores."""

KERNEL_LIST = r"\bkernels?="
"""Phrase in notes before a list of fused kernels; others were not fused."""

KERNELS_OF_PARTS = {"norms": r"rms|norm", "rotary": r"rotary|rope", "activation": r"swiglu|silu|glu\b"}

LATE_STACKS = r"mosaic|llm-foundry|composer"
DEEPSPEED_OF_2021 = r"\b20(20|21)\b|\b0\.[34]\.\d"

KERNEL_NAMES = {
    "flash1": r"flash[-_ ]?(attention)?[-_ ]?v?1(\.\d+)*|fa1",
    "flash2": r"flash[-_ ]?(attention)?[-_ ]?2|fa2",
    "cudnn": r"te|cudnn|flash[-_ ]?(attention)?[-_ ]?3|fa3",
}
"""Names of fused kernels in a column."""

OLD_FLASH = r"\bflash[-_ ]?attention[-_ ]?v?1\b"
"""Pattern in notes."""

FLASH_WORD = "flash"
PLACES = ("note", "recompute", "source", "dataset", "zero", "gpu")


def run_framework(row: Row) -> str:
    """Return the framework of a row: its column ``framework``, or implied by its note, source or accelerator.

    Raises
    ------
    InvalidInput
        If the column has an unknown name.
    """
    framework = text(row, "framework").lower()
    if framework:
        if framework not in FRAMEWORKS:
            framework = meaning("framework", framework) or framework
        find_framework(framework)
        return framework
    return meaning("framework", _words(row)) or "megatron"


def written_attention(row: Row) -> str:
    """Return a row's attention kernel, empty where it gives none.

    ``fused`` or ``eager``; ``flash1``, ``flash2`` or ``cudnn`` where its column names a fused kernel, or its note the
    first of them.

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
    if re.search(OLD_FLASH, words):
        return "flash1"
    return "fused" if FLASH_WORD in words else ""


def written_unfused(row: Row) -> str:
    """Return the names in :data:`~topoopt.transformers.UNFUSED_PARTS` that ran operation by operation, by a row.

    Joined by ``+``, ``none`` or ``all``; nothing if the row has none.

    Raises
    ------
    InvalidInput
        If its column ``unfused`` has an unknown word.
    """
    word = text(row, "unfused").lower()
    if word:
        unfused_bits(word)
        return word
    known = find_framework(run_framework(row)).unfused
    if known:
        return known
    words = _words(row)
    if not re.search(KERNEL_LIST, words):
        return ""
    apart = (part for part, kernel in KERNELS_OF_PARTS.items() if not re.search(kernel, words))
    return "+".join(apart) or "none"


def written_gathers(row: Row) -> str:
    """Return a row's ZeRO-3 gathering, one of :data:`~topoopt.transformers.GATHERS`; empty where it gives none.

    MosaicML's stack gathers late, DeepSpeed of 2020 and 2021 every parameter by itself. PaddlePaddle and
    DeepSpeed scatter gradients with ZeRO 2 while nothing computes.

    Raises
    ------
    InvalidInput
        If its column ``gathers`` has an unknown word.
    """
    word = text(row, "gathers").lower()
    if word:
        check_known("gathers", word, GATHERS)
        return word
    words = _words(row)
    if re.search(LATE_STACKS, words):
        return "after"
    if zero_stage(row) == 2 and (run_framework(row) == "deepspeed" or "paddle" in words):
        return "alone"
    old = run_framework(row) == "deepspeed" and re.search(DEEPSPEED_OF_2021, words)
    return "each" if old else ""


def run_attention(row: Row) -> str:
    """Return the attention of a run for memory: as in the row; by default eager with DeepSpeed, else fused.

    The published runs with Megatron-DeepSpeed are from before FlashAttention.

    Raises
    ------
    InvalidInput
        If a column about it has an unknown word.
    """
    written = written_attention(row) or ("eager" if run_framework(row) == "deepspeed" else "fused")
    return written if written in ATTENTION_KERNELS else "fused"


def _kernel(row: Row, column: str) -> str:
    word = text(row, column).lower()
    for kernel, names in KERNEL_NAMES.items():
        if re.fullmatch(names, word):
            return kernel
    if "flash" in word or word in ("fused", "sdpa"):
        return "fused"
    if word in ("eager", "unfused", "torch", "megatron", "math") or "softmax" in word:
        return "eager"
    if "flash" in column:
        return "fused" if switched_on(row, column, True) else "eager"
    raise unknown_name(column, word, (*ATTENTION_KERNELS, "flash", "torch"))


def _words(row: Row) -> str:
    return " ".join(text(row, place) for place in PLACES).lower()
