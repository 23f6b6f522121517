"""The part of a plan file that is the work of operators: graph, profiles, strategy by operator, memory."""

from dataclasses import asdict
from typing import Any

from topoopt.errors import InvalidInput
from topoopt.hardware import ClusterSpec, find_accelerator
from topoopt.job import Job, JobSettings, OperatorsWork, operators_of, operators_work
from topoopt.plan import model
from topoopt.plan.plan import Plan
from topoopt.plan.profile_parts import profiles_of, profiles_to_mapping
from topoopt.strategy import ParallelStrategy, memory_use
from topoopt.workload import Operator, OperatorGraph, Weight


def operators_to_mapping(plan: Plan) -> dict[str, Any]:
    """Return the keys of a plan of operators."""
    work = operators_of(plan.job)
    return {
        "strategy": _strategy_rows(work, plan.strategy),
        "graph": _graph(work.graph),
        **profiles_to_mapping(work.profiles),
        "memory": _memory(plan.job, plan.strategy),
    }


def operators_from_file(part: model.PlanFile, cluster: ClusterSpec, settings: JobSettings) -> OperatorsWork:
    """Return the work that a plan file describes.

    Raises
    ------
    InvalidInput
        If there are no operators.
    """
    if not part.graph.operators:
        raise InvalidInput("graph: no operators, and no fixed_traffic either: there is nothing to do")
    operators = tuple(_operator(op) for op in part.graph.operators)
    graph = OperatorGraph(part.graph.name, operators, part.graph.batch_per_accelerator)
    return operators_work(graph, cluster, settings, profiles_of(part))


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


def _graph(graph: OperatorGraph) -> dict[str, Any]:
    operators = [
        {**asdict(op), "inputs": list(op.inputs), "splits": sorted(op.splits)} for op in graph.operators
    ]
    return {"name": graph.name, "batch_per_accelerator": graph.batch_per_accelerator, "operators": operators}


def _operator(part: model.OperatorPart) -> Operator:
    if part.forward_time_s is not None and not part.timed_samples:
        raise InvalidInput(f"graph: operator {part.name}: forward_time_s needs timed_samples >= 1")
    fields = part.model_dump(exclude={"inputs", "weights", "splits"})
    weights = tuple(Weight(weight.name, weight.size_bytes) for weight in part.weights)
    return Operator(inputs=tuple(part.inputs), weights=weights, splits=frozenset(part.splits), **fields)
