"""How a plan trains a transformer: the configuration, the servers of each stage, what else was tried, memory."""

import numpy as np

from topoopt.job import Training, job_mfu, layout_of
from topoopt.plan import Plan
from topoopt.report.chart import BarChart, HeatmapChart, Series
from topoopt.report.page import Facts, Section, Table, Tile
from topoopt.report.words import counted, time_unit
from topoopt.search import LAYOUT_COLUMNS, layout_table, layout_words
from topoopt.units import format_bandwidth, format_bytes, format_time


def layout_sections(plan: Plan) -> tuple[Section, Section]:
    """Return the configuration of a transformer's plan, and those that were tried."""
    training = plan.job.training
    assert training is not None
    layout, traffic = layout_of(plan.job, plan.strategy), plan.traffic()
    moved = (
        f"{format_bytes(traffic.allreduce_bytes)} AllReduced in {counted(len(traffic.allreduce), 'group')} of servers, "
        f"{format_bytes(traffic.mp_bytes)} from server to server"
    )
    return (
        Section(
            "configuration",
            "Configuration",
            f"{layout.name}: the fastest of {counted(len(training.layouts), 'configuration')} that were each wired and "
            f"simulated, of {training.considered:,} that fit in memory and were ranked in closed form.",
            (
                Facts("How the model is split", (*layout_words(plan), ("traffic", moved))),
                placement_map(plan),
                memory_chart(plan),
            ),
            remark=layout.name,
        ),
        Section(
            "configurations",
            "Configurations tried",
            "The time of each in closed form, where one bandwidth stands for the network, and on links of its own.",
            (
                Table("", LAYOUT_COLUMNS, tuple(layout_table(plan)), LAYOUT_COLUMNS[1:]),
                layout_times(plan),
                *fabric_layouts(plan),
            ),
            remark="each on a network wired for it",
        ),
    )


def placement_map(plan: Plan) -> HeatmapChart:
    """Return how many workers of each pipeline stage every server has; a worker is one stage of one replica."""
    step = layout_of(plan.job, plan.strategy).step
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
    training, times_s = plan.job.training, plan.search.seed_times_s
    assert training is not None
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
    training = plan.job.training
    assert training is not None
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
    training = plan.job.training
    assert training is not None
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


def rate_tiles(plan: Plan) -> tuple[Tile, ...]:
    """Return tokens a second and utilization, nothing for a plan of operators."""
    if plan.job.training is None:
        return ()
    time_s = plan.outcome.iteration_time_s
    return (
        Tile("Tokens", f"{plan.job.training.tokens_per_s(time_s):,.0f}", "a second"),
        Tile(
            "Utilization",
            f"{job_mfu(plan.job, time_s):.1%}",
            f"of the {plan.job.settings.precision} peak (MFU)",
        ),
    )


def training_facts(training: Training) -> list[tuple[str, str]]:
    """Return the size of the model and what its times rest on."""
    model = training.model
    heads = f"{model.heads} heads" + (f" ({model.kv_heads} of keys)" if model.kv_heads != model.heads else "")
    size = (
        f"{_count(training.parameters)} parameters, {model.layers} layers, hidden {model.hidden:,}, {heads}"
    )
    experts = (
        "" if model.experts is None else f", {model.experts.count} experts, {model.experts.per_token} a token"
    )
    return [("size", size + experts), ("step times", training.calibration)]


def rates(plan: Plan) -> list[tuple[str, str]]:
    """Return tokens per second and utilization of a transformer's plan, nothing for any other."""
    if plan.job.training is None:
        return []
    time_s = plan.outcome.iteration_time_s
    return [
        ("tokens", f"{plan.job.training.tokens_per_s(time_s):,.0f} a second"),
        ("MFU", f"{job_mfu(plan.job, time_s):.1%} of the {plan.job.settings.precision} peak"),
    ]


def layout_search(plan: Plan) -> list[tuple[str, str]]:
    """Return how the configurations were found."""
    record, training = plan.search, plan.job.training
    assert training is not None
    first_s, best_s = record.seed_times_s[0], plan.outcome.iteration_time_s
    gained = f"the first in closed form takes {format_time(first_s)}, {first_s / best_s:.2f} × as long"
    if plan.strategy.layout == 0:
        gained = "nothing over the closed form, whose first it is"
    return [
        ("ranked", f"{training.considered:,} configurations that fit in memory, in closed form"),
        ("wired", f"{counted(len(record.seed_times_s), 'configuration')}, {record.proposals} networks"),
        ("stopped", record.stopped_because),
        ("gained", gained),
        ("seed", str(plan.provenance.seed)),
    ]


def _count(parameters: int) -> str:
    """Return ``70.6 billion`` or ``345 million``."""
    word, scale = ("billion", 1e9) if parameters >= 1e9 else ("million", 1e6)
    return f"{parameters / scale:,.3g} {word}"
