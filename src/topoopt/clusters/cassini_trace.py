"""Traces of CASSINI's evaluation: published models and batches, drawn as a Poisson process, dynamic, or a snapshot."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial

import numpy as np
from pydantic import TypeAdapter

from topoopt.base.errors import InvalidInput, check_known, check_least
from topoopt.clusters.cluster_state import reference_time_s
from topoopt.clusters.job_shape import shape_of
from topoopt.clusters.settings import ClusterSettings
from topoopt.clusters.trace import Trace, TraceJob
from topoopt.schema.files import packaged_rows

WORKERS = (2, 12)
"""Fewest and most servers of a job: the paper has 1 to 12, but a single one sends nothing."""
ITERATIONS = (200, 1000)
SNAPSHOT_WORKERS = 3
"""Workers per job in the snapshots: VGG16's published 114 ms at 45 Gb/s is between the rings of 2 and 3."""
SNAPSHOT_ITERATIONS = 500.0
BUSY_SERVERS = 2 / 3
"""Share of the cluster's servers that have jobs when those of the dynamic trace arrive; our choice."""
CHANGE_S = 60.0
"""Arrival of these jobs; our choice."""

BATCHES = 4
"""Different batches of a model, evenly over the published range: so jobs are often alike, and planned once."""
PILOT = 500
"""Jobs drawn to estimate the mean work of a job."""

Dedicated = Callable[[TraceJob], float]
"""The iteration time of a job with links of its own, in seconds."""


@dataclass(frozen=True, slots=True)
class EvaluatedModel:
    """A model used in the paper's evaluation.

    Attributes
    ----------
    model, title : str
        Name in the zoo, and in the paper.
    batch_low, batch_high : int
        Samples of an accelerator.
    parallel : str
        ``data`` or ``model``.
    published_mb : str
        Size in the paper's MB.
    training : str
        Training options of a transformer, as in :class:`TraceJob`.
    """

    model: str
    title: str
    batch_low: int
    batch_high: int
    parallel: str
    published_mb: str
    training: str = ""


@dataclass(frozen=True, slots=True)
class CassiniTraceSettings:
    """Settings of a generated trace.

    Attributes
    ----------
    kind : str
        Name in :data:`CASSINI_TRACES`.
    load : float
        For ``poisson``: servers requested over servers of the cluster, averaged over time; the paper has 0.8 to 1.
    horizon_s : float
        For ``poisson``: time until which jobs arrive.

    Raises
    ------
    InvalidInput
        If a value is out of range.
    """

    kind: str
    load: float = 0.9
    horizon_s: float = 86400.0
    seed: int = 0

    def __post_init__(self) -> None:
        check_known("trace_preset", self.kind, CASSINI_TRACES)
        for name in ("load", "horizon_s"):
            if not 0 < getattr(self, name) < float("inf"):
                raise InvalidInput(f"{name}: expected a number > 0, got {getattr(self, name):g}")
        check_least(self, seed=0)


@cache
def evaluated_models() -> tuple[EvaluatedModel, ...]:
    """Return the models of the evaluation that have a row of ``data/cassini_models.csv``."""
    rows = packaged_rows("clusters", "cassini_models")
    return TypeAdapter(tuple[EvaluatedModel, ...]).validate_python(rows)


@cache
def cassini_snapshots() -> Mapping[int, tuple[TraceJob, ...]]:
    """Return the jobs of each published snapshot, which all come at once."""
    rows = packaged_rows("clusters", "cassini_snapshots")
    snapshots: dict[int, list[TraceJob]] = {}
    for row in rows:
        jobs = snapshots.setdefault(int(row["snapshot"]), [])
        name = f"{row['model'].removesuffix('-cassini').removeprefix('encoder-')}-{len(jobs) + 1}"
        jobs.append(
            TraceJob(
                name,
                row["model"],
                SNAPSHOT_WORKERS,
                0.0,
                SNAPSHOT_ITERATIONS,
                batch_per_accelerator=int(row["batch"]),
            )
        )
    return {number: tuple(jobs) for number, jobs in snapshots.items()}


def cassini_trace(settings: CassiniTraceSettings, servers: int, dedicated: Dedicated) -> Trace:
    """Return a trace of the paper's evaluation for a cluster of the given size.

    Models are drawn evenly, and batches, workers and iterations evenly from the published ranges. ``poisson`` has jobs
    independent of each other, at a rate that gives the load; ``dynamic`` has jobs that run, and then others that
    come at once; ``snapshot-N`` has the jobs of a published snapshot.

    Parameters
    ----------
    dedicated
        Asked for each job drawn, since the load counts how long it is.

    Raises
    ------
    InvalidInput
        If no job comes within the horizon.

    References
    ----------
    .. [1] S. Rajasekaran et al., "CASSINI", NSDI 2024, section 5.1.

    Examples
    --------
    >>> trace = cassini_trace(CassiniTraceSettings("poisson", load=0.8, horizon_s=7200.0), 24, lambda job: 0.25)
    >>> all(2 <= job.servers <= 12 and 200 <= job.iterations <= 1000 for job in trace.jobs)
    True
    """
    jobs = CASSINI_TRACES[settings.kind](settings, servers, dedicated, np.random.default_rng(settings.seed))
    return Trace(f"cassini {settings.kind}, seed {settings.seed}", jobs)


def cassini_trace_for(settings: CassiniTraceSettings, cluster: ClusterSettings) -> Trace:
    """Return a trace whose load counts jobs as long as they take with an ideal switch to themselves, data parallel."""
    planning = cluster.planning
    return cassini_trace(
        settings, cluster.logical.servers, lambda job: reference_time_s(shape_of(job, job.servers), planning)
    )


def _poisson(
    settings: CassiniTraceSettings, servers: int, dedicated: Dedicated, rng: np.random.Generator
) -> tuple[TraceJob, ...]:
    jobs: list[TraceJob] = []
    at_s = 0.0
    typical = [_drawn(rng, servers, "a", 0.0) for _ in range(PILOT)]
    server_s = float(np.mean([job.servers * job.iterations * dedicated(job) for job in typical]))
    between_s = server_s / (settings.load * servers)
    while (at_s := at_s + rng.exponential(between_s)) < settings.horizon_s:
        jobs.append(_drawn(rng, servers, f"job-{len(jobs) + 1:05d}", at_s))
    if not jobs:
        raise InvalidInput(
            f"load: no job comes within the horizon of {settings.horizon_s:g} s; "
            "take a longer horizon, a higher load, or another seed"
        )
    return tuple(jobs)


def _dynamic(
    settings: CassiniTraceSettings, servers: int, dedicated: Dedicated, rng: np.random.Generator
) -> tuple[TraceJob, ...]:
    """Return jobs that have most of the cluster, and then jobs for all remaining servers, at once."""
    jobs: list[TraceJob] = []
    free, largest = servers, max(WORKERS[0], servers // 4)
    for kept, at_s in ((round(servers * (1 - BUSY_SERVERS)), 0.0), (0, CHANGE_S)):
        while free - kept >= WORKERS[0]:
            drawn = _drawn(rng, min(free - kept, largest), f"job-{len(jobs) + 1:02d}", at_s)
            jobs.append(replace(drawn, iterations=float(ITERATIONS[1])))
            free -= drawn.servers
    return tuple(jobs)


def _snapshot(number: int, *_: object) -> tuple[TraceJob, ...]:
    return cassini_snapshots()[number]


Draw = Callable[[CassiniTraceSettings, int, Dedicated, np.random.Generator], tuple[TraceJob, ...]]

CASSINI_TRACES: Mapping[str, Draw] = {
    "poisson": _poisson,
    "dynamic": _dynamic,
    **{f"snapshot-{number}": partial(_snapshot, number) for number in cassini_snapshots()},
}
"""The kinds of trace, by name."""


def _drawn(rng: np.random.Generator, servers: int, job: str, at_s: float) -> TraceJob:
    """Return a job with at most this many workers; a scheduler may give it fewer or more."""
    models = evaluated_models()
    model = models[int(rng.integers(len(models)))]
    batches = np.linspace(model.batch_low, model.batch_high, BATCHES).round()
    batch = int(batches[rng.integers(BATCHES)])
    most = min(WORKERS[1], servers)
    workers = int(rng.integers(WORKERS[0], most + 1))
    iterations = float(rng.integers(ITERATIONS[0], ITERATIONS[1] + 1))
    elastic = WORKERS[0], most
    return TraceJob(job, model.model, workers, at_s, iterations, 0.0, *elastic, batch, model.training)
