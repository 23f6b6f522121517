"""The parts of a plan file by kind of work: how each is written and read."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from topoopt.jobs import Work
from topoopt.plans import model
from topoopt.plans.operators_part import operators_from_file, operators_to_mapping
from topoopt.plans.plan import Plan
from topoopt.plans.traffic_part import traffic_from_file, traffic_to_mapping
from topoopt.plans.transformer_part import transformer_from_file, transformer_to_mapping

EMPTY: Mapping[str, Any] = {
    "strategy": [],
    "profiles": [],
    "device_profiles": [],
    "fixed_traffic": [],
    "fixed_allreduce": [],
    "fixed_compute_s": 0.0,
    "fixed_hidden_share": 0.0,
    "training": None,
}
"""Keys of a plan file that are of one kind of work, where it is another."""


@dataclass(frozen=True, slots=True)
class WorkPart:
    """How the work of a plan becomes keys of its file, and is made of them again."""

    to_mapping: Callable[[Plan], Mapping[str, Any]]
    from_file: Callable[[model.PlanFile], Work]


WORK_PARTS: Mapping[str, WorkPart] = {
    "operators": WorkPart(operators_to_mapping, operators_from_file),
    "traffic": WorkPart(traffic_to_mapping, traffic_from_file),
    "transformer": WorkPart(transformer_to_mapping, transformer_from_file),
}


def work_to_mapping(plan: Plan) -> dict[str, Any]:
    """Return the keys of a plan file that say what the work is, and what its memory."""
    return {**EMPTY, **WORK_PARTS[plan.job.work.kind].to_mapping(plan)}


def work_from_file(file: model.PlanFile) -> Work:
    """Return the work that a plan file describes."""
    kind = "traffic" if file.fixed_traffic or file.fixed_allreduce else "operators"
    kind = kind if file.training is None else "transformer"
    return WORK_PARTS[kind].from_file(file)
