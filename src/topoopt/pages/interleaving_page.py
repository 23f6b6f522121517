"""Jobs interleaved on a link, as a page: start times, savings, and circles."""

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from topoopt.base.answers import fields_of
from topoopt.base.arrays import Floats
from topoopt.base.units import format_bandwidth, format_bytes, format_time
from topoopt.clusters.interleave import Interleaving, JobPhases, MeasuredProfile
from topoopt.pages.chart import Arc, LineChart, PolarChart, Series
from topoopt.pages.page import Block, Page, Section, Tile
from topoopt.pages.tables import counted, facts, number, table, text

MOST_ANGLES = 720
"""Most angles drawn; beyond, several are drawn as one, with their highest rate."""
JOBS_FROM, JOBS_TO = 0.22, 0.66
TOGETHER_FROM, TOGETHER_TO = 0.70, 1.0
"""Radii of the circles of jobs, and of their total demand."""
FILLED = 0.88
"""Filled fraction of a ring's width; the rest separates it from the next."""
TICKS = 8
TOGETHER, EXCESS = "together", "excess"


def interleaving_page(answer: Interleaving) -> Page:
    """Return the score, every job's rotation and time-shift, and the circles before and after."""
    score, unrotated = f"{answer.score:.4g}", f"{answer.unrotated_score:.4g}"
    jobs, link = counted(len(answer.profiles), "job"), format_bandwidth(answer.capacity_bps)
    caption = (
        "One turn is the least common multiple of the iteration times. A rotation moves all copies of a job along "
        "its ring; where the outer ring reaches over the dashed circle, the link is asked for more than it has."
    )
    circles = Section("circles", "Circles", caption, circle_charts(answer))
    mean_bps = sum(8 * profile.size_bytes / profile.iteration_time_s for profile in answer.profiles)
    entries = {
        "score": f"{answer.score:.4g} rotated, {answer.unrotated_score:.4g} as they come",
        "together": f"{format_bandwidth(mean_bps)} on average, at most {format_bandwidth(float(answer.demand.max()))} "
        f"rotated, {format_bandwidth(float(answer.unrotated_demand.max()))} as they come",
        "circle": f"{format_time(answer.period_s)} around, an angle each {format_time(answer.circle.angle_s)}",
        "solver": answer.solver,
    }
    return Page(
        "shared link",
        f"{jobs} on a link of {link}",
        _headline(answer),
        (
            Tile("Score", score, "1: the link carries everything"),
            Tile("Unrotated", unrotated),
            Tile("Period", format_time(answer.period_s)),
        ),
        answer.advice.warnings,
        (Section("link", "The link", "What is asked of it.", (facts(entries),)), _jobs(answer), circles),
        key_numbers={
            **fields_of(answer, "score", "unrotated_score", "period_s"),
        },
    )


def _headline(answer: Interleaving) -> str:
    over, was = (1 - answer.score), (1 - answer.unrotated_score)
    if over <= 1e-9:
        return f"Rotated, the link carries everything; as they come, {was:.1%} of its capacity is asked for in vain."
    return f"Rotated, {over:.1%} of the link's capacity is asked for in vain; as they come, {was:.1%}."


def _jobs(answer: Interleaving) -> Section:
    rows = [{**row, "name": name} for name, row in zip(job_names(answer), answer.rows(), strict=True)]
    block = table(
        "",
        rows,
        text("job", "name"),
        number("iteration", "iteration_time_s"),
        number("sends", "duty", ".1%"),
        number("at most", "peak_bps"),
        number("copies"),
        number("rotation", "rotation_deg", lambda degrees: f"{degrees:.4g}°"),
        number("time-shift", "time_shift_s"),
        number("leeway", "leeway_s", lambda leeway_s: f"±{format_time(leeway_s)}"),
    )
    caption = (
        "Each job begins later by its time-shift, once; early or late within its leeway, the score stays."
    )
    return Section("jobs", "Jobs", caption, (block,))


def circle_charts(answer: Interleaving) -> tuple[PolarChart, PolarChart]:
    """Return the circles before and after the rotations, to one scale."""
    still = (0,) * len(answer.shifts)
    peak_bps = max(float(answer.unrotated_demand.max()), answer.capacity_bps)
    return (
        _chart(
            answer, "circles_before", f"As they come: score {answer.unrotated_score:.3f}", still, peak_bps
        ),
        _chart(answer, "circles_after", f"Rotated: score {answer.score:.3f}", answer.shifts, peak_bps),
    )


def job_names(answer: Interleaving) -> list[str]:
    """Return the names of the jobs, with numbers where two have the same."""
    names = [profile.job for profile in answer.profiles]
    return [
        f"{name} #{names[:number].count(name) + 1}" if names.count(name) > 1 else name
        for number, name in enumerate(names)
    ]


def _chart(answer: Interleaving, name: str, title: str, shifts: Sequence[int], peak_bps: float) -> PolarChart:
    circle = answer.circle
    arcs = [
        arc
        for number, job in enumerate(job_names(answer))
        for arc in _job(answer, number, job, np.roll(circle.demands_bps[number], shifts[number]))
    ]
    arcs += _together(answer, circle.rotated_bps(shifts), peak_bps)
    at = TOGETHER_FROM + (TOGETHER_TO - TOGETHER_FROM) * answer.capacity_bps / peak_bps
    turns = [360 * tick / TICKS for tick in range(TICKS)]
    return PolarChart(
        name,
        title,
        (*job_names(answer), TOGETHER, EXCESS),
        tuple(arcs),
        ((at, f"capacity, {format_bandwidth(answer.capacity_bps)}"),),
        tuple((turn, format_time(turn / 360 * answer.period_s, 3)) for turn in turns),
        note=f"Once around is {format_time(answer.period_s)}. Inside a ring a job, as far out as its rate; around them "
        "what all send together.",
    )


def _job(answer: Interleaving, number: int, name: str, demand_bps: Floats) -> Iterator[Arc]:
    """Yield the sending times of a job: rings from the inside out, rates to one scale."""
    wide = (JOBS_TO - JOBS_FROM) / len(answer.profiles)
    inner = JOBS_FROM + wide * number
    most_bps = max(profile.peak_bps for profile in answer.profiles)
    for start_deg, width_deg, rate_bps in _runs(demand_bps):
        label = f"{name}: {_when(answer, start_deg, width_deg)}, {format_bandwidth(rate_bps)}"
        yield Arc(start_deg, width_deg, inner, inner + FILLED * wide * rate_bps / most_bps, name, label)


def _together(answer: Interleaving, demand_bps: Floats, peak_bps: float) -> Iterator[Arc]:
    """Yield the total demand: up to the capacity, and beyond it."""
    scale = (TOGETHER_TO - TOGETHER_FROM) / peak_bps
    for start_deg, width_deg, rate_bps in _runs(demand_bps):
        label = f"together: {_when(answer, start_deg, width_deg)}, {format_bandwidth(rate_bps)}"
        carried = TOGETHER_FROM + scale * min(rate_bps, answer.capacity_bps)
        yield Arc(start_deg, width_deg, TOGETHER_FROM, carried, TOGETHER, label)
        if rate_bps > answer.capacity_bps:
            yield Arc(start_deg, width_deg, carried, TOGETHER_FROM + scale * rate_bps, EXCESS, label)


def _when(answer: Interleaving, start_deg: float, width_deg: float) -> str:
    begin_s, end_s = (answer.period_s * degrees / 360 for degrees in (start_deg, start_deg + width_deg))
    return f"{format_time(begin_s)} to {format_time(end_s)}"


def _runs(demand_bps: Floats) -> Iterator[tuple[float, float, float]]:
    """Yield start and width in degrees, and the rate, of every stretch of one rate above 0."""
    angles = len(demand_bps)
    starts = np.unique(np.linspace(0, angles, min(angles, MOST_ANGLES), endpoint=False).astype(np.int64))
    rates = np.maximum.reduceat(demand_bps, starts)
    first = np.flatnonzero(np.append(True, rates[1:] != rates[:-1]))
    begins, ends = starts[first], np.append(starts[first[1:]], angles)
    for begin, end, rate_bps in zip(begins.tolist(), ends.tolist(), rates[first].tolist(), strict=True):
        if rate_bps > 0:
            yield 360 * begin / angles, 360 * (end - begin) / angles, rate_bps


def phases_page(answer: JobPhases) -> Page:
    """Return the phases of the busiest link, and the traffic of the others."""
    profile = answer.profile
    count = counted(len(profile.phases), "phase")
    if len(answer.profiles) < 2:
        others: tuple[Section, ...] = ()
    else:
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
        others = (
            Section(
                "links", "Links", "All that carry something, the busiest first.", (table("", rows, *columns),)
            ),
        )
    return Page(
        "phases",
        f"{profile.job}: {count} in an iteration of {format_time(profile.iteration_time_s)}",
        f"It sends for {profile.duty:.1%} of an iteration, at most {format_bandwidth(profile.peak_bps)}.",
        (
            Tile("Iteration", format_time(profile.iteration_time_s)),
            Tile("Sends for", f"{profile.duty:.1%}"),
            Tile("Bytes", format_bytes(profile.size_bytes)),
        ),
        sections=(_phases(answer), *others),
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
        _phases_page_chart(answer),
    ]
    return Section("phases", "Phases", "When the job sends, and at which rate.", tuple(blocks))


def _measured(measured: MeasuredProfile) -> dict[str, str]:
    spread = f", ± {format_time(measured.spread_s)} from one to the next" if measured.iterations > 2 else ""
    quiet = f"{format_bandwidth(measured.background_bps)} between phases are left out"
    return {
        "measured": f"mean of {counted(measured.iterations, 'iteration')}{spread}",
        "background": quiet if measured.background_bps > 0 else "",
    }


def _phases_page_chart(answer: JobPhases) -> LineChart:
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
