"""A run on a testbed as a page: times and bytes beside the predicted, gradients beside those of one process."""

from collections.abc import Iterator

from topoopt.base.units import format_bandwidth, format_time
from topoopt.pages.page import Block, Notes, Page, Section
from topoopt.pages.rows import Column, facts, number, table, text
from topoopt.plugins.testbeds import CutLink, FabricRun, TestbedRun


def testbed_run_page(run: TestbedRun) -> Page:
    """Return a row for each fabric, and what a cut did."""
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
        "testbed", f"{run.job} on {run.servers} servers of a testbed", _summary(run), sections=tuple(sections)
    )


_NOTES = (
    "measured: median of iterations, from the moment all servers begin to the one at which the last is done",
    "bytes of links: largest difference of what a kernel counted, with headers and acknowledgments, from the "
    "payload that the flow simulator lays on the link",
    "gradients: largest difference from the same training in one process, over the largest gradient",
    "CPU: processors' worth of time that the training processes took; what the kernel forwards is not in it",
)


def _simulated(name: str) -> Column:
    """Return the column of a simulator's times."""

    def time_of(row: FabricRun) -> float:
        return row.prediction.iteration_times_s[name]

    return number(name, time_of, format_time)


def _summary(run: TestbedRun) -> str:
    return " ".join(_sentences(run))


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
