"""Jobs that shared a link of a testbed as a page: what each congestion control makes of their iterations."""

from topoopt.base.units import format_bandwidth, format_bytes, format_time
from topoopt.pages.chart import LineChart, Series
from topoopt.pages.page import Block, Notes, Page, Section
from topoopt.pages.rows import facts, joined, number, table, text
from topoopt.plugins.testbeds import TestbedShare


def testbed_share_page(share: TestbedShare) -> Page:
    """Return a row for each congestion control, and how iterations went with each."""
    first, link = share.ways[0], share.link
    setting = facts(
        {
            "jobs": f"{len(share.jobs)} processes that compute and send, all iterations begin together",
            "link": f"{format_bandwidth(link.bandwidth_bps)} for {format_bandwidth(link.capacity_bps)}; its queue "
            f"drops beyond {format_bytes(share.queue_bytes)}",
            "times": f"{link.stretch:,.4g} times longer than the jobs'",
        }
    )
    jobs = table(
        "Jobs",
        joined(job=share.jobs, dedicated_s=share.dedicated_s),
        text("job", "job.name"),
        number("sends", "job.total_bytes", format_bytes),
        number("computes", "job.compute_time_s", format_time),
        number("alone", "dedicated_s", format_time),
    )
    ways = table(
        "Iteration times",
        share.ways,
        text("congestion", "name"),
        number("first", "first_slowdown", ".3f"),
        number("steady", "slowdown", ".3f"),
        number("best run", "least_slowdown", ".3f"),
        number("worst run", "most_slowdown", ".3f"),
        number(f"of {first.name}'s", lambda way: way.slowdown / first.slowdown, ".2f"),
        number("dropped", "dropped_packets", ",.0f"),
    )
    blocks: list[Block] = [setting, jobs, ways, Notes(_notes(share)), _chart(share)]
    return Page(
        "testbed",
        f"{len(share.jobs)} jobs share a link of this machine",
        _summary(share),
        sections=(Section("sharing", "Sharing a link", "", tuple(blocks)),),
    )


def _notes(share: TestbedShare) -> tuple[str, ...]:
    runs = len(share.ways[0].runs)
    lines = [
        "times over that of the job alone on the link under reno, the mean of all jobs: of the first iteration, and of "
        f"the last half (steady), the mean of {runs} runs; best and worst of them",
        "dropped: packets of a run, before the link",
    ]
    if share.time_shifts_s:
        shifts = ", ".join(map(format_time, share.time_shifts_s))
        lines.append(f"CASSINI: the jobs begin {shifts} late, once")
    return tuple(lines)


def _chart(share: TestbedShare) -> LineChart:
    """Return a line for each way: the mean of all runs, iteration by iteration."""
    series = []
    for way in share.ways:
        columns = list(zip(*(run.slowdowns for run in way.runs), strict=False))
        means = tuple(sum(column) / len(column) for column in columns)
        series.append(Series(way.name, tuple(float(n + 1) for n in range(len(means))), means))
    return LineChart(
        "iterations",
        "Iteration time over that of a job alone",
        "iteration",
        "times as long",
        tuple(series),
        note="mean of all jobs and runs",
    )


def _summary(share: TestbedShare) -> str:
    said = [f"{way.name}: {way.slowdown:.3f} times the time alone" for way in share.ways]
    return f"{'; '.join(said)}."
