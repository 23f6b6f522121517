"""CASSINI's traces on 24 servers: Themis and Pollux with and without it, MLTCP, random, shards, and the ideal."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from topoopt.catalog import ClusterSpec
from topoopt.clusters import (
    CassiniTraceSettings,
    ClusterSettings,
    FabricRun,
    ScheduledCluster,
    ScheduleSettings,
    Trace,
    cassini_24,
    cassini_trace_for,
    run_cluster,
    run_schedules,
)
from topoopt.plugins.papers.cassini_jobs import COSTS, LINK_BPS, MACHINE
from topoopt.plugins.papers.description import Description
from topoopt.plugins.papers.figure import Comparison, Progress, Row
from topoopt.search import SearchOptions

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
"""Ports of a server in a shard, which together have what its link has elsewhere."""


@dataclass(frozen=True, slots=True)
class TraceGrid:
    """Which traces are run.

    Attributes
    ----------
    horizon_s : float
        Of the Poisson trace.
    load : float
    shards : bool
        Whether TopoOpt's shards are planned, too.
    """

    horizon_s: float
    load: float = 0.9
    shards: bool = True


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
            yield _row(kind, SHARDS, trace, _shards(trace, seed, on_progress))


def _settings(seed: int, degree: int) -> ClusterSettings:
    """Return 24 servers of one accelerator with 50 Gb/s on so many ports, planned without a search."""
    cluster = ClusterSpec(24, degree, LINK_BPS / degree, accelerators_per_server=1)
    search = SearchOptions(budget=0, baseline_budget=0, chains=1, seed=seed, processes=1)
    return replace(ClusterSettings(cluster), costs=COSTS, search=search)


def _shards(trace: Trace, seed: int, on_progress: Progress) -> FabricRun:
    """Return the trace on shards of their own behind patch panels, first come, first served."""
    settings = _settings(seed, SHARD_DEGREE)
    return run_cluster(trace, settings, (SHARDS,), on_progress=on_progress).fabrics[0]


def _row(kind: str, name: str, trace: Trace, run: FabricRun) -> Row:
    schedule = run.schedule
    return {
        "what": "trace",
        "name": kind,
        "scheduler": name,
        "trace_jobs": len(trace.jobs),
        "mean_iteration_time_s": run.iteration_time_s.mean,
        "p99_iteration_time_s": run.iteration_time_s.p99,
        "mean_slowdown": _slowdown(run),
        "ecn_marks_per_iteration": schedule.ecn_marks_per_iteration if schedule else 0.0,
        "mean_completion_time_s": run.completion_time_s.mean,
        "compatibility": schedule.compatibility if schedule else None,
    }


def _slowdown(run: FabricRun) -> float | None:
    """Return the mean over jobs of iteration time over that with links of its own."""
    if run.schedule is None:
        return None
    pairs = zip(run.jobs, run.schedule.jobs, strict=True)
    each = [job.iteration_time_s.mean / known.dedicated_iteration_time_s for job, known in pairs]
    return sum(each) / len(each)


def trace_comparisons(text: Description, rows: Sequence[Row]) -> Iterator[Comparison]:
    """Yield by what factor each scheduler is better with CASSINI, and with MLTCP."""
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
