"""Pictures of how a plan trains a transformer: the servers of each stage, what else was tried, memory."""

import numpy as np

from topoopt.job import transformer_of
from topoopt.plan import Plan
from topoopt.report.chart import BarChart, HeatmapChart, Series
from topoopt.report.page import Table
from topoopt.report.words import time_unit
from topoopt.units import format_bandwidth, format_time


def placement_map(plan: Plan) -> HeatmapChart:
    """Return how many workers of each pipeline stage every server has; a worker is one stage of one replica."""
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


def layout_times(plan: Plan) -> BarChart:
    """Return the iteration time of each configuration, in closed form and on a network wired for it."""
    training, times_s = transformer_of(plan.job), plan.search.seed_times_s
    names = tuple(layout.name for layout in training.layouts)
    unit, scale = time_unit(max(times_s))
    wired = tuple(time_s / scale for time_s in times_s) + (float("nan"),) * (len(names) - len(times_s))
    return BarChart(
        "configurations",
        "Iteration time of each configuration",
        "",
        f"iteration time ({unit})",
        (
            Series("closed form", names, tuple(layout.estimated_s / scale for layout in training.layouts)),
            Series("wired and simulated", names, wired),
        ),
        horizontal=True,
        note="The closed form has one bandwidth for everything between servers; the simulation has links.",
    )


def fabric_layouts(plan: Plan) -> tuple[Table, ...]:
    """Return the time of every configuration on every fabric; nothing where there is no other fabric."""
    training = transformer_of(plan.job)
    tried = [row for row in plan.baselines if len(row.layout_times_s) == len(training.layouts)]
    if not tried:
        return ()
    known = [format_time(time_s) for time_s in plan.search.seed_times_s]
    own = known + [""] * (len(training.layouts) - len(known))
    rows = tuple(
        (layout.name, own[index], *(format_time(row.layout_times_s[index]) for row in tried))
        for index, layout in enumerate(training.layouts)
    )
    named = [row.fabric for row in tried]
    others = (
        row.fabric
        if named.count(row.fabric) == 1
        else f"{row.fabric}, {format_bandwidth(row.server_bandwidth_bps)}"
        for row in tried
    )
    numbers = ("wired for it", *others)
    return (
        Table("Every configuration on every fabric", ("configuration", *numbers), rows, numbers, detail=True),
    )


def memory_chart(plan: Plan) -> BarChart:
    """Return what the fullest accelerator holds with each configuration, by cause, in GiB."""
    training = transformer_of(plan.job)
    names = tuple(layout.name for layout in training.layouts)
    causes = list(dict.fromkeys(cause for layout in training.layouts for cause in layout.memory_bytes))
    return BarChart(
        "memory",
        "Memory of the fullest accelerator, by cause",
        "",
        "memory (GiB)",
        tuple(
            Series(
                cause,
                names,
                tuple(layout.memory_bytes.get(cause, 0.0) / 2**30 for layout in training.layouts),
            )
            for cause in causes
        ),
        stacked=True,
        horizontal=True,
    )
