"""A layout in words: degrees, micro-batches, which servers hold which stage, memory by cause."""

from topoopt.job import Layout, transformer_of
from topoopt.plan import Plan
from topoopt.units import format_memory, format_time

Words = list[tuple[str, str]]

DEGREE_WORDS = {
    "tp": "tensor",
    "pp": "pipeline",
    "dp": "data",
    "cp": "context",
    "ep": "expert",
    "etp": "tensor inside an expert",
}
MOST_STAGES = 4


def layout_words(plan: Plan) -> Words:
    """Return facts about the layout of a plan for a transformer."""
    layout = transformer_of(plan.job).layout(plan.strategy)
    configuration = layout.configuration
    degrees = [
        f"{word} {configuration[key]}" for key, word in DEGREE_WORDS.items() if configuration.get(key, 1) != 1
    ]
    kept = {0: "nothing", 1: "optimizer state", 2: "optimizer state and gradients", 3: "all parameters"}
    return [
        ("parallel", ", ".join(degrees) or "one accelerator holds and does everything"),
        ("batch", batch_words(plan, layout)),
        ("schedule", _schedule(layout)),
        ("recomputed", str(configuration.get("recompute", ""))),
        (
            "shared out",
            f"{kept.get(int(configuration.get('zero', 0)), '')} (ZeRO-{configuration.get('zero', 0)})",
        ),
        ("ranks", f"numbered in the order {layout.order}, servers filled one after the other"),
        *stage_words(layout),
        ("memory", memory_words(plan, layout)),
    ]


def batch_words(plan: Plan, layout: Layout) -> str:
    """Return the batch of an iteration and how it is cut."""
    training = transformer_of(plan.job)
    size = layout.configuration["micro_batch"]
    return (
        f"{training.global_batch:,} sequences of {training.sequence:,} tokens; {layout.step.micro_batches:,} "
        f"micro-batches of {size} for each replica"
    )


def stage_words(layout: Layout) -> Words:
    """Return which servers hold which stage, a line each; the last of many stages share one."""
    lines: Words = []
    for stage, parts in enumerate(layout.step.part_servers[:MOST_STAGES]):
        servers = sorted(set(parts.ravel().tolist()))
        lines.append(("stages" if stage == 0 else "", f"{stage} on servers {_runs(servers)}"))
    rest = layout.step.stages - MOST_STAGES
    return [*lines, ("", f"and {rest} more likewise")] if rest > 0 else lines


def memory_words(plan: Plan, layout: Layout) -> str:
    """Return what the fullest accelerator holds, by cause."""
    training = transformer_of(plan.job)
    causes = ", ".join(f"{name} {format_memory(size)}" for name, size in layout.memory_bytes.items() if size)
    total = format_memory(layout.total_memory_bytes)
    return f"{total} of {format_memory(training.capacity_bytes)} on the fullest accelerator ({causes})"


def layout_table(plan: Plan) -> list[tuple[str, str, str, str, str]]:
    """Return a row for each layout: name, closed form, wired and simulated, its ratio to the plan's, memory."""
    training = transformer_of(plan.job)
    times_s = plan.search.seed_times_s
    best_s = min(times_s)
    rows = []
    for index, layout in enumerate(training.layouts):
        known = index < len(times_s)
        rows.append(
            (
                layout.name,
                format_time(layout.estimated_s),
                format_time(times_s[index]) if known else "not tried",
                f"{times_s[index] / best_s:.2f}" if known else "",
                format_memory(layout.total_memory_bytes),
            )
        )
    return rows


LAYOUT_COLUMNS = ("configuration", "closed form", "wired", "×", "memory")


def _schedule(layout: Layout) -> str:
    chunks = layout.step.chunks_per_stage
    if layout.step.stages == 1:
        return "one stage"
    way = f"interleaved 1F1B, {chunks} chunks a stage" if chunks > 1 else "1F1B"
    return f"{layout.step.stages} stages, {way}"


def _runs(numbers: list[int]) -> str:
    """Return ``0–3, 7`` for 0, 1, 2, 3 and 7; a few runs, then dots.

    Examples
    --------
    >>> _runs([0, 1, 2, 3, 7])
    '0–3, 7'
    """
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    words = [str(a) if a == b else f"{a}–{b}" for a, b in runs]
    return ", ".join([*words[:4], f"… {words[-1]}"] if len(words) > 5 else words)
