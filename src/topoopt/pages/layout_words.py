"""A layout in words: degrees, micro-batches, which servers hold which stage, memory by cause."""

from collections.abc import Mapping

from topoopt.base.units import format_memory
from topoopt.jobs import Layout, TransformerWork
from topoopt.pages.rows import Entries
from topoopt.pages.words import runs
from topoopt.transformers import unusual_fields

DEGREE_WORDS = {
    "tp": "tensor",
    "pp": "pipeline",
    "dp": "data",
    "cp": "context",
    "ep": "expert",
    "etp": "tensor inside an expert",
}
MOST_STAGES = 4
SCHEDULE_WORDS = {
    "zero-bubble": "zero-bubble (ZB-H1), gradients of weights in passes of their own",
    "dualpipe": "DualPipe, half of the micro-batches from each end",
}


def layout_words(training: TransformerWork, layout: Layout) -> Entries:
    """Return how a layout splits the model, and what the fullest accelerator holds with it."""
    configuration, step = layout.configuration, layout.step
    degrees = [
        f"{word} {configuration[key]}" for key, word in DEGREE_WORDS.items() if configuration.get(key, 1) != 1
    ]
    zero = configuration.get("zero", 0)
    kept = {0: "nothing", 1: "optimizer state", 2: "optimizer state and gradients", 3: "all parameters"}
    causes = ", ".join(f"{name} {format_memory(size)}" for name, size in layout.memory_bytes.items() if size)
    total, capacity = format_memory(layout.total_memory_bytes), format_memory(training.capacity_bytes)
    return {
        "parallel": ", ".join(degrees) or "one accelerator holds and does everything",
        "batch": f"{training.global_batch:,} sequences of {training.sequence:,} tokens; "
        f"{step.ends * step.micro_batches:,} micro-batches of {configuration['micro_batch']} for each replica",
        "schedule": _schedule(layout),
        "recomputed": str(configuration.get("recompute", "")),
        "with": with_words(unusual_fields(configuration)),
        "shared out": f"{kept.get(int(zero), '')} (ZeRO-{zero})",
        "ranks": f"numbered in the order {layout.order}, servers filled one after the other",
        "stages": _stages(layout),
        "memory": f"{total} of {capacity}{_share(training, layout)} on the fullest accelerator ({causes})",
    }


def with_words(unusual: Mapping[str, object]) -> str:
    """Return what few configurations have.

    Examples
    --------
    >>> with_words({"context": "ulysses", "adapter_rank": 16})
    'context ulysses, adapter rank 16'
    """
    return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in unusual.items())


def _share(training: TransformerWork, layout: Layout) -> str:
    return f", {layout.total_memory_bytes / training.capacity_bytes:.1%}," if training.capacity_bytes else ""


def _stages(layout: Layout) -> list[str]:
    """Return which servers hold which stage, a line each; the last of many stages share one."""
    first = layout.step.part_servers[:MOST_STAGES]
    lines = [f"{stage} on servers {_servers(parts.ravel().tolist())}" for stage, parts in enumerate(first)]
    rest = layout.step.stages - MOST_STAGES
    return [*lines, f"and {rest} more likewise"] if rest > 0 else lines


def _schedule(layout: Layout) -> str:
    chunks = layout.step.chunks_per_stage
    if layout.step.stages == 1:
        return "one stage"
    if layout.step.schedule in SCHEDULE_WORDS:
        return f"{layout.step.stages} stages, {SCHEDULE_WORDS[layout.step.schedule]}"
    way = f"interleaved 1F1B, {chunks} chunks a stage" if chunks > 1 else "1F1B"
    return f"{layout.step.stages} stages, {way}"


def _servers(numbers: list[int]) -> str:
    """Return a few stretches of numbers, then dots and the last.

    Examples
    --------
    >>> _servers([0, 1, 2, 3, 7]), _servers([0, 2, 4, 6, 8, 10])
    ('0–3, 7', '0, 2, 4, 6, … 10')
    """
    words = runs(numbers).split(", ")
    return ", ".join([*words[:4], f"… {words[-1]}"] if len(words) > 5 else words)
