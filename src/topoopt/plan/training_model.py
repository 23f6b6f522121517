"""The part of a plan file that says how a transformer is trained: its shapes, and every layout that was tried.

Shapes, chunks, exchanges and synchronizations are written by the fields of their nouns.
"""

from typing import Annotated, Any

import numpy as np
from pydantic import Field

from topoopt.errors import InvalidInput
from topoopt.files import Amount, Count, Number, Strict
from topoopt.job import Job, Layout, Training, job_mfu, layout_of
from topoopt.pipelined_step import Chunk, Exchange, PipelinedStep, Synchronization
from topoopt.strategy import ParallelStrategy
from topoopt.transformer import TransformerModel

MEMORY_CAUSES = ("parameters", "gradients", "optimizer", "embedding", "activations")
"""What the memory of an accelerator is told by; whatever else there is counts as other."""


class StepPart(Strict):
    """The fields of PipelinedStep."""

    servers: Number
    micro_batches: Number
    chunks: list[Chunk]
    part_servers: list[list[list[Count]]] = Field(description="servers by stage, replica and part")
    exchanges: list[Exchange] = Field(default=[])
    synchronizations: list[Synchronization] = Field(default=[])
    gradient_buckets: Count = 0
    optimizer_s: Amount = 0.0


class LayoutPart(Strict):
    """The fields of Layout, and how long it takes on a network wired for it."""

    name: str
    configuration: dict[str, bool | int | str]
    order: str = Field(description="which ranks are neighbors, the fastest changing first")
    estimated_time_s: Amount = Field(description="closed form, before anything is wired")
    iteration_time_s: Amount | None = Field(description="wired and simulated; null where that was not done")
    memory_bytes: dict[str, Amount] = Field(description="of the fullest accelerator, by cause")
    step: StepPart


class TrainingPart(Strict):
    """A transformer, the layout that was chosen, and what it reaches."""

    model: TransformerModel
    parameters: Count
    global_batch: Number
    sequence: Number
    model_flops: Amount = Field(description="of one iteration, without recomputation")
    calibration: str
    considered: Count = Field(description="configurations that were ranked")
    capacity_bytes: Amount = Field(description="memory of an accelerator")
    chosen: Count = Field(description="index into layouts")
    tokens_per_s: Amount
    mfu: Annotated[float, Field(ge=0)] = Field(description="model FLOPs utilization, 0..1")
    layouts: list[LayoutPart] = Field(min_length=1)


def training_to_mapping(
    job: Job, chosen: int, iteration_time_s: float, times_s: tuple[float, ...]
) -> TrainingPart | None:
    """Return the part of a transformer's job, None for any other job.

    ``times_s`` are the layouts' iteration times; fewer than there are layouts where a search was interrupted.
    """
    training = job.training
    if training is None:
        return None
    known = [*times_s, *[None] * (len(training.layouts) - len(times_s))]
    return TrainingPart(
        model=training.model,
        parameters=training.parameters,
        global_batch=training.global_batch,
        sequence=training.sequence,
        model_flops=training.model_flops,
        calibration=training.calibration,
        considered=training.considered,
        capacity_bytes=training.capacity_bytes,
        chosen=chosen,
        tokens_per_s=training.tokens_per_s(iteration_time_s),
        mfu=job_mfu(job, iteration_time_s),
        layouts=[
            _layout_part(layout, time_s) for layout, time_s in zip(training.layouts, known, strict=True)
        ],
    )


def _layout_part(layout: Layout, iteration_time_s: float | None) -> LayoutPart:
    step = layout.step
    return LayoutPart(
        name=layout.name,
        configuration=dict(layout.configuration),
        order=layout.order,
        estimated_time_s=layout.estimated_s,
        iteration_time_s=iteration_time_s,
        memory_bytes=dict(layout.memory_bytes),
        step=StepPart(
            servers=step.servers,
            micro_batches=step.micro_batches,
            chunks=list(step.chunks),
            part_servers=step.part_servers.tolist(),
            exchanges=list(step.exchanges),
            synchronizations=list(step.synchronizations),
            gradient_buckets=step.gradient_buckets,
            optimizer_s=step.optimizer_s,
        ),
    )


def layout_memory(job: Job, strategy: ParallelStrategy) -> dict[str, Any]:
    """Return what the fullest accelerator of a layout holds, by the causes of the plan file."""
    layout = layout_of(job, strategy)
    causes = dict(layout.memory_bytes)
    named = {f"{name}_bytes": causes.pop(name, 0.0) for name in MEMORY_CAUSES}
    assert job.training is not None
    available = job.training.capacity_bytes
    return {
        **named,
        "other_bytes": sum(causes.values()),
        "server": int(layout.step.part_servers[0, 0, 0]),
        "total_bytes": layout.total_memory_bytes,
        "available_bytes": available,
        "fits": layout.total_memory_bytes <= available,
    }


def training_of(part: TrainingPart, servers: int) -> Training:
    """Return the training that a plan file describes.

    Raises
    ------
    InvalidInput
        If a layout is no step, is for another number of servers, or the chosen one is not there.
    """
    if part.chosen >= len(part.layouts):
        raise InvalidInput(f"training: chosen: layouts are 0..{len(part.layouts) - 1}, got {part.chosen}")
    for index, row in enumerate(part.layouts):
        if row.step.servers != servers:
            raise InvalidInput(
                f"training: layouts[{index}]: {row.step.servers} servers here, {servers} elsewhere"
            )
    return Training(
        part.model,
        tuple(_layout(row, index) for index, row in enumerate(part.layouts)),
        part.global_batch,
        part.sequence,
        part.model_flops,
        part.calibration,
        part.considered,
        part.parameters,
        part.capacity_bytes,
    )


def _layout(row: LayoutPart, index: int) -> Layout:
    said = row.step
    sides = {(len(stage), len(parts)) for stage in said.part_servers for parts in stage}
    if len(sides) != 1:
        raise InvalidInput(
            f"training: layouts[{index}]: part_servers: every stage needs as many replicas and parts"
        )
    step = PipelinedStep(
        said.servers,
        said.micro_batches,
        tuple(said.chunks),
        np.array(said.part_servers, np.int64),
        tuple(said.exchanges),
        tuple(said.synchronizations),
        said.gradient_buckets,
        said.optimizer_s,
    )
    return Layout(row.configuration, row.order, row.estimated_time_s, row.memory_bytes, step)
