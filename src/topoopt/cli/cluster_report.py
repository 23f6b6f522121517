"""A cluster's result in the terminal."""

from statistics import fmean
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from topoopt.cluster import ClusterResult, FabricRun


def print_cluster(console: "Console", result: "ClusterResult") -> None:
    """Print what the cluster is, a row for each fabric, and iteration times by model."""
    from topoopt.cli.render import counted, print_facts, print_title
    from topoopt.units import format_bandwidth

    jobs, settings = result.fabrics[0].jobs, result.settings
    print_title(
        console,
        result.trace,
        f"{counted(len(jobs), 'job')} on {result.servers} servers, {result.degree} × "
        f"{format_bandwidth(result.bandwidth_bps)}",
    )
    parts = settings.get("logical_servers", 1)
    print_facts(
        console,
        [
            ("arrivals", _arrivals(result.fabrics[0])),
            ("queue", f"{settings['queue']}, placement {settings['placement']}"),
            ("servers", "" if parts == 1 else f"each divided into {parts} logical ones"),
            ("panels", _panels(result)),
        ],
    )
    console.print()
    _print_times(console, result)
    _print_waits(console, result)
    _print_models(console, result)
    for fabric, reason in result.skipped:
        console.print(
            f"  without {fabric}: {reason.removeprefix(f'{fabric}: ')}", highlight=False, markup=False
        )


def _print_times(console: "Console", result: "ClusterResult") -> None:
    from topoopt.cli.render import print_table
    from topoopt.units import format_bandwidth, format_time

    first = result.fabrics[0].iteration_time_s.mean
    numbers = ("a server", "iteration", "×", "p99", "max")
    print_table(
        console,
        ("fabric", *numbers, "what it is"),
        [
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
        ],
        numbers=numbers,
    )
    console.print(
        f"  mean and tail over {result.settings['weighting']}: each counts the same",
        style="dim",
        highlight=False,
    )
    console.print()


def _print_waits(console: "Console", result: "ClusterResult") -> None:
    from topoopt.cli.render import print_table

    numbers = ("completion", "p99", "queueing", "p99 ", "rewiring", "p99  ", "busy", "fibers")
    print_table(
        console,
        ("fabric", *numbers),
        [
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
        ],
        numbers=numbers,
    )
    console.print()


def _print_models(console: "Console", result: "ClusterResult") -> None:
    """Print the mean iteration time of the jobs of each model, in milliseconds."""
    from topoopt.cli.render import print_table

    jobs = result.fabrics[0].jobs
    models = sorted({job.model for job in jobs})
    print_table(
        console,
        ("iteration by model, ms", *models),
        [
            (
                name,
                *(
                    f"{fmean(job.iteration_time_mean_s for job in run.jobs if job.model == model) * 1e3:.4g}"
                    for model in models
                ),
            )
            for name, run in zip(_names(result), result.fabrics, strict=True)
        ],
        numbers=models,
    )


def _names(result: "ClusterResult") -> list[str]:
    """Return the fabrics' names, with their bandwidth where two have the same."""
    from topoopt.units import format_bandwidth

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
    from topoopt.units import format_time

    for unit, scale in (("h", 3600.0), ("min", 60.0)):
        if time_s >= 2 * scale:
            return f"{time_s / scale:.3g} {unit}"
    return format_time(float(f"{time_s:.3g}"))


def _arrivals(run: "FabricRun") -> str:
    first, last = run.jobs[0].arrival_s, run.jobs[-1].arrival_s
    return "all at once" if first == last else f"over {long_time(last - first)}"


def _panels(result: "ClusterResult") -> str:
    panels = result.settings["panels"]
    if not any(run.fabric == "topoopt" for run in result.fabrics):
        return ""
    hands = panels["hands"] or result.degree // result.settings["logical_servers"]
    ahead = "with look-ahead" if panels["look_ahead"] else "without look-ahead"
    return f"{ahead}; {hands} at work, {panels['move_s']:g} s a fiber (assumed)"
