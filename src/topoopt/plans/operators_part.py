"""The part of a plan file that is the work of operators: graph, profiles, strategy by operator, memory."""

from dataclasses import asdict
from typing import Any

from topoopt.base.errors import InvalidInput
from topoopt.catalog import find_accelerator
from topoopt.jobs import Job, OperatorsWork, Profile, operators_of, operators_work
from topoopt.plans import model
from topoopt.plans.plan import Plan
from topoopt.workloads import DeviceProfile, ProfileTable, device_profile_of, device_profile_to_mapping
from topoopt.workloads.strategy import ParallelStrategy, memory_use


def operators_to_mapping(plan: Plan) -> dict[str, Any]:
    """Return the keys of a plan of operators."""
    work = operators_of(plan.job)
    measured = [profile for profile in work.profiles if isinstance(profile, DeviceProfile)]
    return {
        "strategy": _strategy_rows(work, plan.strategy),
        "graph": work.graph,
        "profiles": [profile for profile in work.profiles if isinstance(profile, ProfileTable)],
        "device_profiles": list(map(device_profile_to_mapping, measured)),
        "memory": _memory(plan.job, plan.strategy),
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


def _strategy_rows(work: OperatorsWork, strategy: ParallelStrategy) -> list[dict[str, Any]]:
    rows = []
    for index, split in enumerate(strategy.splits):
        time = work.time(index, split)
        rows.append(
            {
                "operator": work.graph.operators[index].name,
                **asdict(split),
                "forward_s": time.forward_s,
                "backward_s": time.backward_s,
                "time_source": time.source,
            }
        )
    return rows


def _memory(job: Job, strategy: ParallelStrategy) -> dict[str, Any]:
    graph = operators_of(job).graph
    per_server = job.cluster.accelerators_per_server
    use = memory_use(graph, strategy, job.global_batch, per_server, job.settings.optimizer)
    fullest = max(use, key=lambda row: row.total_bytes)
    available = find_accelerator(job.cluster.accelerator).memory_bytes
    return {
        **asdict(fullest),
        "total_bytes": fullest.total_bytes,
        "available_bytes": available,
        "fits": fullest.total_bytes <= available,
    }
