"""Memory of a run in a table: by the framework and the attention that its row names, or that its source used."""

import re
from dataclasses import replace

import numpy as np

from topoopt.errors import unknown_name
from topoopt.llm.columns import take_rows
from topoopt.llm.configuration_table import configuration_table
from topoopt.llm.memory.accelerator import ATTENTION_KERNELS, MemoryColumns, memory
from topoopt.llm.memory.frameworks import find_framework
from topoopt.llm.recomputation import RECOMPUTATIONS
from topoopt.llm.runs.columns import Row, meaning, switched_on, text
from topoopt.llm.runs.run import Run

ATTENTION_COLUMNS = ("attention", "attention_kernel", "attn", "kernel", "flash_attention", "flash_attn")
"""Columns that may say how attention ran, by a word or, where the name has ``flash``, by yes or no."""

EAGER_WORDS = (
    r"\beager\b|\bunfused\b|\b(no|without) flash"
    r"|\b(torch|megatron) (attention|softmax|kernel)|\bkernels?[:= ]+(torch|megatron)"
)
PLACES = ("note", "source", "dataset", "zero")


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


def run_attention(row: Row) -> str:
    """Return how attention ran: by a column of its own, or by the note; else eager with DeepSpeed, fused without.

    The published runs with Megatron-DeepSpeed are from before FlashAttention.

    Raises
    ------
    InvalidInput
        If such a column has an unknown word.
    """
    for column in ATTENTION_COLUMNS:
        if text(row, column):
            return _kernel(row, column)
    words = _words(row)
    if re.search(EAGER_WORDS, words):
        return "eager"
    return "eager" if run_framework(row) == "deepspeed" and "flash" not in words else "fused"


def _kernel(row: Row, column: str) -> str:
    word = text(row, column).lower()
    if "flash" in word or word == "fused":
        return "fused"
    if word in ("eager", "unfused", "torch", "megatron") or "softmax" in word:
        return "eager"
    if "flash" in column:
        return "fused" if switched_on(row, column, True) else "eager"
    raise unknown_name(column, word, (*ATTENTION_KERNELS, "flash", "torch"))


def run_memory(run: Run, row: Row) -> MemoryColumns:
    """Return the memory of a run, one row.

    Where the row does not say what was computed again, it is what needs least.
    """
    ways = [run.configuration.recompute] if text(row, "recompute") else RECOMPUTATIONS
    needed = memory(
        run.model,
        configuration_table([replace(run.configuration, recompute=how) for how in ways]),
        run.system.accelerator,
        run_attention(row),
        run_framework(row),
    )
    return take_rows(needed, np.array([np.argmin(needed.total)]))


def _words(row: Row) -> str:
    return " ".join(text(row, place) for place in PLACES).lower()
