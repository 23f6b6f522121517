"""A cluster's result in facts and tables: what it is, iteration times, completion and waiting, times by model."""

from functools import partial
from statistics import fmean

from topoopt.base.units import format_time
from topoopt.clusters import ClusterResult, FabricRun
from topoopt.pages.fabrics import skipped_notes
from topoopt.pages.page import Block, Notes, Table
from topoopt.pages.rows import Entries, facts, number, table, text
from topoopt.pages.run_names import run_name, run_names_apart
from topoopt.pages.schedule_tables import schedule_blocks
from topoopt.pages.served_models import served_blocks
from topoopt.pages.words import duration, listed, runs
from topoopt.plans import front


def cluster_blocks(result: ClusterResult) -> tuple[Block, ...]:
    """Return what the cluster is, a row for each fabric, and iteration times by model."""
    skipped = skipped_notes(result.skipped, warn=True) + _unpriced(result)
    if not (result.fabrics and result.fabrics[0].jobs):
        return skipped
    counted = Notes((f"mean and tail over {result.settings.get('weighting', 'jobs')}: each counts the same",))
    times = schedule_blocks(result.fabrics) or (_times(result),)
    return (
        facts(_entries(result)),
        *times,
        counted,
        *skipped,
        _waits(result),
        _models(result),
        *served_blocks(result),
    )


def _entries(result: ClusterResult) -> Entries:
    settings, parts = result.settings, result.settings.get("logical_servers", 1)
    rules = [str(settings[key]) for key in ("queue", "placement") if key in settings]
    return {
        "arrivals": _arrivals(result.fabrics[0]),
        "queue": ", placement ".join(rules),
        "network": str(settings.get("network", "")),
        "servers": "" if parts == 1 else f"each divided into {parts} logical ones",
        "panels": _panels(result),
        "prices": str(settings.get("prices", "")) if _priced(result) else "",
    }


def _unpriced(result: ClusterResult) -> tuple[Notes, ...]:
    """Return which fabrics the price list leaves open; nothing of a file from before there were prices."""
    names = [run.label for run in result.fabrics if run.cost_usd is None and not run.schedule]
    if not names or "accounting" not in result.settings:
        return ()
    return (Notes((f"the list {result.settings['prices']} has no price of {listed(names)}",), warn=True),)


def _priced(result: ClusterResult) -> bool:
    return any(run.cost_usd is not None for run in result.fabrics)


def _times(result: ClusterResult) -> Table:
    first_s = result.fabrics[0].iteration_time_s.mean
    unbeaten = front(result.fabrics, lambda run: run.cost_usd, lambda run: run.iteration_time_s.mean)
    money = (number("price", "cost_usd"), text("front", lambda run: "front" if run in unbeaten else ""))
    return table(
        "Iteration times",
        result.fabrics,
        text("fabric", "label"),
        number("a server", "server_bandwidth_bps"),
        number("iteration", "iteration_time_s.mean", format_time),
        number("×", lambda run: run.iteration_time_s.mean / first_s, ".2f"),
        number("p99", "iteration_time_s.p99", format_time),
        *(money if _priced(result) else ()),
        text("what it is", "description"),
    )


def _waits(result: ClusterResult) -> Table:
    scheduled = any(run.schedule for run in result.fabrics)
    return table(
        "Completion and waiting",
        result.fabrics,
        text("scheduler" if scheduled else "fabric", run_names_apart(result.fabrics)),
        number("completion", "completion_time_s.mean", long_time),
        number("p99", "completion_time_s.p99", long_time),
        number("queueing", "queueing_s.mean", long_time),
        number("p99 ", "queueing_s.p99", long_time),
        number("restart" if scheduled else "rewiring", "rewiring_s.mean", long_time),
        number("p99  ", "rewiring_s.p99", long_time),
        number("busy", "utilization", ".1%"),
        number("moved" if scheduled else "fibers", "moves", ","),
    )


def _models(result: ClusterResult) -> Table:
    """Return the mean iteration time of the jobs of each model, in milliseconds."""
    models = sorted({job.model for job in result.fabrics[0].trained})
    columns = [number(model, partial(_mean_ms, model), ".4g") for model in models]
    name = text("iteration by model, ms", run_names_apart(result.fabrics))
    return table("Iteration time by model", result.fabrics, name, *columns)


def _mean_ms(model: str, run: FabricRun) -> float:
    return fmean(job.iteration_time_mean_s for job in run.trained if job.model == model) * 1e3


def long_time(time_s: float) -> str:
    """Return seconds below two minutes, then minutes, then hours, to three digits."""
    return duration(time_s, 3)


def _arrivals(run: FabricRun) -> str:
    first, last = run.jobs[0].arrival_s, run.jobs[-1].arrival_s
    return "all at once" if first == last else f"over {long_time(last - first)}"


def _panels(result: ClusterResult) -> str:
    panels = result.settings.get("panels")
    if not panels or "hands" not in panels or not any(run.fabric == "topoopt" for run in result.fabrics):
        return ""
    hands = panels["hands"] or result.degree // result.settings["logical_servers"]
    ahead = "with look-ahead" if panels["look_ahead"] else "without look-ahead"
    return f"{ahead}; {hands} at work, {panels['move_s']:g} s a fiber (assumed)"


def quantiles_table(result: ClusterResult) -> Table:
    """Return mean and quantiles of every time on each fabric."""
    times = {
        "iteration": "iteration_time_s",
        "completion": "completion_time_s",
        "queueing": "queueing_s",
        "rewiring": "rewiring_s",
    }
    rows = [
        {"run": run, "time": name, "of": getattr(run, field)}
        for run in result.fabrics
        for name, field in times.items()
    ]
    return table(
        "In numbers",
        rows,
        text("fabric", "run", run_name),
        text("time"),
        number("mean", "of.mean", duration),
        number("median", "of.p50", duration),
        number("99th percentile", "of.p99", duration),
        number("longest", "of.max", duration),
        folded=len(rows) > 8,
        detail=True,
    )


def job_table(run: FabricRun) -> Table:
    """Return every job of a fabric, in order of arrival."""
    return table(
        run_name(run),
        run.jobs,
        text("job"),
        text("model"),
        text("servers", "servers", runs),
        number("arrival", "arrival_s", duration),
        number("queueing", "queueing_s", duration),
        number("rewiring", "rewiring_s", duration),
        number("start", "start_s", duration),
        number("end", "end_s", duration),
        number("iterations", lambda job: None if job.served else job.iterations, ",.0f"),
        number("iteration", lambda job: None if job.served else job.iteration_time_mean_s, duration),
        number("99th percentile", lambda job: None if job.served else job.iteration_time_p99_s, duration),
        folded=True,
    )
