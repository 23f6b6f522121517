"""The part of a plan file that is the work of a transformer in pipeline stages, with every layout that was tried."""

from typing import Any

import numpy as np

from topoopt.errors import InvalidInput
from topoopt.hardware import ClusterSpec, find_accelerator
from topoopt.job import JobSettings, Layout, TransformerWork, job_mfu, transformer_of
from topoopt.pipelined_step import PipelinedStep
from topoopt.plan import model
from topoopt.plan.plan import Plan
from topoopt.plan.traffic_part import no_operators
from topoopt.plan.training_model import LayoutPart, StepPart, TrainingPart

MEMORY_CAUSES = ("parameters", "gradients", "optimizer", "embedding", "activations")
"""What the memory of an accelerator is told by; whatever else there is counts as other."""


def transformer_to_mapping(plan: Plan) -> dict[str, Any]:
    """Return the keys of a plan for a transformer."""
    work = transformer_of(plan.job)
    return {
        "graph": no_operators(work.name),
        "training": _training_part(plan, work),
        "memory": _memory(work, work.layout(plan.strategy)),
    }


def _training_part(plan: Plan, training: TransformerWork) -> TrainingPart:
    """Return the part itself; fewer times than there are layouts are known where a search was interrupted."""
    times_s, iteration_time_s = plan.search.seed_times_s, plan.outcome.iteration_time_s
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
        chosen=plan.strategy.layout,
        tokens_per_s=training.tokens_per_s(iteration_time_s),
        mfu=job_mfu(plan.job, iteration_time_s),
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


def _memory(work: TransformerWork, layout: Layout) -> dict[str, Any]:
    """Return what the fullest accelerator of a layout holds, by the causes of the plan file."""
    causes = dict(layout.memory_bytes)
    named = {f"{name}_bytes": causes.pop(name, 0.0) for name in MEMORY_CAUSES}
    return {
        **named,
        "other_bytes": sum(causes.values()),
        "server": int(layout.step.part_servers[0, 0, 0]),
        "total_bytes": layout.total_memory_bytes,
        "available_bytes": work.capacity_bytes,
        "fits": layout.total_memory_bytes <= work.capacity_bytes,
    }


def transformer_from_file(
    file: model.PlanFile, cluster: ClusterSpec, settings: JobSettings
) -> TransformerWork:
    """Return the work that a plan file describes.

    Raises
    ------
    InvalidInput
        If a layout is no step, is for another number of servers, or the chosen one is not there.
    """
    part, servers = file.training, cluster.servers
    assert part is not None
    find_accelerator(cluster.accelerator).peak_flops(settings.precision)
    if part.chosen >= len(part.layouts):
        raise InvalidInput(f"training: chosen: layouts are 0..{len(part.layouts) - 1}, got {part.chosen}")
    for index, row in enumerate(part.layouts):
        if row.step.servers != servers:
            raise InvalidInput(
                f"training: layouts[{index}]: {row.step.servers} servers here, {servers} elsewhere"
            )
    return TransformerWork(
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
    part = row.step
    sides = {(len(stage), len(parts)) for stage in part.part_servers for parts in stage}
    if len(sides) != 1:
        raise InvalidInput(
            f"training: layouts[{index}]: part_servers: every stage needs as many replicas and parts"
        )
    step = PipelinedStep(
        part.servers,
        part.micro_batches,
        tuple(part.chunks),
        np.array(part.part_servers, np.int64),
        tuple(part.exchanges),
        tuple(part.synchronizations),
        part.gradient_buckets,
        part.optimizer_s,
    )
    return Layout(row.configuration, row.order, row.estimated_time_s, row.memory_bytes, step)
