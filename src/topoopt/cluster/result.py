"""What became of the jobs of a trace on each fabric."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from topoopt.door import shows_itself
from topoopt.frame import frame
from topoopt.provenance import Provenance

if TYPE_CHECKING:
    from pandas import DataFrame

FORMAT, VERSION = "topoopt-cluster", 1


@dataclass(frozen=True, slots=True)
class Distribution:
    """Mean, median, tail and largest of one quantity, in its own unit."""

    mean: float
    p50: float
    p99: float
    max: float


@dataclass(frozen=True, slots=True)
class JobRecord:
    """One job on one fabric.

    Attributes
    ----------
    job : str
        Its id in the trace.
    model : str
        A model or variant of the zoo.
    servers : tuple of int
        Servers that it started on, in the order of the job's own.
    arrival_s, start_s, end_s : float
        Start is the first iteration's, after waiting and wiring.
    queueing_s : float
        Wait for servers.
    rewiring_s : float
        Wait for the wiring on servers that it had, resizes included.
    iterations : float
        Done on the servers that the trace asks for; an iteration of an elastic job on half of them counts half.
    iteration_time_mean_s, iteration_time_p99_s : float
        Over its iterations.
    moves : int
        Fibers plugged in for it.
    resizes : tuple of (float, int)
        When an elastic job went on with another number of servers, and how many.
    """

    job: str
    model: str
    servers: tuple[int, ...]
    arrival_s: float
    start_s: float
    end_s: float
    queueing_s: float
    rewiring_s: float
    iterations: float
    iteration_time_mean_s: float
    iteration_time_p99_s: float
    moves: int = 0
    resizes: tuple[tuple[float, int], ...] = ()

    @property
    def completion_time_s(self) -> float:
        """From arrival to end."""
        return self.end_s - self.arrival_s


@dataclass(frozen=True, slots=True)
class FabricRun:
    """A trace on one fabric.

    Attributes
    ----------
    fabric, description : str
        Name in the table, and where its bandwidth comes from.
    server_bandwidth_bps : float
        All links of a server together, each way.
    iteration_time_s, completion_time_s, queueing_s, rewiring_s : Distribution
        Iteration times as the result's ``weighting`` says; the others over jobs.
    utilization : float
        Server-seconds in which a job iterates, over all server-seconds until the last job ends.
    moves : int
        Fibers plugged in.
    jobs : tuple of JobRecord
        In order of arrival.
    running : tuple of (float, int, float)
        At each change: the time, how many jobs iterate, on how many servers. With logical servers, a part of a
        server counts as that part.
    """

    fabric: str
    description: str
    server_bandwidth_bps: float
    iteration_time_s: Distribution
    completion_time_s: Distribution
    queueing_s: Distribution
    rewiring_s: Distribution
    utilization: float
    moves: int
    jobs: tuple[JobRecord, ...]
    running: tuple[tuple[float, int, float], ...]


@shows_itself
@dataclass(frozen=True, slots=True, repr=False)
class ClusterResult:
    """A trace on a cluster, on one or more fabrics.

    Attributes
    ----------
    trace : str
        Name of the file, or how it was generated.
    servers, degree, bandwidth_bps : int, int, float
        Of the cluster: servers, interfaces of one, bandwidth of an interface.
    settings : mapping
        How the cluster is run: queue, placement, switching, weighting, search.
    skipped : tuple of (str, str)
        Fabrics that could not be built, with the reason.
    """

    trace: str
    seed: int
    servers: int
    degree: int
    bandwidth_bps: float
    provenance: Provenance
    fabrics: tuple[FabricRun, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)
    skipped: tuple[tuple[str, str], ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the document of ``topoopt cluster run`` in JSON, with every job."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "trace": self.trace,
            "seed": self.seed,
            "servers": self.servers,
            "degree": self.degree,
            "bandwidth_bps": self.bandwidth_bps,
            "provenance": {
                "version": self.provenance.version,
                "seed": self.provenance.seed,
                "inputs": dict(self.provenance.inputs),
            },
            "settings": dict(self.settings),
            "skipped_fabrics": [list(row) for row in self.skipped],
            "fabrics": [_fabric_row(run) for run in self.fabrics],
        }

    def to_frame(self) -> "DataFrame":
        """Return a row for each job on each fabric; needs pandas."""
        return frame({"fabric": run.fabric, **asdict(job)} for run in self.fabrics for job in run.jobs)


def _fabric_row(run: FabricRun) -> dict[str, Any]:
    return {
        "fabric": run.fabric,
        "description": run.description,
        "server_bandwidth_bps": run.server_bandwidth_bps,
        "iteration_time_s": asdict(run.iteration_time_s),
        "completion_time_s": asdict(run.completion_time_s),
        "queueing_s": asdict(run.queueing_s),
        "rewiring_s": asdict(run.rewiring_s),
        "utilization": run.utilization,
        "moves": run.moves,
        "jobs": [_job_row(job) for job in run.jobs],
        "running": [list(row) for row in run.running],
    }


def _job_row(job: JobRecord) -> dict[str, Any]:
    return {
        "id": job.job,
        "model": job.model,
        "servers": list(job.servers),
        "arrival_s": job.arrival_s,
        "start_s": job.start_s,
        "end_s": job.end_s,
        "queueing_s": job.queueing_s,
        "rewiring_s": job.rewiring_s,
        "completion_time_s": job.completion_time_s,
        "iterations": job.iterations,
        "iteration_time_s": {"mean": job.iteration_time_mean_s, "p99": job.iteration_time_p99_s},
        "moves": job.moves,
        "resizes": [list(row) for row in job.resizes],
    }
