"""The part of a plan file that is the work of a transformer in pipeline stages, with every layout that was tried."""

import itertools
from dataclasses import asdict
from typing import Any

import numpy as np

from topoopt.base.errors import InvalidInput
from topoopt.catalog import find_accelerator
from topoopt.jobs import Layout, PublishedLayout, TransformerWork, is_tight, job_mfu, transformer_of
from topoopt.plans import model
from topoopt.plans.plan import Plan
from topoopt.plans.training_model import LayoutPart
from topoopt.schema.files import noun_from
from topoopt.workloads import OperatorGraph
from topoopt.workloads.pipelined_step import PipelinedStep

MEMORY_CAUSES = ("parameters", "gradients", "optimizer", "embedding", "activations")
"""What the memory of an accelerator is told by; whatever else there is counts as other."""


def transformer_to_mapping(plan: Plan) -> dict[str, Any]:
    """Return the keys of a plan for a transformer; where a search was interrupted, not every layout has a time."""
    work, time_s = transformer_of(plan.job), plan.outcome.iteration_time_s
    rows = itertools.zip_longest(work.layouts, plan.search.seed_times_s)
    return {
        "graph": OperatorGraph(work.name, (), 1),
        "training": {
            **vars(work),
            "chosen": plan.strategy.layout,
            "tokens_per_s": work.tokens_per_s(time_s),
            "mfu": job_mfu(plan.job, time_s),
            "layouts": [_layout_part(layout, wired_s) for layout, wired_s in rows],
            "published": [one.to_mapping() for one in work.published],
        },
        "memory": _memory(work, work.layout(plan.strategy)),
    }


def _layout_part(layout: Layout, iteration_time_s: float | None) -> dict[str, Any]:
    return {
        "name": layout.name,
        "configuration": layout.configuration,
        "order": layout.order,
        "estimated_time_s": layout.estimated_s,
        "iteration_time_s": iteration_time_s,
        "memory_bytes": layout.memory_bytes,
        "step": {**asdict(layout.step), "part_servers": layout.step.part_servers.tolist()},
    }


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
        "tight": is_tight(layout.total_memory_bytes, work.capacity_bytes),
    }


def transformer_from_file(file: model.PlanFile) -> TransformerWork:
    """Return the work that a plan file describes.

    Raises
    ------
    InvalidInput
        If a layout is no step, is for another number of servers, or the chosen one is not there.
    """
    part, servers = file.training, file.cluster.servers
    assert part is not None
    find_accelerator(file.cluster.accelerator).peak_flops(file.settings.precision)
    if part.chosen >= len(part.layouts):
        raise InvalidInput(f"training: chosen: layouts are 0..{len(part.layouts) - 1}, got {part.chosen}")
    for index, row in enumerate(part.layouts):
        if row.step.servers != servers:
            raise InvalidInput(
                f"training: layouts[{index}]: {row.step.servers} servers here, {servers} elsewhere"
            )
    layouts = tuple(_layout(row, index) for index, row in enumerate(part.layouts))
    published = tuple(noun_from(PublishedLayout, row) for row in part.published)
    return noun_from(TransformerWork, part, layouts=layouts, published=published)


def _layout(row: LayoutPart, index: int) -> Layout:
    sides = {(len(stage), len(parts)) for stage in row.step.part_servers for parts in stage}
    if len(sides) != 1:
        raise InvalidInput(
            f"training: layouts[{index}]: part_servers: every stage needs as many replicas and parts"
        )
    step = noun_from(PipelinedStep, row.step, part_servers=np.array(row.step.part_servers, np.int64))
    return noun_from(Layout, row, estimated_s=row.estimated_time_s, step=step)
