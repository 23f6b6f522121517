"""What a job sends in one iteration, as a page: its phases, and the rate over time."""

import itertools

import numpy as np

from topoopt.base.units import format_bandwidth, format_bytes, format_time
from topoopt.clusters.interleave import JobPhases, MeasuredProfile
from topoopt.pages.chart import LineChart, Series
from topoopt.pages.page import Block, Page, Section, Tile
from topoopt.pages.rows import facts, number, table, text
from topoopt.pages.words import counted


def phases_page(answer: JobPhases) -> Page:
    """Return the phases of the busiest link, and what is sent on the others."""
    profile = answer.profile
    count = counted(len(profile.phases), "phase")
    return Page(
        "phases",
        f"{profile.job}: {count} in an iteration of {format_time(profile.iteration_time_s)}",
        f"It sends for {profile.duty:.1%} of an iteration, at most {format_bandwidth(profile.peak_bps)}.",
        (
            Tile("Iteration", format_time(profile.iteration_time_s)),
            Tile("Sends for", f"{profile.duty:.1%}"),
            Tile("Bytes", format_bytes(profile.size_bytes)),
        ),
        sections=(_phases(answer), *_others(answer)),
        key_numbers={"iteration_time_s": profile.iteration_time_s, "duty": profile.duty},
    )


def _phases(answer: JobPhases) -> Section:
    profile, measured = answer.profile, answer.measured.get(answer.link)
    entries = {
        "link": answer.link,
        "from": answer.path if answer.source == answer.path else f"{answer.path}, {answer.source}",
        "sends": f"{format_bytes(profile.size_bytes)} in {profile.duty:.1%} of the iteration",
        **({} if measured is None else _measured(measured)),
    }
    blocks: list[Block] = [
        facts(entries),
        table(
            "",
            profile.phases,
            number("start", "start_s"),
            number("duration", "duration_s"),
            number("rate", "bandwidth_bps"),
            number("bytes", "size_bytes"),
        ),
        _chart(answer),
    ]
    return Section("phases", "Phases", "When the job sends, and at which rate.", tuple(blocks))


def _measured(measured: MeasuredProfile) -> dict[str, str]:
    spread = f", ± {format_time(measured.spread_s)} from one to the next" if measured.iterations > 2 else ""
    quiet = f"{format_bandwidth(measured.background_bps)} between phases are left out"
    return {
        "measured": f"mean of {counted(measured.iterations, 'iteration')}{spread}",
        "background": quiet if measured.background_bps > 0 else "",
    }


def _chart(answer: JobPhases) -> LineChart:
    profile = answer.profile
    period_s = profile.iteration_time_s
    edges = sorted(
        {
            0.0,
            period_s,
            *(edge for phase in profile.phases for edge in (phase.start_s, phase.end_s % period_s)),
        }
    )
    middles = [(a + b) / 2 for a, b in itertools.pairwise(edges)]
    rates = (profile.demand_bps(np.array(middles)) / 1e9).tolist()
    line = Series(
        profile.job, tuple(1e3 * edge for edge in edges), (*rates, rates[-1]), stepped=True, marked=False
    )
    return LineChart(
        "phases",
        "Rate over an iteration",
        "time (ms)",
        "rate (Gb/s)",
        (line,),
        x_from_zero=True,
        y_from_zero=True,
    )


def _others(answer: JobPhases) -> tuple[Section, ...]:
    if len(answer.profiles) < 2:
        return ()
    rows = [
        {
            "link": link,
            "phases": len(profile.phases),
            "sends for": f"{profile.duty:.1%}",
            "bytes": format_bytes(profile.size_bytes),
            "peak": format_bandwidth(profile.peak_bps),
        }
        for link, profile in answer.profiles.items()
    ]
    columns = [text("link"), number("phases"), *(number(name) for name in ("sends for", "bytes", "peak"))]
    return (
        Section(
            "links", "Links", "All that carry something, the busiest first.", (table("", rows, *columns),)
        ),
    )
