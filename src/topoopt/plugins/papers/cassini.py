"""CASSINI's evaluation: snapshots and pairs of jobs on a link, and traces on 24 servers."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from topoopt.base.answers import Progress, fields_of
from topoopt.base.arrays import Floats
from topoopt.catalog import ClusterSpec
from topoopt.clusters import (
    CassiniTraceSettings,
    ClusterSettings,
    EvaluatedModel,
    FabricRun,
    Machine,
    ScheduledCluster,
    ScheduleSettings,
    Trace,
    TraceJob,
    cassini_24,
    cassini_snapshots,
    cassini_trace_for,
    evaluated_models,
    run_cluster,
    run_schedules,
    worker_profile,
)
from topoopt.clusters.interleave import (
    CommunicationProfile,
    Interleaving,
    PeriodicJob,
    PeriodicRun,
    fair_sharing,
    fitting_quantum_s,
    interleave,
    mltcp_sharing,
    run_periodic_jobs,
    static_sharing,
)
from topoopt.jobs import DDP_BUCKET_BYTES, JobSettings
from topoopt.pages import Chart, Series
from topoopt.plugins.papers.figure import Comparison, Description, Figure, Row, StudySettings, description
from topoopt.search import SearchOptions
from topoopt.workloads import load_model

LINK_BPS = 50e9
COSTS = JobSettings(compute="roofline", precision="fp32", bucket_bytes=DDP_BUCKET_BYTES, memory_check="off")
"""Single precision and gradients in buckets, as in PyTorch by default."""
ACCELERATOR, LATENCY_S = "a100", 1e-6
MACHINE = Machine(LINK_BPS, LATENCY_S, ACCELERATOR, COSTS, "flow")
ITERATIONS = 100
DRAWS = 20
"""Random draws of the start times of unshifted jobs."""
HEADROOM = 0.02
"""Fraction by which slots are longer than iterations, for jobs that are held to their shifts."""

SHARINGS = {"fair": fair_sharing(), "mltcp": mltcp_sharing(), "static": static_sharing(0.6)}
WORKERS = (2, 3)
"""Workers per job: VGG16's published profile, 114 ms at 45 Gb/s, is between the rings of 2 and of 3."""
TIMES = ("own", "one")
"""Jobs with their own iteration times, or all with the longest."""
SHOWN = 3, "one"
"""Case whose times are compared."""
SCHEDULES: Mapping[str, tuple[str, bool, str]] = {
    "themis": ("themis", False, "fair"),
    "themis+cassini": ("themis", True, "fair"),
    "themis+mltcp": ("themis", False, "mltcp"),
    "pollux": ("pollux", False, "fair"),
    "pollux+cassini": ("pollux", True, "fair"),
    "pollux+mltcp": ("pollux", False, "mltcp"),
    "random": ("random", False, "fair"),
    "ideal": ("ideal", False, "fair"),
}
"""Scheduler, whether with CASSINI, and how links are shared."""
SHARDS = "topoopt"
SHARD_DEGREE = 4
"""Ports of a server in a shard, which together have the bandwidth of its link elsewhere."""


@dataclass(frozen=True, slots=True, eq=False)
class OneLink:
    """Jobs on one link, under each sharing method.

    Attributes
    ----------
    profiles : tuple of CommunicationProfile
    interleaving : Interleaving
        Their score and shifts.
    times_s, communications_s : mapping from way to array, shape (jobs,)
        Mean iteration and communication times. ``fair``, ``mltcp`` and ``static`` (60-40) begin at random;
        ``cassini`` is fair, and shifted.
    ecn_marks : mapping from way to float
        Estimated marks per second.
    """

    profiles: tuple[CommunicationProfile, ...]
    interleaving: Interleaving
    times_s: Mapping[str, Floats]
    communications_s: Mapping[str, Floats]
    ecn_marks: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class TraceGrid:
    """Traces to run.

    Attributes
    ----------
    load : float
    shards : bool
        Whether TopoOpt's shards are planned, too.
    """

    horizon_s: float
    load: float = 0.9
    shards: bool = True


TEXT = description("cassini")
QUICK, FULL = TraceGrid(2 * 3600.0), TraceGrid(24 * 3600.0)


def cassini(settings: StudySettings, on_progress: Progress) -> Figure:
    """Return our scores, shifts and times beside the published ones."""
    return cassini_on(QUICK if settings.quick else FULL, settings, on_progress)


def cassini_on(grid: TraceGrid, settings: StudySettings, on_progress: Progress) -> Figure:
    """Return the figure with traces of any length."""
    on_progress("cassini: snapshots", 0, 3)
    rows = list(snapshot_rows(settings.seed))
    on_progress("cassini: pairs", 1, 3)
    rows += pair_rows(TEXT, settings.seed)
    on_progress("cassini: traces", 2, 3)
    traces = list(trace_rows(grid, settings.seed, on_progress))
    return TEXT.figure(
        [*rows, *traces],
        [*snapshot_comparisons(TEXT, rows), *pair_comparisons(TEXT, rows), *trace_comparisons(TEXT, traces)],
        [*_charts(rows), TEXT.chart("traces", traces)],
        draws=DRAWS,
        iterations=ITERATIONS,
        headroom=HEADROOM,
        shown=SHOWN[0],
        hours=grid.horizon_s / 3600,
        load=grid.load,
        slowdown={row["scheduler"]: row["mean_slowdown"] for row in traces if row["name"] == "poisson"},
        jobs={row["name"]: row["trace_jobs"] for row in traces},
    )


def _charts(rows: Sequence[Row]) -> Iterator[Chart]:
    snapshots, names = TEXT.tables["snapshots"], TEXT.charts["snapshots"]["curves"]["names"]
    numbers = map(str, range(1, 1 + len(snapshots)))
    own = [row for number in numbers for row in _of(rows, "snapshot", number, *SHOWN)]
    words = tuple(f"{row['name']}: {row['job']}" for row in own)
    shown = [
        {"way": way, "job": word, "time_s": row[f"{way}_communication_time_s"]}
        for word, row in zip(words, own, strict=True)
        for way in names
    ]
    theirs = []
    for way, column in (("fair", "themis_ms"), ("cassini", "cassini_ms")):
        times_ms = tuple(time_ms for snapshot in snapshots for time_ms in snapshot[column])
        theirs.append(Series(f"{names[way]} (published)", words, times_ms, published=True))
    yield TEXT.chart("snapshots", shown, *theirs)


def trace_rows(grid: TraceGrid, seed: int, on_progress: Progress) -> Iterator[Row]:
    """Yield a row for each scheduler and trace."""
    for kind in ("poisson", "dynamic"):
        drawn = CassiniTraceSettings(kind, grid.load, grid.horizon_s, seed)
        trace = cassini_trace_for(drawn, _settings(seed, 1))
        for name, (scheduler, cassini, sharing) in SCHEDULES.items():
            schedule = ScheduleSettings(scheduler, cassini, sharing=sharing, seed=seed)
            cluster = ScheduledCluster(cassini_24(), MACHINE, (schedule,))
            (run,) = run_schedules(trace, cluster, on_progress=on_progress).fabrics
            yield _row(kind, name, trace, run)
        if grid.shards:
            settings = _settings(seed, SHARD_DEGREE)
            shards = run_cluster(trace, settings, (SHARDS,), on_progress=on_progress).fabrics[0]
            yield _row(kind, SHARDS, trace, shards)


def _settings(seed: int, degree: int) -> ClusterSettings:
    """Return 24 servers with one accelerator and 50 Gb/s over ``degree`` ports, planned without a search."""
    cluster = ClusterSpec(24, degree, LINK_BPS / degree, accelerators_per_server=1)
    search = SearchOptions(budget=0, baseline_budget=0, chains=1, seed=seed, processes=1)
    return replace(ClusterSettings(cluster), costs=COSTS, search=search)


def _row(kind: str, name: str, trace: Trace, run: FabricRun) -> Row:
    schedule = run.schedule
    if run.schedule is None:
        slowdown = None
    else:
        pairs = zip(run.jobs, run.schedule.jobs, strict=True)
        each = [job.iteration_time_s.mean / known.dedicated_iteration_time_s for job, known in pairs]
        slowdown = sum(each) / len(each)
    return {
        "what": "trace",
        "name": kind,
        "scheduler": name,
        "trace_jobs": len(trace.jobs),
        "mean_iteration_time_s": run.iteration_time_s.mean,
        "p99_iteration_time_s": run.iteration_time_s.p99,
        "mean_slowdown": slowdown,
        "ecn_marks_per_iteration": schedule.ecn_marks_per_iteration if schedule else 0.0,
        "mean_completion_time_s": run.completion_time_s.mean,
        "compatibility": schedule.compatibility if schedule else None,
    }


def trace_comparisons(text: Description, rows: Sequence[Row]) -> Iterator[Comparison]:
    """Yield the improvement of each scheduler with CASSINI, and with MLTCP."""
    found = {(row["name"], row["scheduler"]): row for row in rows if row["what"] == "trace"}
    for kind in ("poisson", "dynamic"):
        for scheduler in ("themis", "pollux"):
            without = found[kind, scheduler]
            for other in ("cassini", "mltcp"):
                ours = found[kind, f"{scheduler}+{other}"]
                words = {"kind": kind, "scheduler": scheduler.title(), "other": text.tables["others"][other]}
                yield text.comparison(
                    "mean", without["mean_iteration_time_s"] / ours["mean_iteration_time_s"], other, **words
                )
                yield text.comparison(
                    "tail", without["p99_iteration_time_s"] / ours["p99_iteration_time_s"], other, **words
                )
                marks = ours["ecn_marks_per_iteration"]
                if marks:
                    yield text.comparison("marks", without["ecn_marks_per_iteration"] / marks, other, **words)


def snapshot_rows(seed: int) -> Iterator[Row]:
    """Yield a row for each job of each snapshot, by workers and iteration times."""
    for number, jobs in cassini_snapshots().items():
        yield from _rows("snapshot", str(number), jobs, WORKERS, seed)


def pair_rows(text: Description, seed: int) -> Iterator[Row]:
    """Yield a row for each job of the tables of jobs that suit each other, or do not."""
    for name in ("unfair", "pairs"):
        for entry in text.tables[name]:
            jobs = [_paired(model, index) for index, model in enumerate(entry["models"], 1)]
            yield from _rows(name, "+".join(title_of(job.model) for job in jobs), jobs, WORKERS[-1:], seed)


def _paired(model: str, number: int) -> TraceJob:
    """Return a job with the zoo's batch, which transformers have none of: these with the least that is published."""
    published = _evaluated(model)
    batch = published.batch_low if published.training else load_model(model).batch_per_accelerator
    name = f"{model}-{number}"
    return TraceJob(
        name, model, WORKERS[-1], 0.0, 1.0, batch_per_accelerator=batch, training=published.training
    )


def _rows(kind: str, name: str, jobs: Sequence[TraceJob], workers: Sequence[int], seed: int) -> Iterator[Row]:
    for count in workers:
        profiles = [profile_of(job, count) for job in jobs]
        for times in TIMES:
            link = on_one_link(profiles if times == "own" else at_one_time(profiles), seed)
            for index, job in enumerate(jobs):
                yield {
                    "what": kind,
                    "name": name,
                    "workers": count,
                    "periods": times,
                    "job": title_of(job.model),
                    "batch_per_accelerator": job.batch_per_accelerator,
                    **_job_columns(link, index),
                }


def _job_columns(link: OneLink, index: int) -> Row:
    profile = link.profiles[index]
    ways = ("fair", "cassini", "mltcp", "static")
    return {
        "dedicated_time_s": profile.iteration_time_s,
        "duty": profile.duty,
        **fields_of(link.interleaving, "score", "unrotated_score"),
        "time_shift_s": link.interleaving.time_shifts_s[index],
        **{f"{way}_iteration_time_s": float(link.times_s[way][index]) for way in ways},
        **{f"{way}_communication_time_s": float(link.communications_s[way][index]) for way in ways},
        **{f"{way}_ecn_marks_per_s": link.ecn_marks[way] for way in ways},
    }


def title_of(model: str) -> str:
    """Return a model as the paper writes it."""
    return _evaluated(model).title


def _evaluated(model: str) -> EvaluatedModel:
    return next(row for row in evaluated_models() if row.model == model)


def snapshot_comparisons(text: Description, rows: Sequence[Row]) -> Iterator[Comparison]:
    """Yield scores, shifts and communication times beside the published table."""
    for number, published in enumerate(text.tables["snapshots"], 1):
        for workers in WORKERS:
            for times in TIMES:
                own = _of(rows, "snapshot", str(number), workers, times)
                yield text.comparison(
                    "score",
                    own[0]["score"],
                    times,
                    published=published["score"],
                    number=number,
                    workers=workers,
                    times=text.tables["times"][times],
                )
        own = _of(rows, "snapshot", str(number), *SHOWN)
        for index, row in enumerate(own):
            for way, column in (("fair", "themis_ms"), ("cassini", "cassini_ms")):
                yield text.comparison(
                    "communication",
                    row[f"{way}_communication_time_s"] * 1e3,
                    way,
                    published=published[column][index],
                    number=number,
                    job=f"{row['job']} ({index + 1})",
                    way=text.tables["ways"][way],
                )
            if index:
                yield text.comparison(
                    "shift",
                    row["time_shift_s"] * 1e3,
                    published=published["shifts_ms"][index],
                    number=number,
                    job=f"{row['job']} ({index + 1})",
                )


def pair_comparisons(text: Description, rows: Sequence[Row]) -> Iterator[Comparison]:
    """Yield the effects of unfairness beside the published speed-ups, and scores beside the published compatibility."""
    for entry in text.tables["unfair"]:
        for times in TIMES:
            own = [row for row in rows if row["what"] == "unfair" and _is(row, entry, times)]
            for index, row in enumerate(own):
                yield text.comparison(
                    "unfair",
                    row["fair_iteration_time_s"] / row["static_iteration_time_s"],
                    published=entry["speed_ups"][index],
                    jobs=row["name"],
                    job=f"{row['job']} ({index + 1})",
                    times=text.tables["times"][times],
                )
    for entry in text.tables["pairs"]:
        for times in TIMES:
            row = next(row for row in rows if row["what"] == "pairs" and _is(row, entry, times))
            suits = "compatible" if entry["suits"] else "incompatible"
            yield text.comparison(
                "pair", row["score"], suits, jobs=row["name"], suits=suits, times=text.tables["times"][times]
            )


def _is(row: Row, entry: Mapping[str, Any], times: str) -> bool:
    together = "+".join(map(title_of, entry["models"]))
    return bool((row["name"], row["periods"]) == (together, times))


def _of(rows: Sequence[Row], what: str, name: str, workers: int, times: str) -> list[Row]:
    wanted = (what, name, workers, times)
    return [row for row in rows if (row["what"], row["name"], row["workers"], row["periods"]) == wanted]


def profile_of(job: TraceJob, workers: int) -> CommunicationProfile:
    """Return the profile of a job's busiest worker on dedicated links: the job on an ideal switch, in flows."""
    return worker_profile(job, workers, MACHINE)


def at_one_time(profiles: Sequence[CommunicationProfile]) -> list[CommunicationProfile]:
    """Return the jobs with the longest iteration time of them: the others compute for longer, and send the same."""
    longest_s = max(profile.iteration_time_s for profile in profiles)
    return [CommunicationProfile(profile.job, longest_s, profile.phases) for profile in profiles]


def on_one_link(profiles: Sequence[CommunicationProfile], seed: int = 0) -> OneLink:
    """Run jobs on one link under each policy."""
    found = interleave(profiles, LINK_BPS, quantum_s=fitting_quantum_s(profiles), seed=seed)
    rng = np.random.default_rng(seed)
    begins = [[rng.uniform(0, profile.iteration_time_s) for profile in profiles] for _ in range(DRAWS)]
    runs = {way: [_run(profiles, begin, way) for begin in begins] for way in SHARINGS}
    runs["cassini"] = [_run(profiles, found.time_shifts_s, "fair", _turns_s(found))]
    return OneLink(
        tuple(profiles),
        found,
        {way: _mean(made, "period_s") for way, made in runs.items()},
        {way: _mean(made, "communication_s") for way, made in runs.items()},
        {way: float(np.mean([(run.ecn_marks / run.end_s) for run in made])) for way, made in runs.items()},
    )


def _turns_s(found: Interleaving) -> Sequence[float]:
    """Return the turns of jobs that are held to their shifts; 0 where they cannot be kept apart.

    Such jobs take longer than their turns, and would wait for most of another one.
    """
    held = found.score >= 1 - HEADROOM
    return [time_s * (1 + HEADROOM) if held else 0.0 for time_s in found.circle.iteration_times_s]


def _run(
    profiles: Sequence[CommunicationProfile],
    begins_s: Sequence[float],
    way: str,
    turns_s: Sequence[float] = (),
) -> PeriodicRun:
    jobs = [
        PeriodicJob(profile, begin_s=begin_s, slot_s=turn_s)
        for profile, begin_s, turn_s in zip(profiles, begins_s, turns_s or [0.0] * len(profiles), strict=True)
    ]
    return run_periodic_jobs(jobs, [LINK_BPS], sharing=SHARINGS[way], iterations=ITERATIONS)


def _mean(runs: Sequence[PeriodicRun], what: str) -> Floats:
    return np.asarray(np.mean([[getattr(job, what).mean() for job in run.jobs] for run in runs], axis=0))
