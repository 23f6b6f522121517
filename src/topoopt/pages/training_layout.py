"""Training configuration of a plan in tables and pictures: the servers of each stage, other layouts, memory."""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import zip_longest
from math import nan
from typing import Any

import numpy as np

from topoopt.base.units import format_memory, format_time
from topoopt.jobs import Layout, PublishedLayout, TransformerWork, transformer_of
from topoopt.pages.chart import BarChart, HeatmapChart, Limit
from topoopt.pages.fabric_tables import name_apart
from topoopt.pages.page import Section, Table
from topoopt.pages.tables import (
    Entries,
    Source,
    bars,
    facts,
    joined,
    number,
    runs,
    table,
    text,
    time_unit,
    yes_or_no,
)
from topoopt.plans import Plan
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


def placement_map(plan: Plan) -> HeatmapChart:
    """Return the workers of each pipeline stage per server; a worker is one stage of one replica."""
    step = transformer_of(plan.job).layout(plan.strategy).step
    count = np.zeros((step.stages, step.servers))
    for stage, parts in enumerate(step.part_servers):
        np.add.at(count[stage], parts.ravel(), 1)
    return HeatmapChart(
        "placement",
        "Which servers hold which stage",
        "server",
        "pipeline stage",
        "workers, or parts of them",
        tuple(tuple(row) for row in count.tolist()),
        note="A worker is the accelerators that hold one stage of one replica of the model.",
    )


def layout_table(plan: Plan) -> Table:
    """Return every configuration: its time in closed form, that on a network wired for it, memory."""
    best_s = min(plan.search.seed_times_s)
    return table(
        "",
        _layouts_and_times(plan),
        text("configuration", "layout.name"),
        number("closed form", "layout.estimated_s"),
        number("wired"),
        number("×", lambda row: f"{row['time_s'] / best_s:.2f}" if row["tried"] else ""),
        number("memory", "layout.total_memory_bytes", format_memory),
    )


def _layouts_and_times(plan: Plan) -> list[dict[str, Any]]:
    """Return every layout with its time on a network wired for it, not a number where that was not tried."""
    layouts, times_s = transformer_of(plan.job).layouts, plan.search.seed_times_s
    rows = []
    for index, (layout, time_s) in enumerate(zip_longest(layouts, times_s)):
        tried = time_s is not None and index not in plan.search.left_out
        wired = "not tried" if time_s is None else _time_or_bound(time_s, tried)
        rows.append({"layout": layout, "tried": tried, "time_s": time_s if tried else nan, "wired": wired})
    return rows


def _time_or_bound(time_s: float, tried: bool) -> str:
    return format_time(time_s) if tried else f"≥ {format_time(time_s)}"


def layout_times(plan: Plan) -> BarChart:
    """Return the iteration time of each configuration, in closed form and on a network wired for it."""
    unit, scale = time_unit(max(plan.search.seed_times_s))
    parts: dict[str, Source] = {"closed form": "layout.estimated_s", "wired and simulated": "time_s"}
    return BarChart(
        "configurations",
        "Iteration time of each configuration",
        "",
        f"iteration time ({unit})",
        bars(_layouts_and_times(plan), "layout.name", parts, scale),
        horizontal=True,
        note="The closed form has one bandwidth for everything between servers; the simulation has links.",
    )


def fabric_layouts(plan: Plan) -> tuple[Table, ...]:
    """Return the time of every configuration on every fabric; nothing where there is no other fabric."""
    layouts = transformer_of(plan.job).layouts
    others = [row for row in plan.baselines if len(row.layout_times_s) == len(layouts)]
    if not others:
        return ()
    name = name_apart(others)
    times = table(
        "Every configuration on every fabric",
        joined(number=range(len(layouts)), layout=layouts),
        text("configuration", "layout.name"),
        number("wired for it", partial(_time, plan.search.seed_times_s, plan.search.left_out)),
        *(number(name(row), partial(_time, row.layout_times_s, row.left_out)) for row in others),
        detail=True,
    )
    return (times,)


def _time(times_s: Sequence[float], left_out: Sequence[int], row: Mapping[str, Any]) -> str:
    """Return the time of a layout by its number, nothing where it was not tried."""
    number = row["number"]
    return _time_or_bound(times_s[number], number not in left_out) if number < len(times_s) else ""


def memory_chart(plan: Plan) -> BarChart:
    """Return the memory of the fullest accelerator with each configuration, by cause, in GiB."""
    layouts = transformer_of(plan.job).layouts
    causes = dict.fromkeys(cause for layout in layouts for cause in layout.memory_bytes)
    parts: dict[str, Source] = {cause: partial(_memory_bytes, cause) for cause in causes}
    return BarChart(
        "memory",
        "Memory of the fullest accelerator, by cause",
        "",
        "memory (GiB)",
        bars(layouts, "name", parts, 2**30),
        stacked=True,
        horizontal=True,
        note=_capacity(plan),
        limits=memory_limit(transformer_of(plan.job).capacity_bytes),
    )


def memory_limit(capacity_bytes: float) -> tuple[Limit, ...]:
    """Return the line of an accelerator's memory, in GiB; none where that is not known."""
    if not capacity_bytes:
        return ()
    return (Limit(capacity_bytes / 2**30, f"an accelerator has {format_memory(capacity_bytes)}"),)


def _capacity(plan: Plan) -> str:
    """Return an accelerator's capacity, the plan's memory, and the largest cause."""
    work = transformer_of(plan.job)
    layout = work.layout(plan.strategy)
    needed, capacity = layout.total_memory_bytes, work.capacity_bytes
    if not (layout.memory_bytes and capacity):
        return ""
    cause = max(layout.memory_bytes, key=lambda name: layout.memory_bytes[name])
    return (
        f"An accelerator has {format_memory(capacity)}. {layout.name} needs {format_memory(needed)}, "
        f"{needed / capacity:.1%} of it; most of that is {cause}, {format_memory(layout.memory_bytes[cause])}."
    )


def _memory_bytes(cause: str, layout: Layout) -> float:
    return layout.memory_bytes.get(cause, 0.0)


def layout_words(training: TransformerWork, layout: Layout) -> Entries:
    """Return a layout's split of the model, and the memory of its fullest accelerator."""
    configuration, step = layout.configuration, layout.step
    degrees = [
        f"{word} {configuration[key]}" for key, word in DEGREE_WORDS.items() if configuration.get(key, 1) != 1
    ]
    if configuration.get("sequence_parallel"):
        degrees[0] += " with sequence parallelism"
    zero = configuration.get("zero", 0)
    kept = {0: "nothing", 1: "optimizer state", 2: "optimizer state and gradients", 3: "all parameters"}
    causes = ", ".join(f"{name} {format_memory(size)}" for name, size in layout.memory_bytes.items() if size)
    total, capacity = format_memory(layout.total_memory_bytes), format_memory(training.capacity_bytes)
    # which servers hold which stage, a line each; the last of many stages share one
    first = layout.step.part_servers[:MOST_STAGES]
    lines = [f"{stage} on servers {_servers(parts.ravel().tolist())}" for stage, parts in enumerate(first)]
    rest = layout.step.stages - MOST_STAGES
    stages = [*lines, f"and {rest} more likewise"] if rest > 0 else lines
    chunks = layout.step.chunks_per_stage
    if layout.step.stages == 1:
        schedule = "one stage"
    elif layout.step.schedule in SCHEDULE_WORDS:
        schedule = f"{layout.step.stages} stages, {SCHEDULE_WORDS[layout.step.schedule]}"
    else:
        way = f"interleaved 1F1B, {chunks} chunks a stage" if chunks > 1 else "1F1B"
        schedule = f"{layout.step.stages} stages, {way}"
    return {
        "parallel": ", ".join(degrees) or "one accelerator holds and does everything",
        "batch": f"{training.global_batch:,} sequences of {training.sequence:,} tokens; "
        f"{step.ends * step.micro_batches:,} micro-batches of {configuration['micro_batch']} for each replica",
        "schedule": schedule,
        "recomputed": str(configuration.get("recompute", "")),
        "with": with_words(unusual_fields(configuration)),
        "shared out": f"{kept.get(int(zero), '')} (ZeRO-{zero})",
        "ranks": f"numbered in the order {layout.order}, servers filled one after the other",
        "stages": stages,
        "memory": f"{total} of {capacity}{_share(training, layout)} on the fullest accelerator ({causes})",
    }


def with_words(unusual: Mapping[str, object]) -> str:
    """Return the fields that few configurations use.

    Examples
    --------
    >>> with_words({"context": "ulysses", "adapter_rank": 16})
    'context ulysses, adapter rank 16'
    """
    return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in unusual.items())


def _share(training: TransformerWork, layout: Layout) -> str:
    return f", {layout.total_memory_bytes / training.capacity_bytes:.1%}," if training.capacity_bytes else ""


def _servers(numbers: list[int]) -> str:
    """Return a few stretches of numbers, then dots and the last.

    Examples
    --------
    >>> _servers([0, 1, 2, 3, 7]), _servers([0, 2, 4, 6, 8, 10])
    ('0–3, 7', '0, 2, 4, 6, … 10')
    """
    words = runs(numbers).split(", ")
    return ", ".join([*words[:4], f"… {words[-1]}"] if len(words) > 5 else words)


def published_sections(model: str, published: Sequence[PublishedLayout]) -> tuple[Section, ...]:
    """Return the section on published configurations; none where none is known."""
    if not published:
        return ()
    rows = table(
        "",
        published,
        text("configuration", "name"),
        number("iteration", "estimated_s"),
        number("vs. best", "over_best", "+z.1%"),
        number("rank", lambda one: f"{one.rank:,} of {one.compared:,}"),
        number("memory", "memory_bytes", format_memory),
        text("fits", "fits", yes_or_no),
        text("published", partial(_origin, model)),
    )
    remark = "in closed form, with the replicas that there are accelerators for"
    slower = {one.name: _why_slower(one) for one in published if one.faster_with}
    blocks = (rows, facts(slower)) if slower else (rows,)
    return (Section("published", "Published practice", "", blocks, remark),)


def _why_slower(one: PublishedLayout) -> str:
    """Return the changes made by the fastest configuration, in one line."""
    steps = [f"{words} saves {share:.1%}" for words, share in one.faster_with.items()]
    return f"the fastest does otherwise: {', then '.join(steps)}"


def published_line(one: PublishedLayout) -> str:
    """Return a published configuration in one line: slowdown, rank, whether it fits."""
    fits = "fits" if one.fits else "does not fit"
    difference = f"{abs(one.over_best):.1%} {'slower' if one.over_best >= 0 else 'faster'} in closed form"
    return f"{one.source}, {one.name}: {difference}, rank {one.rank:,} of {one.compared:,}; {fits}"


def _origin(model: str, one: PublishedLayout) -> str:
    other = f"{one.model}, " if one.model != model else ""
    return f"{one.source} ({other}{one.accelerators:,} {one.accelerator}, {one.precision})"
