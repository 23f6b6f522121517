"""The stages of a transformer's pipeline as a picture: layers, servers, times, and the activations between them."""

import numpy as np

from topoopt.base.units import format_bytes, format_time
from topoopt.jobs import Layout, TransformerWork, transformer_of
from topoopt.pages.stages_chart import StageBox, StagesChart
from topoopt.pages.words import counted, runs
from topoopt.plans import Plan
from topoopt.workloads.pipelined_step import PipelinedStep

MOST_STAGES = 32
"""Of more stages the first so many are drawn."""
MOST_RUNS = 3
"""Of more runs of layers or of servers the first ones are said, the last and how many there are."""


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
    """Return what a worker of a stage sends to the next stage's for one micro-batch, over all its parts."""
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
