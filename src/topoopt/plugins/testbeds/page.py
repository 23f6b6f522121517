"""A run on a testbed as a page: times and bytes beside the predicted, gradients beside those of one process."""

from collections.abc import Iterator

from topoopt.base.units import format_bandwidth, format_bytes, format_time
from topoopt.pages import (
    Block,
    Column,
    LineChart,
    Notes,
    Page,
    Section,
    Series,
    Table,
    counted,
    facts,
    joined,
    number,
    table,
    text,
)
from topoopt.plugins.testbeds.sharing.shared_run import TestbedShare
from topoopt.plugins.testbeds.standing_testbeds import TestbedsAnswer
from topoopt.plugins.testbeds.training.fabric_run import CutLink, FabricRun
from topoopt.plugins.testbeds.training.testbed_run import TestbedRun

_SAID = {"up": "put up", "down": "removed", "status": "on this machine"}


def testbed_run_page(run: TestbedRun) -> Page:
    """Return a row for each fabric, and the effect of a cut."""
    first, scale = run.fabrics[0], run.scale
    simulators = [_simulated(name) for name in first.prediction.iteration_times_s]
    link_bps = run.link_bandwidth_bps / scale.bandwidth
    small = facts(
        {
            "servers": f"{run.servers} network namespaces, a PyTorch process in each",
            "links": f"{format_bandwidth(link_bps)} for {format_bandwidth(run.link_bandwidth_bps)}, "
            f"{scale.bandwidth:,.0f} times slower",
            "messages": f"{scale.size:,.4g} times smaller, so that times are {scale.time:,.4g} times longer",
            "computing": "as much longer, as a timed sleep; a small model really trains beside it",
        }
    )
    times = table(
        "Iteration time",
        run.fabrics,
        text("fabric"),
        number("a server", "server_bandwidth_bps", format_bandwidth),
        number("measured", "iteration_time_s", format_time),
        number("×", lambda row: row.iteration_time_s / first.iteration_time_s, ".2f"),
        *simulators,
        number("over flow", "excess", "+z.1%"),
        number("plan's scale", run.planned_time_s, format_time),
    )
    checks = table(
        "What was checked",
        run.fabrics,
        text("fabric"),
        number("bytes of links", "largest_link_excess", "+z.1%"),
        number("dropped", "dropped_packets", ",d"),
        number("gradients off by", "gradient_error", ".1e"),
        text("forwarding"),
        number("CPU", lambda row: row.iterations.cpu_s / sum(row.iterations.measured_s), ".2f"),
    )
    blocks: list[Block] = [small, times, checks, Notes(_NOTES)]
    sections = [Section("testbed", "Measured", "", tuple(blocks))]
    sections += [
        Section("cut", "A link cut", "", (_cut(row, row.cut),)) for row in run.fabrics if row.cut is not None
    ]
    return Page(
        "testbed",
        f"{run.job} on {run.servers} servers of a testbed",
        " ".join(_sentences(run)),
        sections=tuple(sections),
    )


_NOTES = (
    "measured: median of iterations, from the moment all servers begin to the one at which the last is done",
    "bytes of links: largest difference of what a kernel counted, with headers and acknowledgments, from the "
    "payload that the flow simulator lays on the link",
    "gradients: largest difference from the same training in one process, over the largest gradient",
    "CPU: processors' worth of time that the training processes took; what the kernel forwards is not in it",
)


def _simulated(name: str) -> Column:
    def time_of(row: FabricRun) -> float:
        return row.prediction.iteration_times_s[name]

    return number(name, time_of, format_time)


def _sentences(run: TestbedRun) -> Iterator[str]:
    first = run.fabrics[0]
    yield f"{first.fabric}: {format_time(first.iteration_time_s)} an iteration,"
    yield f"{first.excess:+z.1%} from the flow simulator."
    for row in run.fabrics[1:]:
        yield f"{row.fabric} takes {row.iteration_time_s / first.iteration_time_s:.2f} times as long."


def _cut(row: FabricRun, cut: CutLink) -> Block:
    return facts(
        {
            "link": f"{cut.src}-{cut.dst}, in iteration {cut.iteration}, while messages were on it",
            "repair": cut.repair,
            "before": format_time(cut.before_s),
            "during": f"{format_time(cut.during_s)}, the repair and what was lost on the way with it",
            "after": f"{format_time(cut.after_s)}; predicted {format_time(cut.predicted_s)}, "
            f"{cut.after_s / cut.predicted_s - 1:+z.1%}",
            "gradients": f"off by {row.gradient_error:.1e} at most, after the repair, too",
        }
    )


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
    said = [f"{way.name}: {way.slowdown:.3f} times the time alone" for way in share.ways]
    testbed_share_page_summary = f"{'; '.join(said)}."
    return Page(
        "testbed",
        f"{len(share.jobs)} jobs share a link of this machine",
        testbed_share_page_summary,
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
    """Return a line per policy: the mean of all runs, by iteration."""
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


def testbeds_page(answer: TestbedsAnswer) -> Page:
    """Return a row for each testbed."""
    blocks: list[Block] = [_rows(answer)] if answer.testbeds else []
    notes = [f"{name} was left alone: {reason}" for name, reason in answer.left_alone.items()]
    notes += [
        f"{state.name}: its record is damaged: {state.damage}" for state in answer.testbeds if state.damage
    ]
    if answer.checked_pairs:
        notes.append(f"packets of all {answer.checked_pairs} pairs go as the plan says; {answer.why}")
    if not blocks:
        notes.insert(0, "none")
    if notes:
        blocks.append(Notes(tuple(notes)))
    return Page(
        "testbed",
        f"testbeds {_SAID[answer.done]}",
        f"{counted(len(answer.testbeds), 'testbed')} {_SAID[answer.done]}.",
        sections=(Section("testbeds", "Testbeds", "", tuple(blocks)),),
    )


def _rows(answer: TestbedsAnswer) -> Table:
    return table(
        "",
        answer.testbeds,
        text("name"),
        text("standing"),
        number("servers"),
        number("cables"),
        number("bandwidth", "bandwidth_bps"),
        number("scale"),
        text("forwarding"),
        text(
            "namespaces",
            lambda state: " ... ".join(dict.fromkeys(state.namespaces[:1] + state.namespaces[-1:])),
        ),
    )
