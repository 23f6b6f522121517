"""Schedulers of single workers beside each other: iteration times, marks, compatibility."""

from topoopt.base.units import format_time
from topoopt.clusters import FabricRun
from topoopt.pages.page import Block, Notes
from topoopt.pages.rows import number, table, text
from topoopt.pages.run_names import run_name

MARKS = (
    "more than alone: what sharing adds to an iteration; marks: packets with an ECN mark in one, estimated"
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
    """Return by what part iterations are longer than on the same workers with links of their own, over jobs."""
    assert run.schedule is not None
    ratios = [
        job.iteration_time_mean_s / beside.dedicated_iteration_time_s
        for job, beside in zip(run.jobs, run.schedule.jobs, strict=True)
        if job.served is None
    ]
    return sum(ratios) / len(ratios) - 1.0
