"""A cluster's result in facts and tables: what it is, iteration times, completion and waiting, times by model."""

from statistics import fmean

from topoopt.cluster import ClusterResult, FabricRun
from topoopt.report.page import Block, Facts, Notes, Table
from topoopt.units import format_bandwidth, format_time


def cluster_blocks(result: ClusterResult) -> tuple[Block, ...]:
    """Return what the cluster is, a row for each fabric, and iteration times by model."""
    skipped = tuple(
        f"without {fabric}: {reason.removeprefix(f'{fabric}: ')}" for fabric, reason in result.skipped
    )
    notes = (Notes(skipped),) if skipped else ()
    if not (result.fabrics and result.fabrics[0].jobs):
        return notes
    counted = Notes((f"mean and tail over {result.settings.get('weighting', 'jobs')}: each counts the same",))
    return (_facts(result), _times(result), counted, _waits(result), _models(result), *notes)


def _facts(result: ClusterResult) -> Facts:
    settings, parts = result.settings, result.settings.get("logical_servers", 1)
    return Facts(
        "",
        (
            ("arrivals", _arrivals(result.fabrics[0])),
            (
                "queue",
                ", placement ".join(str(settings[key]) for key in ("queue", "placement") if key in settings),
            ),
            ("servers", "" if parts == 1 else f"each divided into {parts} logical ones"),
            ("panels", _panels(result)),
        ),
    )


def _times(result: ClusterResult) -> Table:
    first = result.fabrics[0].iteration_time_s.mean
    numbers = ("a server", "iteration", "×", "p99", "max")
    rows = tuple(
        (
            run.fabric,
            format_bandwidth(run.server_bandwidth_bps),
            format_time(run.iteration_time_s.mean),
            f"{run.iteration_time_s.mean / first:.2f}",
            format_time(run.iteration_time_s.p99),
            format_time(run.iteration_time_s.max),
            run.description,
        )
        for run in result.fabrics
    )
    return Table("Iteration times", ("fabric", *numbers, "what it is"), rows, numbers)


def _waits(result: ClusterResult) -> Table:
    numbers = ("completion", "p99", "queueing", "p99 ", "rewiring", "p99  ", "busy", "fibers")
    rows = tuple(
        (
            name,
            long_time(run.completion_time_s.mean),
            long_time(run.completion_time_s.p99),
            long_time(run.queueing_s.mean),
            long_time(run.queueing_s.p99),
            long_time(run.rewiring_s.mean),
            long_time(run.rewiring_s.p99),
            f"{run.utilization:.1%}",
            f"{run.moves:,}",
        )
        for name, run in zip(_names(result), result.fabrics, strict=True)
    )
    return Table("Completion and waiting", ("fabric", *numbers), rows, numbers)


def _models(result: ClusterResult) -> Table:
    """Return the mean iteration time of the jobs of each model, in milliseconds."""
    models = tuple(sorted({job.model for job in result.fabrics[0].jobs}))
    rows = tuple(
        (name, *(_mean_ms(run, model) for model in models))
        for name, run in zip(_names(result), result.fabrics, strict=True)
    )
    return Table("Iteration time by model", ("iteration by model, ms", *models), rows, models)


def _mean_ms(run: FabricRun, model: str) -> str:
    return f"{fmean(job.iteration_time_mean_s for job in run.jobs if job.model == model) * 1e3:.4g}"


def _names(result: ClusterResult) -> list[str]:
    """Return the fabrics' names, with their bandwidth where two have the same."""
    names = [run.fabric for run in result.fabrics]
    return [
        f"{run.fabric}, {format_bandwidth(run.server_bandwidth_bps)}"
        if names.count(run.fabric) > 1
        else run.fabric
        for run in result.fabrics
    ]


def long_time(time_s: float) -> str:
    """Return seconds below two minutes, then minutes, then hours.

    Examples
    --------
    >>> long_time(0.025), long_time(300), long_time(10_000)
    ('25 ms', '5 min', '2.78 h')
    """
    for unit, scale in (("h", 3600.0), ("min", 60.0)):
        if time_s >= 2 * scale:
            return f"{time_s / scale:.3g} {unit}"
    return format_time(float(f"{time_s:.3g}"))


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
