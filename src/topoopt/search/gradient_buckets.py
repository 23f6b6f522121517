"""Settings that a plan chooses for a found strategy: gradient buckets, micro-batches, algorithm of each message."""

from collections.abc import Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from topoopt.base.workers import in_threads
from topoopt.collectives import QUICKEST
from topoopt.jobs import (
    AUTO_BUCKET,
    AUTO_MICROBATCHES,
    AUTOMATIC,
    BUCKET_SIZES,
    DDP_BUCKET_BYTES,
    MICROBATCHES,
    Job,
    OperatorsWork,
)
from topoopt.plans import Baseline, GradientChoice
from topoopt.routing import Fabric
from topoopt.search.baselines import Fidelity, outcome_on, ringed
from topoopt.search.candidates.candidate import Candidate, simulated
from topoopt.search.microbatches import FEW, is_small, possible_counts, with_settings
from topoopt.workloads import ParallelStrategy

WORTH_CHANGING = MappingProxyType({"bucket_bytes": 1e-3, "microbatches": 0.01})
"""Fraction of the iteration time that another than the default must save to be chosen."""

WORTH_ALGORITHMS = 0.01
"""Fraction of the iteration time that an algorithm per message must save in simulation to be chosen over rings.

Broadcasts and trees of neighboring buckets overlap on links, where their time depends on the sharing: the other
simulators see half a percent less of the savings in ``analytic``, or none. DLRM on 16 servers with 4 interfaces of
100 Gb/s gains 0.5 % in ``analytic`` and 0.2 % in ``flow``, BERT on 16 gains 0.1 % and loses as much."""


NOT_CHOSEN = GradientChoice()
Elsewhere = tuple[tuple[str, tuple[int, ...]], ...]
Times = tuple[tuple[int, float], ...]
"""Value of a setting and iteration time with it."""


def is_worth_it(by_message_s: float, rings_s: float) -> bool:
    """Return whether an algorithm for each message replaces rings."""
    return by_message_s <= (1 - WORTH_ALGORITHMS) * rings_s


def with_gradients_settled(job: Job, asked: Job, best: Candidate) -> tuple[Job, Candidate, GradientChoice]:
    """Return the job with the fastest buckets and algorithms, its candidate, and the alternatives tried.

    Parameters
    ----------
    job, asked : Job
        Job as searched, and as requested: see :func:`for_search`.
    """
    if not isinstance(job.work, OperatorsWork):
        return asked, best, NOT_CHOSEN
    best, choice = best.whole(), NOT_CHOSEN
    if job.settings.bucket_bytes == AUTO_BUCKET:
        sizes = BUCKET_SIZES if is_small(job) else (DDP_BUCKET_BYTES, max(BUCKET_SIZES))
        job, best, times_s = _settled_by(job, best, "bucket_bytes", sizes)
        choice = replace(choice, bucket_times_s=times_s)
    if job.settings.microbatches == AUTO_MICROBATCHES:
        counts = possible_counts(job, MICROBATCHES)
        times_s = ()
        if len(counts) > 1:
            job, best, times_s = _settled_by(job, best, "microbatches", counts[:2])
            if len(counts) > 2 and times_s[1][1] < times_s[0][1]:
                job, best, times_s = _settled_by(job, best, "microbatches", counts[2:], times_s)
        job = job if times_s else with_settings(job, microbatches=1)
        choice = replace(choice, microbatch_times_s=times_s)
    collective = asked.settings.collective
    if collective == job.settings.collective or (collective == QUICKEST and not is_small(job)):
        return job, best, choice
    job = with_settings(job, collective=collective)
    result = simulated(job, best.strategy, best.fabric)
    if collective != QUICKEST:
        return job, best.with_result(result, job), choice
    choice = replace(choice, rings_s=best.time_s, by_message_s=result.iteration_time_s)
    if not is_worth_it(result.iteration_time_s, best.time_s):
        return with_settings(job, collective="stepped"), best, choice
    return job, best.with_result(result, job), choice


def _settled_by(
    job: Job, best: Candidate, name: str, values: Sequence[int], known: Times = ()
) -> tuple[Job, Candidate, Times]:
    """Return the job and candidate with the fastest value of a setting, and the time with each that was tried.

    ``known`` are the times with values tried before, of which the candidate has the best.
    """
    jobs = [with_settings(job, **{name: value}) for value in values]
    results = in_threads(best.result_again, jobs)
    times_s = tuple((value, result.iteration_time_s) for value, result in zip(values, results, strict=True))
    tried = [*zip(times_s, jobs, results, strict=True)]
    if known:
        tried.append(((getattr(job.settings, name), best.time_s), job, best.result))
    _, job, result = min(tried, key=lambda row: _weighed_s(name, *row[0]))
    return job, best.with_result(result, job), (*known, *times_s)


def as_asked(job: Job, gradients: GradientChoice) -> Job:
    """Return the job of a plan with the settings left open that the plan has chosen."""
    times_s = {"bucket_bytes": gradients.bucket_times_s, "microbatches": gradients.microbatch_times_s}
    return with_settings(job, **{name: AUTOMATIC[name][0] for name, tried in times_s.items() if tried})


def tried_elsewhere(job: Job, gradients: GradientChoice = NOT_CHOSEN) -> tuple[Job, Elsewhere]:
    """Return the job on other fabrics, and the values tried there of settings left open, which a plan has chosen.

    More micro-batches are tried only where fewer are faster than one.
    """
    if not is_small(job):
        return job, ()
    asked = as_asked(job, gradients)
    return asked, tuple(
        (name, few) for name, few in FEW.items() if getattr(asked.settings, name) == AUTOMATIC[name][0]
    )


def settled(
    job: Job,
    row: Baseline,
    fabric: Fabric,
    seed: int,
    fidelity: Fidelity,
    cut: Sequence[tuple[ParallelStrategy, int]] = (),
) -> Baseline:
    """Return a baseline with the fastest of some buckets, and an algorithm per message where that is faster.

    On circuits that change, both are the default ones. Strategies for several micro-batches replace the row's where
    they are faster; see :func:`cut_strategies`.
    """
    for name, _ in fidelity.tried:
        row = _changed(row, name, AUTOMATIC[name][1])
    if fabric.reconfiguration is not None:
        return row
    for strategy, count in cut:
        changed = replace(row, strategy=strategy, microbatches=count)
        laid = ringed(job, strategy, fabric, seed)
        other = outcome_on(job_of_baseline(job, changed), strategy, laid, fidelity.of_search)
        now_s = _weighed_s("microbatches", row.microbatches or 1, row.outcome.iteration_time_s)
        if _weighed_s("microbatches", count, other.iteration_time_s) < now_s:
            row = replace(changed, outcome=other)
    laid = ringed(job, row.strategy, fabric, seed)
    for name, values in fidelity.tried:
        for value in possible_counts(job, values) if name == "microbatches" else values:
            changed = _changed(row, name, value)
            other = outcome_on(job_of_baseline(job, changed), row.strategy, laid, fidelity.of_search)
            now_s = _weighed_s(name, getattr(row, name), row.outcome.iteration_time_s)
            if _weighed_s(name, value, other.iteration_time_s) < now_s:
                row = replace(changed, outcome=other)
            elif name == "microbatches":
                break
    if fidelity.options.algorithm == QUICKEST and is_small(job):
        other = outcome_on(job_of_baseline(job, row), row.strategy, laid, fidelity)
        if is_worth_it(other.iteration_time_s, row.outcome.iteration_time_s):
            row = replace(row, outcome=other)
    return row


def _changed(row: Baseline, name: str, value: int) -> Baseline:
    change: dict[str, Any] = {name: value}
    return replace(row, **change)


def _weighed_s(name: str, value: int, time_s: float) -> float:
    """Return the time by which values of a setting are compared: another than the default must save something."""
    return time_s if value == AUTOMATIC[name][1] else time_s * (1 + WORTH_CHANGING[name])


def job_of_baseline(job: Job, row: Baseline) -> Job:
    """Return the job of a plan with the buckets and micro-batches that a baseline has."""
    own: dict[str, Any] = {name: getattr(row, name) for name in AUTOMATIC if getattr(row, name) is not None}
    return with_settings(job, **own) if own else job
