"""Iteration times of jobs that run side by side, the interface between a fabric and the simulation of a cluster."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from topoopt.inference import Service
from topoopt.simulation import TaskGraph
from topoopt.topologies import Topology


@dataclass(frozen=True, eq=False)
class PlacedJob:
    """A running job: one iteration of it, and where it runs.

    Attributes
    ----------
    job : str
        Id in the trace.
    graph : TaskGraph
        One iteration on the job's own servers 0..k-1.
    servers : tuple of int
        Servers of the cluster, in the order of the job's own.
    spread : bool
        Whether its traffic uses all weighted paths of the fabric, rather than one per connection: a served model
        opens connections per request and accelerator.
    """

    job: str
    graph: TaskGraph
    servers: tuple[int, ...]
    spread: bool = False


@dataclass(frozen=True, slots=True)
class SendTimes:
    """Transfer times of a job's sends, from first to last byte.

    Attributes
    ----------
    mean_s : float
        Mean over all its sends; 0 without any.
    samples_s : tuple of float
        Transfer times of the first sends.
    """

    mean_s: float = 0.0
    samples_s: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class ServedSends:
    """Transfer times by kind of send.

    Attributes
    ----------
    requests : SendTimes
        For a served model, keys and values of single requests.
    steady : SendTimes
        All else.
    """

    requests: SendTimes = SendTimes()
    steady: SendTimes = SendTimes()


@dataclass(frozen=True, slots=True)
class IterationTimes:
    """Iteration times of one job while the set of running jobs stays as it is.

    Attributes
    ----------
    mean_s : float
        Mean over many iterations, which determines the end of the job.
    samples_s : tuple of float
        Simulated single iterations, at least one, over which percentiles are computed.
    sends : ServedSends
        Watched sends: on shared links, and of served models.
    alone_s : float
        Mean on the same servers of the same fabric without other jobs; 0 where no other job can interfere.
    sends_alone : ServedSends
        Likewise; empty where no other job can interfere.
    """

    mean_s: float
    samples_s: tuple[float, ...]
    sends: ServedSends = ServedSends()
    alone_s: float = 0.0
    sends_alone: ServedSends = ServedSends()


class Pace(Protocol):
    """Prediction of iteration times on one fabric while a set of jobs runs."""

    def __call__(self, running: Sequence[PlacedJob]) -> tuple[IterationTimes, ...]:
        """Return the iteration times of each running job, in order."""
        ...


@dataclass(frozen=True, eq=False)
class JobPlan:
    """A job of some shape, ready to be placed.

    Attributes
    ----------
    graph : TaskGraph
        One iteration, on the job's own servers; of a served model a cycle.
    alone : IterationTimes
        Iteration times with the fabric to itself.
    topology : Topology
        Links between its own servers; on a fabric that jobs share, those of that fabric for a job of this size.
    service : Service or None
        For a served model, the service from which its latencies follow.
    interval_share : float or None
        See :class:`topoopt.jobs.TransformerWork`.
    """

    graph: TaskGraph
    alone: IterationTimes
    topology: Topology
    service: Service | None = None
    interval_share: float | None = None
