"""Results of the jobs of a trace on each fabric."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from topoopt.base.answers import Frame, Provenance, frame, shows_itself
from topoopt.base.errors import InvalidInput
from topoopt.catalog import NetworkRow
from topoopt.schema.files import Amount, EveryKey, Strict, noun_from, validated, write_atomically

FORMAT, VERSION = "topoopt-cluster", 1


@dataclass(frozen=True, slots=True)
class Distribution:
    """Mean, median, tail and largest of one quantity, in its own unit."""

    mean: Amount
    p50: Amount
    p99: Amount
    max: Amount


@dataclass(frozen=True, slots=True)
class IterationTime:
    """Mean and tail over the iterations of one job, in seconds."""

    mean: Amount
    p99: Amount


KEPT_UP = 1.05
"""The last sends of a cycle may end a little after it."""


@dataclass(frozen=True, slots=True)
class AnswerTime:
    """Mean and percentiles over requests, in seconds."""

    mean: Amount
    p50: Amount
    p90: Amount
    p99: Amount


@dataclass(frozen=True, slots=True)
class ServedAnswers:
    """Latencies of a served model.

    Attributes
    ----------
    ttft_s, tpot_s : AnswerTime
        Time to first token and time per further token, beside the jobs that ran at the same time; the second is
        None for answers of one token.
    ttft_alone_s, tpot_alone_s : AnswerTime
        The same with the servers to itself.
    in_time, in_time_alone : float or None
        Share of the requests that meet both objectives; None without objectives.
    overloaded : bool
        Whether more requests come than its accelerators answer, so that they wait the longer the later they come.
    """

    ttft_s: AnswerTime
    ttft_alone_s: AnswerTime
    tpot_s: AnswerTime | None = None
    tpot_alone_s: AnswerTime | None = None
    in_time: Amount | None = None
    in_time_alone: Amount | None = None
    overloaded: bool = False


@dataclass(frozen=True, slots=True)
class ServedRecord:
    """Transfer times of a served model's sends, from first to last byte, in seconds.

    Attributes
    ----------
    send_time_s : IterationTime
        Beside the jobs that ran at the same time.
    send_time_alone_s : IterationTime
        Transfer time with a fabric of the job's own size to itself.
    load : float
        Load of the fullest links over their capacity; 1 if they kept up.
    answers : ServedAnswers or None
        Latencies; None where a scheduler allocates single workers.
    """

    send_time_s: IterationTime
    send_time_alone_s: IterationTime
    load: Amount = 1.0
    answers: ServedAnswers | None = None

    @property
    def kept_up(self) -> bool:
        """Whether the links carried all that it sent in the time in which it came."""
        return self.load <= KEPT_UP

    @property
    def slowdown(self) -> float:
        """Mean time of a send over that alone; 1 where nothing leaves a server."""
        alone_s = self.send_time_alone_s.mean
        return self.send_time_s.mean / alone_s if alone_s else 1.0


@dataclass(frozen=True, slots=True)
class JobRecord:
    """One job on one fabric.

    Attributes
    ----------
    job : str
        Id in the trace.
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
    completion_time_s : float
        Time from arrival to end.
    iterations : float
        Done on the servers that the trace requests; an iteration of an elastic job on half of them counts half.
    moves : int
        Fibers plugged in for it.
    resizes : tuple of (float, int)
        Resizes of an elastic job: time and new number of servers.
    served : ServedRecord or None
        Record of a served model. Its iterations are cycles of its load, whose length does not depend on the fabric.
    undisturbed_iteration_time_s : float or None
        Mean iteration time of a training job on the same servers without other jobs.
    interval_share : float or None
        Share of its iteration times that 80 % of measured runs are off at most; None without a calibration of it.
    """

    job: Annotated[str, Field(alias="id")]
    model: str
    servers: tuple[int, ...]
    arrival_s: Amount
    start_s: Amount
    end_s: Amount
    queueing_s: Amount
    rewiring_s: Amount
    completion_time_s: Amount
    iterations: Amount
    iteration_time_s: IterationTime
    moves: int = 0
    resizes: tuple[tuple[Amount, int], ...] = ()
    served: ServedRecord | None = None
    undisturbed_iteration_time_s: Amount | None = None
    interval_share: Amount | None = None

    @property
    def iteration_time_mean_s(self) -> float:
        """Mean over its iterations."""
        return self.iteration_time_s.mean

    @property
    def iteration_time_p99_s(self) -> float:
        """99th percentile over its iterations."""
        return self.iteration_time_s.p99


@dataclass(frozen=True, slots=True)
class ScheduledJob:
    """Additional figures of a job where a scheduler allocates single workers.

    Attributes
    ----------
    dedicated_iteration_time_s : float
        Mean over its iterations, on the workers that it had, if it had had links of its own.
    ecn_marks_per_iteration : float
        Packets, as :class:`topoopt.clusters.interleave.LinkUse` estimates them.
    """

    dedicated_iteration_time_s: Amount
    ecn_marks_per_iteration: Amount


@dataclass(frozen=True, slots=True)
class Schedule:
    """Allocation of single workers by a scheduler.

    Attributes
    ----------
    scheduler : str
        Scheduler and the module combined with it: ``themis+cassini``.
    ecn_marks_per_iteration : float
        ECN marks of all jobs, weighted as iteration times are.
    decisions : int
        Number of allocations.
    compatibility : float or None
        Mean score of links with several jobs, over decisions; with CASSINI.
    jobs : tuple of ScheduledJob
        Jobs in order of arrival.
    """

    scheduler: str
    ecn_marks_per_iteration: Amount
    decisions: int
    compatibility: float | None
    jobs: tuple[ScheduledJob, ...]


@dataclass(frozen=True, slots=True)
class FabricRun(NetworkRow):
    """A trace on one fabric.

    Attributes
    ----------
    iteration_time_s, completion_time_s, queueing_s, rewiring_s : Distribution
        Iteration times by the result's ``weighting``; the others over jobs.
    utilization : float
        Server-seconds in which a job iterates, over all server-seconds until the last job ends.
    moves : int
        Fibers plugged in.
    jobs : tuple of JobRecord
        Jobs in order of arrival.
    running : tuple of (float, int, float)
        Changes: time, number of iterating jobs, and their servers. With logical servers, a part of a server counts
        as that part.
    schedule : Schedule or None
        Allocation of single workers by a scheduler. ``rewiring_s`` is then the time of restarts, and ``moves`` counts
        workers that continue on another server.
    on_front : bool or None
        Whether no other fabric of the result beats it in price and mean iteration time; None where it has no price.
    dominated_by : tuple of str
        Their labels, the fastest first.
    cost_low_usd, cost_high_usd, cheaper_share, faster_share : float or None
        See :class:`topoopt.plans.Standing`.
    """

    iteration_time_s: Distribution
    completion_time_s: Distribution
    queueing_s: Distribution
    rewiring_s: Distribution
    utilization: float
    moves: int
    jobs: tuple[JobRecord, ...]
    running: tuple[tuple[Amount, int, float], ...]
    schedule: Schedule | None = None
    on_front: bool | None = None
    dominated_by: tuple[str, ...] = ()
    cost_low_usd: Amount | None = None
    cost_high_usd: Amount | None = None
    cheaper_share: Amount | None = None
    faster_share: Amount | None = None

    @property
    def trained(self) -> tuple[JobRecord, ...]:
        """The jobs that have iterations."""
        return tuple(job for job in self.jobs if job.served is None)

    @property
    def served(self) -> tuple[JobRecord, ...]:
        """The models that are served."""
        return tuple(job for job in self.jobs if job.served is not None)


@shows_itself
@dataclass(frozen=True, slots=True, repr=False)
class ClusterResult:
    """A trace on a cluster, on one or more fabrics.

    Attributes
    ----------
    trace : str
        Name of the file, or how it was generated.
    servers, degree, bandwidth_bps : int, int, float
        Servers of the cluster, interfaces per server, bandwidth per interface.
    settings : mapping
        Operation: queue, placement, switching, weighting, search.
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
        document = asdict(self)
        document["skipped_fabrics"] = document.pop("skipped")
        for run in document["fabrics"]:
            run["jobs"] = [{"id": row.pop("job"), **row} for row in run["jobs"]]
            if run["schedule"] is None:
                del run["schedule"]
        return {"format": FORMAT, "version": VERSION, **document}

    def to_frame(self) -> Frame:
        """Return a row for each job on each fabric; needs pandas."""
        rows = [{"fabric": run.fabric, **asdict(job)} for run in self.fabrics for job in run.jobs]
        for row in rows:
            times_s = row.pop("iteration_time_s")
            row |= {f"iteration_time_{which}_s": time_s for which, time_s in times_s.items()}
        return frame(rows)


class ClusterModel(Strict):
    """The whole document."""

    format: Literal["topoopt-cluster"]
    version: Literal[1]
    trace: str
    seed: int
    servers: int
    degree: int
    bandwidth_bps: float
    provenance: Annotated[Provenance, EveryKey()]
    settings: dict[str, Any] = Field(default={})
    skipped_fabrics: tuple[tuple[str, str], ...] = ()
    fabrics: tuple[FabricRun, ...]


def write_cluster_result(path: str | Path, result: ClusterResult) -> None:
    """Write a result's file, whole or not at all."""
    write_atomically(path, json.dumps(result.to_json(), indent=1, allow_nan=False) + "\n")


def result_from_mapping(document: Any, place: str = "result") -> ClusterResult:
    """Return the result that a document of ``topoopt cluster run --out`` describes.

    Raises
    ------
    InvalidInput
        In one line, if it is no result of a cluster.
    """
    if isinstance(document, dict) and (document.get("format"), document.get("version")) != (FORMAT, VERSION):
        got = f"{document.get('format', 'no format')} {document.get('version', '')}".strip()
        raise InvalidInput(f"{place}: expected format {FORMAT} version {VERSION}, got {got}")
    file = validated(ClusterModel, document, place)
    return noun_from(ClusterResult, file, skipped=file.skipped_fabrics)
