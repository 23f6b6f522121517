"""A trace of jobs on a cluster as a page."""

from collections.abc import Callable, Sequence
from statistics import fmean

import numpy as np

from topoopt.base.answers import fields_of
from topoopt.base.units import format_bandwidth, format_time
from topoopt.clusters import ClusterResult, FabricRun, JobRecord
from topoopt.pages.chart import Bar, BarChart, Limit, LineChart, Series, TimelineChart
from topoopt.pages.cluster_tables import cluster_blocks, job_table, mean_s, quantiles_table, run_name
from topoopt.pages.page import Facts, Page, Section, Tile
from topoopt.pages.tables import (
    Source,
    bars,
    counted,
    duration,
    facts,
    inputs,
    nested_facts,
    stretches,
    time_unit,
    trust_section,
    usd,
)
from topoopt.plans import standings

MOST_POINTS = 400
"""Steps of a distribution that are drawn."""
MILLISECONDS = ("ms", 1e-3)


def cluster_page(result: ClusterResult) -> Page:
    """Return the page of a trace on one or more fabrics."""
    jobs = len(result.fabrics[0].jobs) if result.fabrics else 0
    cluster = f"{result.degree} × {format_bandwidth(result.bandwidth_bps)}"
    if not result.fabrics:
        tiles: tuple[Tile, ...] = ()
    else:
        own = result.fabrics[0]
        tiles = (
            Tile(
                "Average iteration",
                format_time(own.iteration_time_s.mean),
                run_name(own) if own.schedule else own.fabric,
            ),
            Tile("99th percentile", format_time(own.iteration_time_s.p99), "of the iteration times"),
            Tile("Average completion", duration(own.completion_time_s.mean), "from arrival to end"),
            Tile(
                "Average queueing", duration(own.queueing_s.mean), f"at most {duration(own.queueing_s.max)}"
            ),
            Tile("Utilization", f"{own.utilization:.1%}", "of the server time"),
            Tile(
                "Workers moved" if own.schedule else "Fibers moved",
                f"{own.moves:,}",
                f"for {counted(len(own.jobs), 'job')}",
            ),
        )
    tables = tuple(map(job_table, result.fabrics))
    caption = "Servers from top to bottom, time from left to right, the same for all; a block is a job on its servers."
    end_s = max((job.end_s for run in result.fabrics for job in run.jobs), default=0.0)
    charts = [occupancy(number, run, result.servers, end_s) for number, run in enumerate(result.fabrics, 1)]
    return Page(
        "cluster",
        result.trace,
        headline(result),
        tiles,
        sections=(
            Section("cluster", "The cluster", "", cluster_blocks(result)),
            _iterations(result),
            _waiting(result),
            Section("occupancy", "Occupancy over time", caption, (servers_busy(result), *charts)),
            Section("jobs", "Every job", "Times of every job on each fabric, in order of arrival.", tables),
            _trust(result),
        ),
        key_numbers=_key_numbers(result),
        remark=f"{counted(jobs, 'job')} on {result.servers} servers{_machine(result)}, {cluster}",
        answer_first=True,
    )


def _machine(result: ClusterResult) -> str:
    machine = result.settings.get("cluster")
    if not machine or any(run.schedule for run in result.fabrics):
        return ""
    return f" of {machine['accelerators_per_server']} × {machine['accelerator']}"


def headline(result: ClusterResult) -> str:
    """Return the headline: iteration times of the first fabric, and the slowdown of the others."""
    if not result.fabrics:
        return "No fabric could be built for this trace."
    own, others = result.fabrics[0], result.fabrics[1:]
    sentences = [
        f"{_by(own).capitalize()} {run_name(own) if own.schedule else own.fabric} an iteration takes "
        f"{format_time(own.iteration_time_s.mean)} on average "
        f"and {format_time(own.iteration_time_s.p99)} at the 99th percentile; "
        f"{own.utilization:.0%} of the server time is spent iterating{_price(result.fabrics)}."
    ]
    ratios = [
        f"{other.iteration_time_s.mean / own.iteration_time_s.mean:.2f} × and "
        f"{other.iteration_time_s.p99 / own.iteration_time_s.p99:.2f} × {_by(other)} {run_name(other)}"
        for other in others
    ]
    if ratios:
        sentences.append(f"Average and tail elsewhere: {'; '.join(ratios)}.")
    return " ".join(sentences)


def _price(runs: Sequence[FabricRun]) -> str:
    """Return the cost of the first network, and the networks that beat it in price and mean time or tie for less."""
    if runs[0].cost_usd is None:
        return ""
    ranked = list(zip(runs, standings(runs, lambda run: run.iteration_time_s.mean), strict=True))
    beat = [run.label for run, its in ranked if its.beats]
    tie = [run.label for run, its in ranked if its.ties_for_less]
    said = f", beaten in price and mean time by {', '.join(beat)}" if beat else ""
    said += f"; as fast within the error, for less money: {', '.join(tie)}" if tie else ""
    return f", on a network of {usd(runs[0].cost_usd)}{said}"


def _by(run: FabricRun) -> str:
    return "with" if run.schedule else "on"


def _key_numbers(result: ClusterResult) -> dict[str, float | None]:
    if not result.fabrics:
        return {}
    own = result.fabrics[0]
    return {
        "iteration_time_mean_s": own.iteration_time_s.mean,
        "iteration_time_p99_s": own.iteration_time_s.p99,
        "completion_time_mean_s": own.completion_time_s.mean,
        "queueing_mean_s": own.queueing_s.mean,
        "queueing_max_s": own.queueing_s.max,
        **fields_of(own, "utilization", "moves"),
    }


def _iterations(result: ClusterResult) -> Section:
    return Section(
        "iterations",
        "Iteration times",
        "Isolated jobs have the same iteration time at every load; jobs that share links slow each other down. "
        "The further left a line, the faster.",
        (iteration_times(result), job_times(result), *schedule_charts(result), quantiles_table(result)),
    )


def _waiting(result: ClusterResult) -> Section:
    return Section(
        "waiting",
        "Completion and waiting",
        "How long jobs take from arrival to end, and how much of that they wait for servers and for wiring.",
        (completion_times(result), queueing_times(result), waiting_shares(result), utilization(result)),
    )


def _trust(result: ClusterResult) -> Section:
    made = result.provenance
    return trust_section(
        "result",
        facts(
            {"topoopt": made.version, "seed": str(result.seed), "trace": result.trace, **inputs(made)},
            "Made by",
        ),
        Facts("Fabrics", tuple((run_name(run), run.description) for run in result.fabrics)),
        *nested_facts("Settings", result.settings),
    )


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
    """Return the time added by sharing."""
    return fmean(job.iteration_time_mean_s for job in run.trained) - alone_s(run)


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
        Series(run_name(run), models, tuple(1e3 * mean_s(model, run) for model in models))
        for run in result.fabrics
    )
    return BarChart(
        "iteration_time_by_model", "Mean iteration time by model", "", "iteration time (ms)", series
    )


def waiting_shares(result: ClusterResult) -> BarChart:
    """Return the breakdown of the time from arrival to end, on average over the jobs."""
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


def occupancy(number: int, run: FabricRun, servers: int, end_s: float) -> TimelineChart:
    """Return the jobs on each server over time, colored by model; all fabrics have one time axis.

    ``number`` distinguishes the charts of fabrics of one name.
    """
    bars = [
        Bar(first, job.start_s, job.end_s, job.model, _label(job), last - first + 1, job.job)
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
        note="An elastic job is drawn on the servers that it started on.",
        count=servers,
        until_s=end_s,
    )


def _shares(
    result: ClusterResult,
    words: tuple[str, str, str],
    time_s: Callable[[JobRecord], float],
    of: str = "jobs",
    unit: tuple[str, float] | None = None,
    jobs_of: Callable[[FabricRun], tuple[JobRecord, ...]] = lambda run: run.jobs,
) -> LineChart:
    """Return a CDF of times over jobs, or over iterations; words are name, title and axis."""
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
        limits=tuple(Limit(share, f"p{100 * share:g}") for share in (0.5, 0.9, 0.99)),
    )


def _distribution(name: str, values: Sequence[float], weights: Sequence[float]) -> Series:
    """Return the steps of a weighted cumulative distribution; long ones are thinned to the visible resolution."""
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
