"""What is simulated: a plan or a FlexNet task graph, each a job with tasks and a network."""

from dataclasses import dataclass
from pathlib import Path

from topoopt.plan import Plan
from topoopt.simulate.fbuf import FlexNetGraph, flexnet_task_graph, read_fbuf
from topoopt.simulate.task_graph import TaskGraph

PACKED = (".fbuf", ".fbuf.xz")


@dataclass(frozen=True, slots=True, eq=False)
class SimulatedJob:
    """A job and where it comes from; either ``plan`` or ``flexnet`` is there.

    Attributes
    ----------
    path, name : str
        The file, or ``plan`` where there is none, and what the job is called in tables.
    graph : TaskGraph
        Of one iteration, or of several that overlap.
    """

    path: str
    name: str
    graph: TaskGraph
    plan: Plan | None = None
    flexnet: FlexNetGraph | None = None


def is_fbuf(path: str) -> bool:
    """Return whether a file is a FlexNet task graph, by its name."""
    return path.lower().endswith(PACKED)


def job_of_fbuf(path: str) -> SimulatedJob:
    """Return the job of a FlexNet task graph.

    Raises
    ------
    InvalidInput
        If it is no whole task graph.
    """
    flexnet = read_fbuf(path)
    return SimulatedJob(path, Path(path).name.split(".fbuf")[0], flexnet_task_graph(flexnet), flexnet=flexnet)
