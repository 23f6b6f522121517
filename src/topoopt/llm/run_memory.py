"""Memory of a run in a table: by the framework and the attention that its row names, or that its source used."""

import re
from dataclasses import replace

from topoopt.errors import unknown_name
from topoopt.llm.configuration import RECOMPUTATIONS
from topoopt.llm.configuration_table import configuration_table
from topoopt.llm.memory import ATTENTION_KERNELS, MemoryColumns, memory
from topoopt.llm.memory_frameworks import FRAMEWORKS
from topoopt.llm.run_columns import Row, text
from topoopt.llm.runs import Run

FRAMEWORK_WORDS = {
    "deepspeed": ("deepspeed", "bigscience"),
    "fsdp": ("fsdp", "llm-foundry", "mosaic", "torchtitan"),
    "half-gradients": ("aleph", "aa-scaling"),
}
"""Words of a row by which its framework is known, in the order in which they are looked for."""

EAGER_WORDS = r"\beager\b|\bunfused\b|no flash|without flash|torch attention|megatron softmax"
PLACES = ("note", "source", "dataset", "zero")


def run_framework(row: Row) -> str:
    """Return the framework of a row: its column ``framework``, or what its note or source says, or megatron.

    Raises
    ------
    InvalidInput
        If the column has an unknown name.
    """
    said = text(row, "framework").lower()
    if said:
        if said not in FRAMEWORKS:
            raise unknown_name("framework", said, FRAMEWORKS)
        return said
    words = _words(row)
    for framework, signs in FRAMEWORK_WORDS.items():
        if any(sign in words for sign in signs):
            return framework
    return "megatron"


def run_attention(row: Row) -> str:
    """Return how attention ran: the column ``attention``, or what the note says; eager with DeepSpeed, else fused.

    The published runs with Megatron-DeepSpeed are from before FlashAttention.

    Raises
    ------
    InvalidInput
        If the column has an unknown name.
    """
    said = text(row, "attention").lower()
    if said:
        kernel = "fused" if said.startswith("flash") else said
        if kernel not in ATTENTION_KERNELS:
            raise unknown_name("attention", said, ATTENTION_KERNELS)
        return kernel
    words = _words(row)
    if re.search(EAGER_WORDS, words):
        return "eager"
    return "eager" if run_framework(row) == "deepspeed" and "flash" not in words else "fused"


def run_memory(run: Run, row: Row) -> MemoryColumns:
    """Return the memory of a run, one row.

    Where the row does not say what was computed again, it is what needs least.
    """
    ways = [run.configuration.recompute] if text(row, "recompute") else RECOMPUTATIONS
    found = [
        memory(
            run.model,
            configuration_table([replace(run.configuration, recompute=how)]),
            run.system.accelerator,
            run_attention(row),
            run_framework(row),
        )
        for how in ways
    ]
    return min(found, key=lambda one: float(one.total[0]))


def _words(row: Row) -> str:
    return " ".join(text(row, place) for place in PLACES).lower()
