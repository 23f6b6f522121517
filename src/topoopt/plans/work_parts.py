"""The part of a plan file that is the work of operators: graph, profiles, strategy by operator, memory."""

import itertools
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from topoopt.base.answers import fields_of
from topoopt.base.errors import InvalidInput
from topoopt.catalog import find_accelerator
from topoopt.jobs import (
    Layout,
    OperatorsWork,
    Profile,
    PublishedLayout,
    TrafficWork,
    TransformerWork,
    is_tight,
    job_mfu,
    operators_of,
    operators_work,
    transformer_of,
)
from topoopt.plans import file_model as model
from topoopt.plans.file_model import LayoutPart
from topoopt.plans.plan import Plan
from topoopt.schema.files import noun_from
from topoopt.workloads import (
    AllReduceGroup,
    DeviceProfile,
    OperatorGraph,
    ProfileTable,
    Transfers,
    device_profile_of,
    device_profile_to_mapping,
    memory_use,
    merged_traffic,
)
from topoopt.workloads.pipelined_step import PipelinedStep

MEMORY_CAUSES = ("parameters", "gradients", "optimizer", "embedding", "activations")
"""Categories of an accelerator's memory; everything else counts as other."""
NO_MEMORY = dict.fromkeys(
    ("parameters_bytes", "gradients_bytes", "optimizer_bytes", "embedding_bytes", "activations_bytes"), 0.0
)


def operators_to_mapping(plan: Plan) -> dict[str, Any]:
    """Return the keys of a plan of operators."""
    work = operators_of(plan.job)
    measured = [profile for profile in work.profiles if isinstance(profile, DeviceProfile)]
    rows = []
    for index, split in enumerate(plan.strategy.splits):
        time = work.time(index, split)
        rows.append(
            {
                "operator": work.graph.operators[index].name,
                **asdict(split),
                **fields_of(time, "forward_s", "backward_s"),
                "time_source": time.source,
            }
        )
    job = plan.job
    graph = operators_of(job).graph
    per_server = job.cluster.accelerators_per_server
    use = memory_use(graph, plan.strategy, job.global_batch, per_server, job.settings.optimizer)
    fullest = max(use, key=lambda row: row.total_bytes)
    available = find_accelerator(job.cluster.accelerator).usable_memory_bytes
    memory = {
        **asdict(fullest),
        "total_bytes": fullest.total_bytes,
        "available_bytes": available,
        "fits": fullest.total_bytes <= available,
    }
    return {
        "strategy": rows,
        "graph": work.graph,
        "profiles": [profile for profile in work.profiles if isinstance(profile, ProfileTable)],
        "device_profiles": list(map(device_profile_to_mapping, measured)),
        "memory": memory,
    }


def operators_from_file(file: model.PlanFile) -> OperatorsWork:
    """Return the work that a plan file describes.

    Raises
    ------
    InvalidInput
        If there are no operators, or one has a time and no samples that it is of.
    """
    if not file.graph.operators:
        raise InvalidInput("graph: no operators, and no fixed_traffic either: there is nothing to do")
    for op in file.graph.operators:
        if op.forward_time_s is not None and not op.timed_samples:
            raise InvalidInput(f"graph: operator {op.name}: forward_time_s needs timed_samples >= 1")
    profiles: tuple[Profile, ...] = (*file.profiles, *map(device_profile_of, file.device_profiles))
    return operators_work(file.graph, file.cluster, file.settings, profiles)


def traffic_to_mapping(plan: Plan) -> dict[str, Any]:
    """Return the keys of a plan of known traffic."""
    work = plan.job.work
    assert isinstance(work, TrafficWork)
    moved = work.demand.transfers
    return {
        "graph": OperatorGraph(work.name, (), 1),
        "fixed_traffic": np.stack([moved.src, moved.dst, moved.size_bytes], axis=1).tolist(),
        "fixed_allreduce": [(list(group.members), group.size_bytes) for group in work.demand.allreduce],
        "fixed_compute_s": work.compute_s,
        "fixed_hidden_share": work.hidden_share,
        "memory": {
            "server": 0,
            **NO_MEMORY,
            "total_bytes": 0.0,
            "available_bytes": find_accelerator(plan.job.cluster.accelerator).usable_memory_bytes,
            "fits": True,
        },
    }


def traffic_from_file(file: model.PlanFile) -> TrafficWork:
    """Return the work that a plan file describes.

    Raises
    ------
    InvalidInput
        If a server is not of the cluster, or there are operators beside the traffic.
    """
    servers = file.cluster.servers
    for index, (src, dst, _) in enumerate(file.fixed_traffic):
        if max(src, dst) >= servers:
            raise InvalidInput(f"fixed_traffic[{index}]: servers are 0..{servers - 1}, got {src} and {dst}")
    for index, (members, _) in enumerate(file.fixed_allreduce):
        if max(members) >= servers or sorted(set(members)) != members:
            raise InvalidInput(
                f"fixed_allreduce[{index}]: expected servers of 0..{servers - 1} ascending, got {members!r:.60}"
            )
    if file.graph.operators:
        raise InvalidInput("fixed_traffic: is of a job without operators, and graph has some")
    rows = np.array(file.fixed_traffic, np.int64).reshape(-1, 3)
    groups = [AllReduceGroup(tuple(members), size) for members, size in file.fixed_allreduce]
    demand = merged_traffic(servers, groups, (), Transfers(*rows.T))
    return TrafficWork(
        file.graph.name, demand, compute_s=file.fixed_compute_s, hidden_share=file.fixed_hidden_share
    )


def transformer_to_mapping(plan: Plan) -> dict[str, Any]:
    """Return the keys of a plan for a transformer; where a search was interrupted, not every layout has a time."""
    work, time_s = transformer_of(plan.job), plan.iteration_time_s
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
        "memory": _transformer_part_memory(work, work.layout(plan.strategy)),
    }


def _layout_part(layout: Layout, iteration_time_s: float | None) -> dict[str, Any]:
    return {
        **fields_of(layout, "name", "configuration", "order"),
        "estimated_time_s": layout.estimated_s,
        "iteration_time_s": iteration_time_s,
        "memory_bytes": layout.memory_bytes,
        "step": {**asdict(layout.step), "part_servers": layout.step.part_servers.tolist()},
    }


def _transformer_part_memory(work: TransformerWork, layout: Layout) -> dict[str, Any]:
    """Return the memory of a layout's fullest accelerator, by the causes in the plan file."""
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
    gradients = row.step.synchronizations
    if row.step.gradient_buckets:
        gradients = tuple(replace(one, overlap=1 - 1 / row.step.gradient_buckets) for one in gradients)
    changed = {"part_servers": np.array(row.step.part_servers, np.int64), "synchronizations": gradients}
    step = noun_from(PipelinedStep, row.step, **changed)
    return noun_from(Layout, row, estimated_s=row.estimated_time_s, step=step)
