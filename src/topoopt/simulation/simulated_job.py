"""What is simulated: a plan, a FlexNet task graph or Chakra's traces, each a job with tasks and perhaps a network."""

from dataclasses import dataclass
from pathlib import Path

from topoopt.base.errors import check_known
from topoopt.collectives import COLLECTIVE_NAMES
from topoopt.plans import Plan
from topoopt.simulation.chakra import COLLECTIVE_WAY, chakra_task_graph, read_chakra
from topoopt.simulation.fbuf import FlexNetGraph, flexnet_task_graph, read_fbuf
from topoopt.simulation.task_graph import TaskGraph

PACKED = (".fbuf", ".fbuf.xz")


@dataclass(frozen=True, slots=True, eq=False)
class SimulatedJob:
    """A job and where it comes from; ``plan`` or ``flexnet`` is there, or neither: traces have no network.

    Attributes
    ----------
    path, name : str
        The file, or ``plan`` where there is none, and what the job is called in tables.
    graph : TaskGraph
        Of one iteration, or of several that overlap.
    collective : str
        How its collectives run where nothing else is asked for, a word of ``topoopt simulate --collective``.
    """

    path: str
    name: str
    graph: TaskGraph
    plan: Plan | None = None
    flexnet: FlexNetGraph | None = None
    collective: str = "stepped"


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


def job_of_chakra(path: str) -> SimulatedJob:
    """Return the job of Chakra's traces: a folder of them, one of the files, or the prefix of their names.

    Raises
    ------
    InvalidInput
        If a rank is missing, a file is damaged, or nodes do not fit together.
    """
    traces = read_chakra(path)
    collective = str(traces.ranks[0].attributes.get(COLLECTIVE_WAY, "stepped"))
    check_known(f"{traces.ranks[0].place}: {COLLECTIVE_WAY}", collective, COLLECTIVE_NAMES)
    name = Path(traces.ranks[0].place).name.removesuffix(".et").removesuffix(".0")
    return SimulatedJob(path, name, chakra_task_graph(traces), collective=collective)
