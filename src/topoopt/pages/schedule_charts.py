"""Schedulers of single workers beside each other as charts: what sharing adds to an iteration, and marks."""

from statistics import fmean

from topoopt.clusters import ClusterResult, FabricRun
from topoopt.pages.chart import BarChart
from topoopt.pages.rows import Source, bars
from topoopt.pages.run_names import run_name


def schedule_charts(result: ClusterResult) -> tuple[BarChart, ...]:
    """Return both charts; none where jobs have whole servers."""
    runs = [run for run in result.fabrics if run.schedule]
    if not runs:
        return ()
    parts: dict[str, Source] = {"with links of its own": alone_s, "added by sharing": added_s}
    added = BarChart(
        "added_by_sharing",
        "What sharing links adds to an iteration, on average over jobs",
        "",
        "iteration time (ms)",
        bars(runs, run_name, parts, 1e-3),
        stacked=True,
        horizontal=True,
        note="Jobs have other numbers of workers with other schedulers, so that the first part differs, too.",
    )
    marks = BarChart(
        "ecn_marks",
        "Packets with an ECN mark in an iteration, estimated",
        "",
        "packets",
        bars(runs, run_name, {"marks": "schedule.ecn_marks_per_iteration"}),
        horizontal=True,
    )
    return added, marks


def alone_s(run: FabricRun) -> float:
    """Return the mean iteration time of jobs on the workers that they had, with links of their own."""
    assert run.schedule is not None
    beside = zip(run.jobs, run.schedule.jobs, strict=True)
    return fmean(alone.dedicated_iteration_time_s for job, alone in beside if job.served is None)


def added_s(run: FabricRun) -> float:
    """Return what sharing adds to that."""
    return fmean(job.iteration_time_mean_s for job in run.trained) - alone_s(run)
