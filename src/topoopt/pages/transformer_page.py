"""Parts of a plan's page for a transformer: its size, the configuration, alternatives, and rates."""

import numpy as np

from topoopt.base.units import format_bytes, format_time
from topoopt.jobs import Layout, TransformerWork, job_mfu, transformer_of
from topoopt.pages.chart import StageBox, StagesChart, TimelineChart
from topoopt.pages.page import Section, Tile
from topoopt.pages.tables import Entries, counted, facts, runs
from topoopt.pages.timelines import pipeline_timeline
from topoopt.pages.training_layout import (
    fabric_layouts,
    layout_table,
    layout_times,
    layout_words,
    memory_chart,
    placement_map,
    published_line,
    published_sections,
)
from topoopt.pages.work_page import WorkPage, cluster_words
from topoopt.plans import Plan
from topoopt.simulation import SimResult, compute_and_bubble, inside_servers_s
from topoopt.transformers import untried_words
from topoopt.workloads import ParallelStrategy
from topoopt.workloads.pipelined_step import PipelinedStep

MOST_STAGES = 32
"""Most stages that are drawn, from the first on."""
MOST_RUNS = 3
"""Most runs of layers or of servers that are listed; of more, the first ones, the last one and their number."""
LEAST_SHOWN = 1e-6
"""Fraction of the time with free communication below which a part is rounding."""


def job_facts(plan: Plan) -> Entries:
    """Return the size of the model, the basis of its times, and the cluster."""
    training = transformer_of(plan.job)
    model, experts = training.model, training.model.experts
    heads = f"{model.heads} heads" + (f" ({model.kv_heads} of keys)" if model.kv_heads != model.heads else "")
    size = (
        f"{_count(training.parameters)} parameters, {model.layers} layers, hidden {model.hidden:,}, {heads}"
    )
    if experts is not None:
        size += f", {experts.count} experts, {experts.per_token} a token"
    return {"size": size, "step times": training.calibration, "cluster": cluster_words(plan.job.cluster)}


def layout_sections(plan: Plan) -> tuple[Section, ...]:
    """Return the configuration of a transformer's plan, and the evaluated ones."""
    training = transformer_of(plan.job)
    layout, traffic = training.layout(plan.strategy), plan.traffic()
    moved = (
        f"{format_bytes(traffic.allreduce_bytes)} AllReduced in {counted(len(traffic.allreduce), 'group')} of servers, "
        f"{format_bytes(traffic.mp_bytes)} from server to server"
    )
    known_s = min(row.estimated_s for row in training.layouts)
    untried = {"not tried": untried_words(training.untried, training.untried_time_s, known_s)}
    return (
        Section(
            "configuration",
            "Configuration",
            f"{layout.name}: the fastest of {counted(len(training.layouts), 'configuration')} that were each wired and "
            f"simulated, of {training.considered:,} that fit in memory and were ranked in closed form.",
            (
                facts(
                    {**layout_words(training, layout), **untried, "traffic": moved}, "How the model is split"
                ),
                *stages_picture(plan),
                placement_map(plan),
                memory_chart(plan),
            ),
            remark=layout.name,
        ),
        Section(
            "configurations",
            "Configurations tried",
            "The time of each in closed form, where one bandwidth stands for the network, and on links of its own.",
            (layout_table(plan), layout_times(plan), *fabric_layouts(plan)),
            remark="each on a network wired for it",
        ),
        *published_sections(training.model.name, training.published),
    )


def rate_tiles(plan: Plan) -> tuple[Tile, ...]:
    """Return tokens a second and utilization."""
    time_s, precision = plan.iteration_time_s, plan.job.settings.precision
    return (
        Tile("Tokens", f"{transformer_of(plan.job).tokens_per_s(time_s):,.0f}", "a second"),
        Tile("Utilization", f"{job_mfu(plan.job, time_s):.1%}", f"of the {precision} peak (MFU)"),
    )


def rates(plan: Plan) -> Entries:
    """Return tokens per second and utilization."""
    time_s, precision = plan.iteration_time_s, plan.job.settings.precision
    return {
        "tokens": f"{transformer_of(plan.job).tokens_per_s(time_s):,.0f} a second",
        "MFU": f"{job_mfu(plan.job, time_s):.1%} of the {precision} peak",
    }


def compute_facts(plan: Plan) -> Entries:
    """Return the iteration with free communication: computing, collectives inside servers, the bubble."""
    step = transformer_of(plan.job).layout(plan.strategy).step
    compute_s, bubble_s = compute_and_bubble(step)
    inside_s = inside_servers_s(step)
    parts = {
        "compute": (compute_s - inside_s + step.optimizer_s, "on the busiest stage"),
        "inside": (inside_s, "of its collectives between accelerators of one server"),
        "bubble": (bubble_s, "in which stages wait for each other"),
    }
    least_s = LEAST_SHOWN * plan.outcome.compute_time_s
    return {
        word: f"{format_time(part_s)} {what}" for word, (part_s, what) in parts.items() if part_s > least_s
    }


def waits(plan: Plan, strategy: ParallelStrategy) -> dict[str, float]:
    """Return the idle time of the busiest stage despite free communication between servers."""
    step = transformer_of(plan.job).layout(strategy).step
    return {
        "collectives inside servers": inside_servers_s(step),
        "pipeline bubble": compute_and_bubble(step)[1],
    }


def timeline(plan: Plan, result: SimResult) -> TimelineChart:
    """Return the passes of every micro-batch through the stages of one replica."""
    return pipeline_timeline(transformer_of(plan.job).layout(plan.strategy).step, result)


def search_facts(plan: Plan) -> Entries:
    """Return the method of the search for configurations."""
    record = plan.search
    first_s, best_s = record.seed_times_s[0], plan.iteration_time_s
    gained = f"the first in closed form takes {format_time(first_s)}, {first_s / best_s:.2f} × as long"
    if plan.strategy.layout == 0:
        gained = "nothing over the closed form, whose first it is"
    considered = transformer_of(plan.job).considered
    left_out = len(record.left_out)
    tried = len(record.seed_times_s) - left_out
    return {
        "ranked": f"{considered:,} configurations that fit in memory, in closed form",
        "wired": f"{counted(tried, 'configuration')}, {record.proposals} networks{_left_out_words(left_out)}",
        "stopped": record.stopped_because,
        "gained": gained,
        "published": [published_line(one) for one in transformer_of(plan.job).published],
        "seed": str(plan.provenance.seed),
    }


def _left_out_words(count: int) -> str:
    if not count:
        return ""
    return f"; {counted(count, 'configuration')} left out as soon as they could not be the fastest"


def made_by(plan: Plan) -> Entries:
    """Return the size of the model, its batch, and the basis of its times."""
    training = transformer_of(plan.job)
    return {
        "model": training.model.name,
        "parameters": f"{training.parameters:,}",
        "step times": training.calibration,
        "sequences of an iteration": f"{training.global_batch:,}",
        "tokens of a sequence": f"{training.sequence:,}",
    }


def _count(parameters: int) -> str:
    """Return ``70.6 billion`` or ``345 million``."""
    word, scale = ("billion", 1e9) if parameters >= 1e9 else ("million", 1e6)
    return f"{parameters / scale:,.3g} {word}"


TRANSFORMER_PAGE = WorkPage(
    job_facts,
    search_facts,
    made_by,
    layout_sections,
    rates=rates,
    compute=compute_facts,
    waits=waits,
    timeline=timeline,
    free="the network is free: compute, collectives inside servers, pipeline bubble",
    tiles=rate_tiles,
    compared="each with the best of these configurations",
    plain="The configuration that is the first in closed form, wired for itself,",
)


def stages_picture(plan: Plan) -> tuple[StagesChart, ...]:
    """Return the picture of the plan's pipeline; nothing where there is one stage only."""
    work = transformer_of(plan.job)
    layout = work.layout(plan.strategy)
    step = layout.step
    if step.stages < 2:
        return ()
    drawn = min(step.stages, MOST_STAGES)
    boxes = tuple(_box(work, layout, stage) for stage in range(drawn))
    sends = tuple(_sent_bytes(step, stage) for stage in range(drawn - 1))
    more = f" {step.stages - drawn} further stages are not drawn." if drawn < step.stages else ""
    return (
        StagesChart(
            "stages",
            "Stages of the pipeline, and what one micro-batch sends from each to the next",
            boxes,
            sends,
            _back(step) if drawn == step.stages else "",
            note="The bar in a stage is its time for one micro-batch, beside that of the slowest stage; as many bytes "
            f"of gradients come back.{more}",
        ),
    )


def _box(work: TransformerWork, layout: Layout, stage: int) -> StageBox:
    step = layout.step
    chunks = step.chunks_on(stage)
    forward_s, backward_s = sum(one.forward_s for one in chunks), sum(one.backward_s for one in chunks)
    servers = np.unique(step.part_servers[stage]).tolist()
    lines = (
        _layers(work, step, stage),
        f"{'server' if len(servers) == 1 else 'servers'} {_runs(servers)}",
        f"forward {format_time(forward_s, 3)}",
        f"backward {format_time(backward_s, 3)}",
    )
    return StageBox(f"stage {stage}", tuple(line for line in lines if line), forward_s + backward_s)


def _layers(work: TransformerWork, step: PipelinedStep, stage: int) -> str:
    """Return the layers of a stage; where they are not shared out evenly, how many parts of the model it has."""
    parts = len(step.chunks) // step.ends
    chunks = np.flatnonzero(step.chunk_stage == stage).tolist()
    if work.model.layers % parts:
        return (
            counted(len(chunks), "chunk of layers") if len(chunks) == 1 else f"{len(chunks)} chunks of layers"
        )
    each = work.model.layers // parts
    layers = [chunk % parts * each + layer for chunk in chunks for layer in range(each)]
    return f"{'layer' if len(layers) == 1 else 'layers'} {_runs(layers)}"


def _runs(numbers: list[int]) -> str:
    """Return the numbers in runs, or how many they are where the runs are many."""
    found = runs(numbers).split(", ")
    if len(found) <= MOST_RUNS:
        return ", ".join(found)
    return f"{', '.join(found[: MOST_RUNS - 1])}, …, {found[-1]} ({len(set(numbers))} in all)"


def _sent_bytes(step: PipelinedStep, stage: int) -> float:
    """Return the bytes sent per micro-batch by a worker of a stage to the next one, over all its parts."""
    chunk = int(np.flatnonzero(step.chunk_stage == stage)[0])
    return float(step.chunks[chunk].output_bytes * step.part_servers.shape[2])


def _back(step: PipelinedStep) -> str:
    if step.ends > 1:
        return "Half of the micro-batches go the other way, from the last stage to the first."
    laps = step.chunks_per_stage - 1
    if not laps:
        return ""
    chunk = step.chunks[step.stages - 1]
    size = format_bytes(chunk.output_bytes * step.part_servers.shape[2])
    times = "once" if laps == 1 else f"{laps} times"
    return f"Then from the last stage to the first, {times}: {size} each."
