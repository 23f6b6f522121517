"""What ``topoopt simulate`` is given: a plan or a FlexNet task graph, each a job with tasks and a network."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from topoopt.errors import InvalidInput

if TYPE_CHECKING:
    from topoopt.plan import Plan
    from topoopt.simulate import FlexNetGraph, TaskGraph

PACKED = (".fbuf", ".fbuf.xz")


@dataclass(frozen=True, eq=False)
class Source:
    """A job as it was read; either ``plan`` or ``flexnet`` is there.

    Attributes
    ----------
    path, name : str
        The file, and what the job is called in tables.
    graph : TaskGraph
        Of one iteration, or of several that overlap.
    """

    path: str
    name: str
    graph: "TaskGraph"
    plan: "Plan | None" = None
    flexnet: "FlexNetGraph | None" = None


def is_fbuf(path: str) -> bool:
    """Return whether a file is a FlexNet task graph, by its name."""
    return path.lower().endswith(PACKED)


def read_source(path: str, iterations: int = 1) -> Source:
    """Return the job of a file.

    Raises
    ------
    InvalidInput
        If it is neither a whole plan nor a whole task graph, or a task graph should run several times.
    """
    from topoopt.plan import read_plan
    from topoopt.search import task_graph_of
    from topoopt.simulate import flexnet_task_graph, read_fbuf

    if not path:
        raise InvalidInput("PLAN|GRAPH: expected a file name, got nothing")
    if not is_fbuf(path):
        if not os.path.exists(path):
            raise InvalidInput(
                f"{path}: no such file; expected a plan of topoopt plan --out, or a .fbuf task graph"
            )
        plan = read_plan(path)
        graph = task_graph_of(plan.job, plan.strategy, iterations)
        return Source(path, plan.job.name, graph, plan=plan)
    if iterations > 1:
        raise InvalidInput(f"--steady-state: {path} holds one iteration; it is for plans")
    flexnet = read_fbuf(path)
    return Source(path, Path(path).name.split(".fbuf")[0], flexnet_task_graph(flexnet), flexnet=flexnet)
