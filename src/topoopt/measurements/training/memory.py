"""Memory of a run in a table: by the framework and the attention that its row names, or that its source used."""

import re
from dataclasses import replace

import numpy as np

from topoopt.measurements.training.columns import Row, meaning, text
from topoopt.measurements.training.run import Run
from topoopt.measurements.training.stack import run_attention, run_framework
from topoopt.transformers import (
    RECOMPUTATIONS,
    MemoryColumns,
    common_of,
    configuration_table,
    find_framework,
    memory,
    stage_memory,
    take_rows,
)

FIRST_STAGE = r"\brank[ _]?0\b|\bfirst (rank|stage)\b"
"""In ``mem_def``, where the peak is that of the first stage, which need not be the fullest."""


def run_memory(run: Run, row: Row) -> MemoryColumns:
    """Return the memory of a run, one row.

    Where the row does not say what was computed again, it is what needs least.
    """
    ways = [run.configuration.recompute] if text(row, "recompute") else RECOMPUTATIONS
    table = configuration_table([replace(run.configuration, recompute=how) for how in ways])
    return _least(memory(run.model, table, *_stack(run, row)))


def measured_bytes(run: Run, needed: MemoryColumns, row: Row) -> float:
    """Return what a measurement of a run, whose fullest accelerator is given, would show by the row's ``mem_def``."""
    if run.configuration.pp > 1 and re.search(FIRST_STAGE, text(row, "mem_def").lower()):
        common = common_of(run.model, configuration_table([run.configuration]), *_stack(run, row))
        needed = stage_memory(common, np.zeros(1, np.int64))
    return counted_bytes(needed, row)


def _stack(run: Run, row: Row) -> tuple[str, str, str]:
    return run.system.accelerator, run_attention(row), run_framework(row)


def _least(needed: MemoryColumns) -> MemoryColumns:
    return take_rows(needed, np.array([np.argmin(needed.total)]))


def counted_bytes(needed: MemoryColumns, row: Row) -> float:
    """Return as much of the memory of a run as its measurement counts, by the row's ``mem_def``.

    ``allocated`` is what tensors take; ``reserved`` what the framework's allocator holds, which keeps some of what it
    once had; and nvidia-smi, which is meant where a row does not say, shows that as far as the accelerator has it.
    """
    kind = meaning("mem_def", text(row, "mem_def").lower())
    if not kind and run_framework(row).startswith("torchtitan"):
        kind = "reserved"  # its logs print what PyTorch's allocator had reserved at most
    if kind == "allocated":
        return float(needed.total[0] - needed.overhead[0])
    held = float(needed.total[0] + needed.slack[0])
    if kind == "reserved":  # communicators are outside of it
        return held - float(needed.overhead[0]) + find_framework(run_framework(row)).reserved_bytes
    return min(held, max(needed.capacity_bytes, float(needed.total[0])))
