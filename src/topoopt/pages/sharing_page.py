"""Policies for sharing a link as a page: iteration times, offsets, and the theory of MLTCP."""

import numpy as np

from topoopt.base.units import format_bandwidth, format_time
from topoopt.clusters.interleave import (
    FLUID,
    SHARING_WAYS,
    SharingComparison,
    SharingCourse,
    SharingPrediction,
)
from topoopt.pages.chart import LineChart, Series
from topoopt.pages.page import Block, Notes, Page, Section, Tile
from topoopt.pages.tables import counted, facts, joined, number, short_number, table, text

MOST_SHOWN = 12
"""Iterations that a terminal shows one by one."""
MLTCP_OVER = "mltcp-"
"""Prefix of the names of MLTCP's transports."""


def sharing_page(answer: SharingComparison) -> Page:
    """Return the effect of every sharing policy on the jobs, and the course of the first one."""
    first, asked = answer.courses[0], answer.asked
    slowdowns = {course.way: course.slowdown(answer.alone_s) for course in answer.courses}
    others = ", ".join(f"{way} {slowdown:.3f}" for way, slowdown in list(slowdowns.items())[1:])
    theory = () if answer.prediction is None else (_theory(answer, answer.prediction),)
    return Page(
        "sharing",
        f"{counted(len(asked.profiles), 'job')} on one link of {format_bandwidth(asked.capacity_bps)}",
        f"Iterations settle at {slowdowns[first.way]:.3f} times those on links of their own under {first.way}"
        + (f"; {others}." if others else "."),
        tuple(Tile(way, f"{slowdown:.3f} ×", _what(answer, way)) for way, slowdown in slowdowns.items()),
        sections=(_ways(answer), _course(answer, first), *theory),
        key_numbers={f"{way}_settled_slowdown": slowdown for way, slowdown in slowdowns.items()},
        remark=f"{answer.simulator}, {counted(asked.iterations, 'iteration')}",
    )


def _what(answer: SharingComparison, way: str) -> str:
    if answer.simulator == FLUID:
        return SHARING_WAYS[way].text
    if way == "cassini":
        return "reno, and each job begins at CASSINI's time shift"
    if way == "ideal":
        return "reno, a link for each job"
    return f"MLTCP over {way.removeprefix(MLTCP_OVER)}" if _is_mltcp(way) else "plain congestion control"


def _is_mltcp(way: str) -> bool:
    return way == "mltcp" or way.startswith(MLTCP_OVER)


def _ways(answer: SharingComparison) -> Section:
    asked, form = answer.asked, answer.asked.aggressiveness
    jobs = [
        f"{profile.job}: iteration {format_time(profile.iteration_time_s)}, sends {profile.duty:.1%} of it, up to "
        f"{format_bandwidth(profile.peak_bps)}"
        for profile in asked.profiles
    ]
    entries = {
        "jobs": jobs,
        "begin": ", ".join(format_time(begin_s) for begin_s in asked.begins_s),
        "F": f"{form.form}, slope {form.slope:g}, intercept {form.intercept:g}"
        + (
            f"; learned in {counted(asked.learning_iterations, 'iteration')}"
            if asked.learning_iterations
            else ""
        ),
        "noise": f"{asked.noise:.1%} of computing, seed {asked.seed}" if asked.noise else "",
    }
    rows = joined(
        way=[course.way for course in answer.courses],
        what=[_what(answer, course.way) for course in answer.courses],
        mean_s=[float(course.time_s.mean()) for course in answer.courses],
        p99_s=[float(np.percentile(course.time_s, 99)) for course in answer.courses],
        settled_s=[float(np.mean([job.settled_s for job in course.jobs])) for course in answer.courses],
        slowdown=[course.slowdown(answer.alone_s) for course in answer.courses],
        marks=[course.ecn_marks for course in answer.courses],
    )
    blocks: list[Block] = [
        facts(entries),
        table(
            "",
            rows,
            text("way"),
            number("mean", "mean_s"),
            number("p99", "p99_s"),
            number("settled", "settled_s"),
            number("×", "slowdown", ".3f"),
            number("ECN marks", "marks", short_number),
            text("what"),
        ),
        _times(answer),
    ]
    if answer.simulator == FLUID:
        blocks.append(
            Notes(("ECN marks are an estimate: of packets on a full link, the part that is too much.",))
        )
    caption = "Settled: the last half of the iterations; × is beside links of their own."
    return Section("ways", "Ways of sharing", caption, tuple(blocks))


def _times(answer: SharingComparison) -> LineChart:
    """Return the mean iteration time of all jobs, by iteration and policy."""
    series = []
    for course in answer.courses:
        count = min(len(job.time_s) for job in course.jobs)
        parts = [
            job.time_s[:count] / alone_s for job, alone_s in zip(course.jobs, answer.alone_s, strict=True)
        ]
        series.append(Series(course.way, _numbers(count), tuple(np.mean(parts, axis=0).tolist())))
    title = "Iteration times, mean of all jobs"
    return LineChart("iteration_times", title, "iteration", "× on a link of its own", tuple(series))


def _numbers(count: int) -> tuple[int, ...]:
    return tuple(range(1, count + 1))


def _course(answer: SharingComparison, course: SharingCourse) -> Section:
    """Return the iterations under one policy: times and offsets of all jobs."""
    prediction = answer.prediction if _is_mltcp(course.way) else None
    count = min(len(job.time_s) for job in course.jobs)
    rows = []
    for place in range(count):
        row: dict[str, object] = {"iteration": place + 1}
        for index, job in enumerate(course.jobs):
            row[f"time {index}"] = float(job.time_s[place])
            row[f"offset {index}"] = float(job.offset_s[place])
        if prediction is not None and len(prediction.offsets):
            row["theory"] = float(prediction.iteration_times_s[place])
        rows.append(row)
    columns = [number("iteration")]
    for index, job in enumerate(course.jobs):
        columns.append(number(job.job, f"time {index}", format_time))
        if index:
            columns.append(
                number(
                    "offset" if len(course.jobs) == 2 else f"offset of {job.job}",
                    f"offset {index}",
                    format_time,
                )
            )
    if rows and "theory" in rows[0]:
        columns.append(number("theory", "theory", format_time))
    blocks: list[Block] = [table("", rows[:MOST_SHOWN], *columns)]
    if count > MOST_SHOWN:
        blocks.append(table("All iterations", rows, *columns, folded=True))
    blocks.append(_offsets(answer))
    caption = "The offset of a job is the time from the first job's last begin of sending to its own."
    return Section("course", f"Iterations under {course.way}", caption, tuple(blocks))


def _offsets(answer: SharingComparison) -> LineChart:
    """Return the offset of the second job under every policy."""
    second = 1 if len(answer.asked.profiles) > 1 else 0
    series = [
        Series(course.way, _numbers(len(job.offset_s)), tuple((job.offset_s * 1e3).tolist()))
        for course in answer.courses
        for job in (course.jobs[second],)
        if course.way != "ideal"
    ]
    if answer.prediction is not None and len(answer.prediction.offsets):
        profile = answer.asked.profiles[0]
        send_ms = profile.duty * profile.iteration_time_s * 1e3
        row = answer.prediction.offsets[:-1] * send_ms
        series.append(Series("theory", _numbers(len(row)), tuple(row.tolist()), published=True, joined=False))
    name = answer.asked.profiles[second].job
    return LineChart("offsets", f"Offset of {name}", "iteration", "offset (ms)", tuple(series))


def _theory(answer: SharingComparison, known: SharingPrediction) -> Section:
    settled = next(
        (course.slowdown(answer.alone_s) for course in answer.courses if _is_mltcp(course.way)), None
    )
    period_s = answer.asked.profiles[0].iteration_time_s
    count = known.iterations_to_converge
    fits = len(known.offsets) > 0
    entries = {
        "fair": f"{format_time(known.fair_iteration_time_s)} for ever" if fits else "",
        "settles at": f"{format_time(known.settled_iteration_time_s)}, "
        f"{known.settled_iteration_time_s / period_s:.3f} × the period"
        + (f"; simulated {settled:.3f} ×" if settled is not None else ""),
        "converges": ("never" if count is None else f"within {counted(count, 'iteration')}") if fits else
        "cannot: both do not fit into the period",
    }  # fmt: skip
    offset_ms = tuple((known.landscape_offset_s * 1e3).tolist())
    shift = Series("shift", offset_ms, tuple((known.landscape_shift_s * 1e3).tolist()), marked=False)
    charts = [
        LineChart("shift", "How far an offset moves in an iteration", "offset (ms)", "shift (ms)", (shift,))
    ]
    if len(known.landscape_loss):
        row = Series("loss", offset_ms, tuple((known.landscape_loss * 1e6).tolist()), marked=False)
        charts.append(LineChart("loss", "Loss landscape", "offset (ms)", "loss (ms²)", (row,)))
    return Section(
        "theory",
        "Theory of two jobs",
        "Jobs descend the loss landscape; its least is where they take turns.",
        (facts(entries), *charts),
    )
