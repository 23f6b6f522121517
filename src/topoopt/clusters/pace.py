"""How fast jobs run beside each other: the one question that the course of a cluster asks of a fabric."""

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
        Its id in the trace.
    graph : TaskGraph
        One iteration on the job's own servers 0..k-1.
    servers : tuple of int
        Servers of the cluster, in the order of the job's own.
    spread : bool
        Whether what it sends goes over all weighted paths of the fabric, and not over one a connection: a served model
        opens connections request by request and accelerator by accelerator.
    """

    job: str
    graph: TaskGraph
    servers: tuple[int, ...]
    spread: bool = False


@dataclass(frozen=True, slots=True)
class SendTimes:
    """How long what a job sends is under way, from first to last byte.

    Attributes
    ----------
    mean_s : float
        Over all that it sent; 0 where it sent nothing.
    samples_s : tuple of float
        Of the first of them.
    """

    mean_s: float = 0.0
    samples_s: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class ServedSends:
    """What a job sends by kind.

    Attributes
    ----------
    requests : SendTimes
        Of a served model: keys and values of single requests.
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
        Mean over many iterations: what decides when the job ends.
    samples_s : tuple of float
        Single iterations that were simulated, at least one; percentiles are taken over them.
    sends : ServedSends
        Where they are watched: on shared links, and of served models.
    alone_s : float
        Mean on the same servers of the same fabric with nobody else; 0 where nobody else can disturb it.
    sends_alone : ServedSends
        Likewise; nothing where nobody else can disturb it.
    """

    mean_s: float
    samples_s: tuple[float, ...]
    sends: ServedSends = ServedSends()
    alone_s: float = 0.0
    sends_alone: ServedSends = ServedSends()


class Pace(Protocol):
    """Says how long iterations take on one fabric while a set of jobs runs."""

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
        With the fabric to itself.
    topology : Topology
        Links between its own servers; on a fabric that jobs share, those of that fabric for a job of this size.
    service : Service or None
        Of a served model: what says how long answers take.
    interval_share : float or None
        See :class:`topoopt.jobs.TransformerWork`.
    """

    graph: TaskGraph
    alone: IterationTimes
    topology: Topology
    service: Service | None = None
    interval_share: float | None = None
