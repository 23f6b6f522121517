"""A cluster's result in facts and tables: the cluster, iteration times, completion and waiting, times by model."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean

from topoopt.base.units import format_time, interval_words
from topoopt.clusters import ClusterResult, FabricRun, JobRecord, ServedRecord
from topoopt.pages.fabric_tables import name_apart, skipped_notes
from topoopt.pages.page import Block, Notes, Table
from topoopt.pages.tables import Entries, duration, facts, listed, number, runs, table, text
from topoopt.plans import front

SENDS = (
    "a send: keys and values of a prompt on their way to who answers, and what experts, stages and split layers "
    "exchange between servers, from first to last byte"
)
SCHEDULED = "a send: what the model sends in a second, at its mean rate"
ANSWERS = (
    "TTFT, TPOT: the first token and each further one, of requests as they come; steps and queues are those of topoopt "
    "serving, caches are under way as long as sends were here, and steps wait for exchanges as much longer"
)
OVERLOADED = (
    "{names}: more requests come than these accelerators answer, so that answers take the longer the later they come; "
    "give more servers, or see topoopt serving for a split that does"
)
MOST_ROWS = 24
"""Most rows of training jobs; JSON has all of them."""
ROTATED = "serving has no iterations: it counts in none of the iteration times, and nothing shifts it"


@dataclass(frozen=True, slots=True)
class _Row:
    """A served model on a fabric."""

    fabric: str
    job: JobRecord

    @property
    def served(self) -> ServedRecord:
        """Result of the served model."""
        assert self.job.served is not None
        return self.job.served

    @property
    def sends(self) -> str:
        """Mean and tail of its sends."""
        times = self.served.send_time_s
        return f"{format_time(times.mean)}, {format_time(times.p99)}" if times.mean else "none"

    @property
    def ttft_over(self) -> float | None:
        """Mean time to the first token over that alone."""
        answers = self.served.answers
        return answers.ttft_s.mean / answers.ttft_alone_s.mean if answers else None

    @property
    def tpot_over(self) -> float | None:
        """Mean time of a further token over that alone."""
        answers = self.served.answers
        if answers is None or answers.tpot_s is None or answers.tpot_alone_s is None:
            return None
        return answers.tpot_s.mean / answers.tpot_alone_s.mean

    @property
    def kept_up(self) -> str:
        """Whether links and accelerators carried it."""
        links = "" if self.served.kept_up else f"links no: {self.served.load:.2f} × what they carry"
        few = self.served.answers is not None and self.served.answers.overloaded
        return ", ".join(filter(None, (links, "accelerators no" if few else "")))


MARKS = (
    "more than alone: what sharing adds to an iteration; marks: packets with an ECN mark in one, estimated"
)


def cluster_blocks(result: ClusterResult) -> tuple[Block, ...]:
    """Return the cluster, one row per fabric, and iteration times by model."""
    # which fabrics the price list leaves open; nothing of a file from before there were prices
    names = [run.label for run in result.fabrics if run.cost_usd is None and not run.schedule]
    if not names or "accounting" not in result.settings:
        unpriced: tuple[Block, ...] = ()
    else:
        unpriced = (
            Notes((f"the list {result.settings['prices']} has no price of {listed(names)}",), warn=True),
        )
    skipped = skipped_notes(result.skipped, warn=True) + unpriced
    if not (result.fabrics and result.fabrics[0].jobs):
        return skipped
    counted = Notes((f"mean and tail over {result.settings.get('weighting', 'jobs')}: each counts the same",))
    times = schedule_blocks(result.fabrics) or (_times(result),)
    scheduled = any(run.schedule for run in result.fabrics)
    waits = table(
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
    models = sorted({job.model for job in result.fabrics[0].trained})
    columns = [number(model, partial(mean_s, model), format_time) for model in models]
    name = text("iteration by model", run_names_apart(result.fabrics))
    return (
        facts(_entries(result)),
        *times,
        counted,
        *skipped,
        waits,
        table("Iteration time by model", result.fabrics, name, *columns),
        *_intervals(result.fabrics[0], models),
        *served_blocks(result),
    )


def _intervals(run: FabricRun, models: Sequence[str]) -> tuple[Notes, ...]:
    """Return the range of measured iterations by the calibration's error; empty without one."""
    shares = {job.model: job.interval_share for job in run.trained if job.interval_share}
    each = [
        f"{model} ({interval_words(mean_s(model, run), shares[model])})"
        for model in models
        if model in shares
    ]
    return (Notes((f"measured runs on {run.label}: {'; '.join(each)}",)),) if each else ()


def _entries(result: ClusterResult) -> Entries:
    settings, parts = result.settings, result.settings.get("logical_servers", 1)
    rules = [str(settings[key]) for key in ("queue", "placement") if key in settings]
    run = result.fabrics[0]
    first, last = run.jobs[0].arrival_s, run.jobs[-1].arrival_s
    arrivals = "all at once" if first == last else f"over {long_time(last - first)}"
    return {
        "arrivals": arrivals,
        "queue": ", placement ".join(rules),
        "network": str(settings.get("network", "")),
        "servers": "" if parts == 1 else f"each divided into {parts} logical ones",
        "panels": _panels(result),
        "prices": str(settings.get("prices", "")) if _priced(result) else "",
    }


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


def mean_s(model: str, run: FabricRun) -> float:
    """Return the mean iteration time of a model's jobs."""
    return fmean(job.iteration_time_mean_s for job in run.trained if job.model == model)


def long_time(time_s: float) -> str:
    """Return seconds below two minutes, then minutes, then hours, to three digits."""
    return duration(time_s, 3)


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


def schedule_blocks(runs: tuple[FabricRun, ...]) -> tuple[Block, ...]:
    """Return a row for each scheduler; nothing where jobs have whole servers."""
    scheduled = [run for run in runs if run.schedule]
    if not scheduled:
        return ()
    first = scheduled[0].iteration_time_s
    iterations = table(
        "Schedulers",
        scheduled,
        text("scheduler", "schedule.scheduler"),
        number("iteration", "iteration_time_s.mean", format_time),
        number("×", lambda run: first.mean / run.iteration_time_s.mean, ".2f"),
        number("p99", "iteration_time_s.p99", format_time),
        number("× ", lambda run: first.p99 / run.iteration_time_s.p99, ".2f"),
        number("more than alone", more_than_alone, ".1%"),
        number("marks", "schedule.ecn_marks_per_iteration", ",.0f"),
        number("score", "schedule.compatibility", ".3f"),
        number("decisions", "schedule.decisions", ","),
    )
    return iterations, Notes((f"×: how many times faster than {run_name(scheduled[0])}; {MARKS}",))


def more_than_alone(run: FabricRun) -> float:
    """Return the relative increase of iterations against the same workers with dedicated links, over jobs."""
    assert run.schedule is not None
    ratios = [
        job.iteration_time_mean_s / beside.dedicated_iteration_time_s
        for job, beside in zip(run.jobs, run.schedule.jobs, strict=True)
        if job.served is None
    ]
    return sum(ratios) / len(ratios) - 1.0


def served_blocks(result: ClusterResult) -> tuple[Block, ...]:
    """Return a row for each served model on each fabric, with a legend; empty where none is served."""
    name = run_names_apart(result.fabrics)
    rows = [_Row(name(run), job) for run in result.fabrics for job in run.served]
    if not rows:
        return ()
    ordered = sorted(rows, key=lambda row: row.job.arrival_s)
    scheduled = any(run.schedule for run in result.fabrics)
    sends = table(
        "Served models",
        ordered,
        text("served", "job.job"),
        text("model", "job.model"),
        number("servers", lambda row: len(row.job.servers)),
        text("fabric", "fabric"),
        number("a send, p99", "sends"),
        number("× alone", "served.slowdown", ".2f"),
        *([text("keeps up", lambda row: row.kept_up or "yes")] if any(row.kept_up for row in rows) else []),
    )
    notes = Notes((SCHEDULED if scheduled else SENDS, ROTATED))
    return (sends, notes, *_answers(ordered), *_beside(result))


def _answers(rows: Sequence[_Row]) -> tuple[Block, ...]:
    known = [row for row in rows if row.served.answers is not None]
    if not known:
        return ()
    said = any(row.served.answers and row.served.answers.in_time is not None for row in known)
    in_time = [
        number("in time", "served.answers.in_time", ".1%"),
        number("alone", "served.answers.in_time_alone", ".1%"),
    ]
    answers = table(
        "Answers",
        known,
        text("served", "job.job"),
        text("fabric", "fabric"),
        number("TTFT", "served.answers.ttft_s.mean", format_time),
        number("p99", "served.answers.ttft_s.p99", format_time),
        number("× alone", "ttft_over", ".3f"),
        number("TPOT", lambda row: (one := row.served.answers.tpot_s) and one.mean, format_time),
        number("× alone", "tpot_over", ".3f"),
        *(in_time if said else ()),
    )
    few = [row for row in known if row.served.answers and row.served.answers.overloaded]
    names = ", ".join(dict.fromkeys(row.job.job for row in few))
    return answers, Notes((ANSWERS, *([OVERLOADED.format(names=names)] if few else [])))


def _beside(result: ClusterResult) -> tuple[Block, ...]:
    """Return the iteration times of training beside the served models."""
    name = run_names_apart(result.fabrics)
    rows = [
        _Row(name(run), job)
        for run in result.fabrics
        for job in run.trained
        if job.undisturbed_iteration_time_s is not None
    ]
    beside = table(
        "Training beside them",
        sorted(rows, key=lambda row: row.job.arrival_s)[:MOST_ROWS],
        text("trained", "job.job"),
        text("model", "job.model"),
        number("servers", lambda row: len(row.job.servers)),
        text("fabric", "fabric"),
        number("iteration", "job.iteration_time_s.mean", format_time),
        number("alone", "job.undisturbed_iteration_time_s", format_time),
        number("×", lambda row: row.job.iteration_time_s.mean / row.job.undisturbed_iteration_time_s, ".3f"),
    )
    more = len(rows) - MOST_ROWS
    return (beside, Notes((f"{more} more rows in JSON",))) if more > 0 else (beside,) if rows else ()


def run_name(run: FabricRun) -> str:
    """Return the scheduler, or the fabric with the bandwidth of a server."""
    return run.schedule.scheduler if run.schedule else run.name


def run_names_apart(runs: Sequence[FabricRun]) -> Callable[[FabricRun], str]:
    """Return a function that names runs unambiguously: by scheduler or fabric, with bandwidth where needed."""
    by_fabric = name_apart(runs)
    return lambda run: run.schedule.scheduler if run.schedule else by_fabric(run)
