"""MLTCP's figures: two jobs slide apart as in the recursion, and the gain for many."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from topoopt.base.answers import Progress
from topoopt.clusters.interleave import (
    CommunicationProfile,
    LinkSharing,
    PeriodicJob,
    PeriodicRun,
    Phase,
    fair_sharing,
    interleave,
    iterations_to_converge,
    loss,
    mltcp_sharing,
    offsets,
    run_periodic_jobs,
    settled_iteration_time_s,
)
from topoopt.pages import Chart, Series
from topoopt.plugins.papers.figure import Comparison, Figure, Row, StudySettings, description
from topoopt.simulation import DECREASING, Aggressiveness

TEXT = description("mltcp")
PERIOD_S, CAPACITY_BPS = 1.0, 50e9
FAIR_PART, CROWDED_PART = 0.4, 0.6
"""Fraction of an iteration in which each of two jobs sends: they can interleave, or cannot."""
FIRST_OFFSET = 0.05
MANY_PART = 0.9
"""Fraction of the period in which some of many jobs send when they are interleaved."""
NOISE = 0.01
COUNTS = (2, 3, 4, 5, 6, 8)
PAIR_ITERATIONS, MANY_ITERATIONS = 40, 520
FIRST_ITERATIONS = 20
"""Iterations in which many jobs separate, excluded from mean and percentile."""
PAIR: Mapping[str, LinkSharing] = {
    "fair": fair_sharing(),
    "mltcp": mltcp_sharing(),
    "decreasing": mltcp_sharing(DECREASING),
}


def mltcp(settings: StudySettings, on_progress: Progress) -> Figure:
    """Return the separation of two jobs, and the gain of many from it."""
    on_progress("mltcp: two jobs", 0, 1 + len(COUNTS))
    rows = [row for name in PAIR for row in _pair_rows(name, FAIR_PART)]
    rows += [row for name in ("fair", "mltcp") for row in _pair_rows(name, CROWDED_PART)]
    many: list[Row] = []
    for done, count in enumerate(COUNTS, 1):
        on_progress(f"mltcp: {count} jobs", done, 1 + len(COUNTS))
        many += list(_many_rows(count, settings.seed))
    return TEXT.figure(
        [*rows, *many],
        [*_theory(), *_compared(rows), *_gains(many)],
        [TEXT.chart("time", _drawn(rows), _published(rows)), _landscape(), TEXT.chart("jobs", many)],
        first=FIRST_OFFSET,
        fair=_last(rows, "fair", FAIR_PART),
        decreasing=_last(rows, "decreasing", FAIR_PART),
        part=MANY_PART,
        noise=NOISE,
        skipped=FIRST_ITERATIONS,
        most=max(COUNTS),
        bound=2 - 1 / max(COUNTS),
    )


def _pair(part: float, offset: float, sharing: LinkSharing, iterations: int) -> PeriodicRun:
    """Return two equal jobs; the second begins later by a part of its communication."""
    profile = CommunicationProfile("job", PERIOD_S, (Phase(0.0, part * PERIOD_S, CAPACITY_BPS),))
    jobs = [PeriodicJob(profile), PeriodicJob(profile, begin_s=offset * part * PERIOD_S)]
    return run_periodic_jobs(jobs, [CAPACITY_BPS], sharing=sharing, iterations=iterations)


def _offsets(run: PeriodicRun, part: float) -> list[float]:
    """Return the second job's offset in each iteration, as a part of its communication."""
    first, second = (job.send_s for job in run.jobs)
    count = min(len(first), len(second))
    return list(((second[:count] - first[:count]) / (part * PERIOD_S)).tolist())


def _pair_rows(name: str, part: float) -> Iterator[Row]:
    run = _pair(part, FIRST_OFFSET, PAIR[name], PAIR_ITERATIONS)
    for number, (offset, time_s) in enumerate(
        zip(_offsets(run, part), run.jobs[0].time_s.tolist(), strict=False), 1
    ):
        yield {
            "jobs": 2,
            "communication_part": part,
            "sharing": name,
            "iteration": number,
            "offset": offset,
            "iteration_over_period": time_s / PERIOD_S,
        }


def _many_rows(count: int, seed: int) -> Iterator[Row]:
    """Yield times of equal jobs that would just interleave, when all begin together."""
    part = MANY_PART / count
    profiles = [
        CommunicationProfile(f"job {number}", PERIOD_S, (Phase(0.0, part * PERIOD_S, CAPACITY_BPS),))
        for number in range(count)
    ]
    shifts_s = interleave(profiles, CAPACITY_BPS, seed=seed).time_shifts_s
    for name, sharing in (("fair", fair_sharing()), ("mltcp", mltcp_sharing()), ("cassini", fair_sharing())):
        slot_s = PERIOD_S if name == "cassini" else 0.0
        begins_s = shifts_s if name == "cassini" else (0.0,) * count
        jobs = [
            PeriodicJob(profile, begin_s=begin_s, noise=NOISE, slot_s=slot_s)
            for profile, begin_s in zip(profiles, begins_s, strict=True)
        ]
        run = run_periodic_jobs(jobs, [CAPACITY_BPS], sharing=sharing, iterations=MANY_ITERATIONS, seed=seed)
        times_s = np.concatenate([job.period_s[FIRST_ITERATIONS:MANY_ITERATIONS] for job in run.jobs])
        yield {
            "jobs": count,
            "communication_part": part,
            "sharing": name,
            "mean_over_period": float(times_s.mean()) / PERIOD_S,
            "p99_over_period": float(np.percentile(times_s, 99)) / PERIOD_S,
            "ecn_marks": run.ecn_marks,
        }


def _theory() -> Iterator[Comparison]:
    """Yield offsets of a run from 0.01, beside the recursion."""
    run = _pair(FAIR_PART, 0.01, mltcp_sharing(), 8)
    for number, (ours, published) in enumerate(
        zip(_offsets(run, FAIR_PART)[1:], TEXT.tables["recursion"], strict=False), 1
    ):
        yield TEXT.comparison("recursion", ours, published=published, iterations=number)


def _of_mltcp(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row["sharing"] == "mltcp" and row["communication_part"] == FAIR_PART]


def _published(rows: Sequence[Row]) -> Series:
    times = TEXT.tables["times"]
    at = tuple(row["iteration"] for row in _of_mltcp(rows)[: len(times)])
    return Series("MLTCP (published)", at, tuple(times[: len(at)]), published=True)


def _compared(rows: Sequence[Row]) -> Iterator[Comparison]:
    ours = _of_mltcp(rows)
    for row, published in zip(ours, TEXT.tables["times"], strict=False):
        yield TEXT.comparison(
            "time", row["iteration_over_period"], published=published, iteration=row["iteration"]
        )
    yield TEXT.comparison("fair", _last(rows, "fair", FAIR_PART))
    settled = settled_iteration_time_s(PERIOD_S, np.full(2, CROWDED_PART * PERIOD_S)) / PERIOD_S
    yield TEXT.comparison("settled", _last(rows, "mltcp", CROWDED_PART), published=settled)
    apart = next(number for number, row in enumerate(ours) if row["offset"] >= 0.99)
    yield TEXT.comparison(
        "converged", apart, published=iterations_to_converge(FIRST_OFFSET, Aggressiveness())
    )


def _gains(many: Sequence[Row]) -> Iterator[Comparison]:
    found = {(row["jobs"], row["sharing"]): row for row in many}
    for count in dict.fromkeys(row["jobs"] for row in many):
        fair, ours = found[count, "fair"], found[count, "mltcp"]
        yield TEXT.comparison("mean", fair["mean_over_period"] / ours["mean_over_period"], jobs=count)
        yield TEXT.comparison("tail", fair["p99_over_period"] / ours["p99_over_period"], jobs=count)


def _last(rows: Sequence[Row], sharing: str, part: float) -> float:
    own = [row for row in rows if (row["sharing"], row["communication_part"]) == (sharing, part)]
    return float(own[-1]["iteration_over_period"])


def _drawn(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row["communication_part"] == FAIR_PART and row["iteration"] <= 12]


def _landscape() -> Chart:
    """Return the loss over the offset, and the steps that are made down it."""
    form, long_s = Aggressiveness(), FAIR_PART * PERIOD_S
    everywhere = np.linspace(0.0, 1.0, 101)
    steps = offsets(FIRST_OFFSET, 8, form)
    curves = [
        Series(name, tuple(at.tolist()), tuple(loss(at * long_s, long_s, form).tolist()), joined=joined)
        for name, at, joined in (("loss", everywhere, True), ("iterations", steps, False))
    ]
    return TEXT.chart("landscape", (), *curves)
