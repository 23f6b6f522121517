"""A cluster's result as charts: distributions of times, who waits, which servers are busy when."""

from collections.abc import Callable, Sequence

import numpy as np

from topoopt.base.units import format_time
from topoopt.clusters import ClusterResult, FabricRun, JobRecord
from topoopt.pages.chart import Bar, BarChart, Limit, LineChart, Series, TimelineChart
from topoopt.pages.rows import Source, bars
from topoopt.pages.run_names import run_name
from topoopt.pages.words import stretches, time_unit

MOST_POINTS = 400
"""Steps of a distribution that are drawn."""
MILLISECONDS = ("ms", 1e-3)


def iteration_times(result: ClusterResult) -> LineChart:
    """Return the share of jobs, or of iterations, as the result weighs them, with at most such a mean time."""
    by_jobs = result.settings.get("weighting", "jobs") == "jobs"
    return _shares(
        result,
        ("iteration_times", "Iteration times of all jobs", "mean iteration time of a job"),
        lambda job: job.iteration_time_mean_s,
        "jobs" if by_jobs else "iterations",
        MILLISECONDS,
        lambda run: run.trained,
    )


def completion_times(result: ClusterResult) -> LineChart:
    """Return the share of jobs that are done so long after their arrival."""
    words = ("completion_times", "From arrival to end", "completion time")
    return _shares(result, words, lambda job: job.completion_time_s)


def queueing_times(result: ClusterResult) -> LineChart:
    """Return the share of jobs that wait at most so long for servers and wiring."""
    words = ("queueing_times", "Waiting for servers and wiring", "queueing and rewiring")
    return _shares(result, words, lambda job: job.queueing_s + job.rewiring_s)


def job_times(result: ClusterResult) -> BarChart:
    """Return the mean iteration time of each model on each fabric, in milliseconds."""
    models = tuple(dict.fromkeys(job.model for run in result.fabrics for job in run.trained))
    series = tuple(
        Series(run_name(run), models, tuple(_mean_ms(run, model) for model in models))
        for run in result.fabrics
    )
    return BarChart(
        "iteration_time_by_model", "Mean iteration time by model", "", "iteration time (ms)", series
    )


def waiting_shares(result: ClusterResult) -> BarChart:
    """Return what the time from arrival to end is spent with, on average over the jobs."""
    unit, scale = time_unit(max((run.completion_time_s.mean for run in result.fabrics), default=1.0))
    parts: dict[str, Source] = {
        "iterating": lambda run: run.completion_time_s.mean - run.queueing_s.mean - run.rewiring_s.mean,
        "waiting for servers": "queueing_s.mean",
        "waiting for wiring": "rewiring_s.mean",
    }
    return BarChart(
        "where_time_goes",
        "What a job's time is spent with, on average",
        "",
        f"time ({unit})",
        bars(result.fabrics, run_name, parts, scale),
        stacked=True,
        horizontal=True,
    )


def utilization(result: ClusterResult) -> BarChart:
    """Return the utilization of each fabric."""
    title, label = "Utilization: server time spent iterating", "share of the server time"
    series = bars(result.fabrics, run_name, {"utilization": "utilization"})
    return BarChart("utilization", title, "", label, series, horizontal=True)


def servers_busy(result: ClusterResult) -> LineChart:
    """Return on how many servers jobs iterate, over time."""
    unit, scale = time_unit(max((row[0] for run in result.fabrics for row in run.running), default=1.0))
    return LineChart(
        "servers_busy",
        "Servers on which a job iterates",
        f"time ({unit})",
        "servers",
        tuple(
            Series(
                run_name(run),
                tuple(time_s / scale for time_s, _, _ in run.running),
                tuple(float(busy) for _, _, busy in run.running),
                stepped=True,
            )
            for run in result.fabrics
        ),
        limits=(Limit(float(result.servers), f"all {result.servers} servers"),),
        x_from_zero=True,
        y_from_zero=True,
    )


def occupancy(number: int, run: FabricRun, servers: int) -> TimelineChart:
    """Return which job is on which server when, by model.

    ``number`` tells the charts of fabrics of one name apart.
    """
    bars = [
        Bar(first, job.start_s, job.end_s, job.model, _label(job), last - first + 1)
        for job in run.jobs
        for first, last in stretches(job.servers)
        if job.end_s > job.start_s
    ]
    return TimelineChart(
        f"occupancy_{number}_{run.fabric}",
        f"Jobs on {run_name(run)}",
        "server",
        (),
        tuple(bars),
        note=f"Servers 0 to {servers - 1}; an elastic job is drawn on the servers that it started on.",
    )


def _shares(
    result: ClusterResult,
    words: tuple[str, str, str],
    time_s: Callable[[JobRecord], float],
    of: str = "jobs",
    unit: tuple[str, float] | None = None,
    jobs_of: Callable[[FabricRun], tuple[JobRecord, ...]] = lambda run: run.jobs,
) -> LineChart:
    """Return the share of jobs, or of iterations, with at most such a time; words are name, title and axis."""
    name, title, label = words
    longest_s = max((time_s(job) for run in result.fabrics for job in jobs_of(run)), default=1.0)
    word, scale = unit or time_unit(longest_s)
    return LineChart(
        name,
        title,
        f"{label} ({word})",
        f"share of {of} at or below",
        tuple(
            _distribution(
                run_name(run),
                [time_s(job) / scale for job in jobs_of(run)],
                [1.0 if of == "jobs" else job.iterations for job in jobs_of(run)],
            )
            for run in result.fabrics
        ),
        y_from_zero=True,
    )


def _mean_ms(run: FabricRun, model: str) -> float:
    """Return the mean iteration time of a model's jobs, each weighed by its iterations."""
    jobs = [job for job in run.trained if job.model == model]
    iterations = sum(job.iterations for job in jobs)
    total_s = sum(job.iteration_time_mean_s * job.iterations for job in jobs)
    return total_s / iterations * 1e3 if iterations > 0 else float("nan")


def _distribution(name: str, values: Sequence[float], weights: Sequence[float]) -> Series:
    """Return the steps of a weighted cumulative distribution; long ones are thinned to what can be seen."""
    if not values or sum(weights) <= 0:
        return Series(name, (), (), stepped=True)
    order = np.argsort(values, kind="stable")
    x = np.asarray(values, float)[order]
    share = np.cumsum(np.asarray(weights, float)[order])
    share /= share[-1]
    last_of_equal = np.append(x[1:] > x[:-1], True)
    x, share = x[last_of_equal], share[last_of_equal]
    if len(x) > MOST_POINTS:
        kept = np.unique(np.linspace(0, len(x) - 1, MOST_POINTS).astype(int))
        x, share = x[kept], share[kept]
    return Series(name, (float(x[0]), *x.tolist()), (0.0, *share.tolist()), stepped=True)


def _label(job: JobRecord) -> str:
    what = "served" if job.served else f"{format_time(job.iteration_time_mean_s)} an iteration"
    return (
        f"{job.job}, {job.model} on {len(job.servers)} servers: {format_time(job.start_s)} to "
        f"{format_time(job.end_s)}, {what}"
    )
