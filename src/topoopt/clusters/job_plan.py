"""The noun JobPlan: a job of some shape, ready to be placed."""

from dataclasses import dataclass

from topoopt.clusters.pace import IterationTimes
from topoopt.inference import Service
from topoopt.simulation import TaskGraph
from topoopt.topologies import Topology


@dataclass(frozen=True, eq=False)
class JobPlan:
    """A job of some shape, ready to be placed.

    Attributes
    ----------
    graph : TaskGraph
        One iteration, on the job's own servers; of a served model a cycle.
    alone : IterationTimes
        With the fabric to itself.
    topology : Topology
        Links between its own servers; on a fabric that jobs share, those of that fabric for a job of this size.
    service : Service or None
        Of a served model: what says how long answers take.
    """

    graph: TaskGraph
    alone: IterationTimes
    topology: Topology
    service: Service | None = None
