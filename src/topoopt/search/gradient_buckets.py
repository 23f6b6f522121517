"""Reduction of the gradients of a plan: bucket size, and algorithm of each message."""

from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

from topoopt.base.workers import in_threads
from topoopt.collectives import QUICKEST
from topoopt.jobs import AUTO_BUCKET, BUCKET_SIZES, DDP_BUCKET_BYTES, Job, OperatorsWork
from topoopt.plans import Baseline, GradientChoice
from topoopt.routing import Fabric
from topoopt.search.baselines import Fidelity, outcome_on, ringed
from topoopt.search.candidates.candidate import Candidate, simulated
from topoopt.simulation import SimResult

LARGEST_TO_SETTLE = 256
"""Servers up to which all sizes of buckets are tried, here and on other fabrics, and an algorithm for each message. Of
1,024 servers each simulation takes seconds of CPU time, and choosing algorithms half a minute: above, the default
bucket or the largest is used, with rings."""

WORTH_ANOTHER_BUCKET = 1e-3
"""Fraction of the iteration time that a non-default bucket size must save to be chosen."""

WORTH_ALGORITHMS = 0.01
"""Fraction of the iteration time that an algorithm per message must save in simulation to be chosen over rings.

Broadcasts and trees of neighboring buckets overlap on links, where their time depends on the sharing: the other
simulators see half a percent less of the savings in ``analytic``, or none. DLRM on 16 servers with 4 interfaces of
100 Gb/s gains 0.5 % in ``analytic`` and 0.2 % in ``flow``, BERT on 16 gains 0.1 % and loses as much."""


def is_small(job: Job) -> bool:
    """Return whether a simulation of the job takes so little that many are made."""
    return job.cluster.servers <= LARGEST_TO_SETTLE


def is_worth_it(by_message_s: float, rings_s: float) -> bool:
    """Return whether an algorithm for each message replaces rings."""
    return by_message_s <= (1 - WORTH_ALGORITHMS) * rings_s


def for_search(job: Job) -> Job:
    """Return the job as searched: with rings, which the search's estimate models."""
    return _with(job, collective="stepped")


def with_gradients_settled(job: Job, asked: Job, best: Candidate) -> tuple[Job, Candidate, GradientChoice]:
    """Return the job with the fastest buckets and algorithms, its candidate, and the alternatives tried.

    Parameters
    ----------
    job, asked : Job
        Job as searched, and as requested: see :func:`for_search`.
    """
    if not isinstance(job.work, OperatorsWork):
        return asked, best, GradientChoice()
    best = best.whole()
    tried: list[tuple[int, Job, SimResult]] = []
    if job.settings.bucket_bytes == AUTO_BUCKET:
        few = dict.fromkeys((job.settings.usual_bucket_bytes, max(BUCKET_SIZES)))
        sizes = BUCKET_SIZES if is_small(job) else tuple(few)
        jobs = [_with(job, bucket_bytes=size) for size in sizes]
        tried = list(zip(sizes, jobs, in_threads(partial(_with_buckets, job, best), jobs), strict=True))
        usual = job.settings.usual_bucket_bytes
        _, job, result = min(tried, key=lambda row: _weighed_s(row[2].iteration_time_s, row[0], usual))
        best = best.with_result(result, job)
    times_s = tuple((size, result.iteration_time_s) for size, _, result in tried)
    collective = asked.settings.collective
    if collective == job.settings.collective or (collective == QUICKEST and not is_small(job)):
        return job, best, GradientChoice(times_s)
    job = _with(job, collective=collective)
    result = simulated(job, best.strategy, best.fabric)
    if collective != QUICKEST:
        return job, best.with_result(result, job), GradientChoice(times_s)
    choice = GradientChoice(times_s, best.time_s, result.iteration_time_s)
    if not is_worth_it(result.iteration_time_s, best.time_s):
        return _with(job, collective="stepped"), best, choice
    return job, best.with_result(result, job), choice


def _with_buckets(job: Job, best: Candidate, other: Job) -> SimResult:
    same = other.settings.bucket_bytes == job.settings.usual_bucket_bytes
    return best.result if same else simulated(other, best.strategy, best.fabric)


def sizes_elsewhere(job: Job, gradients: GradientChoice) -> tuple[int, ...]:
    """Return the buckets that are tried on other fabrics, where a plan has chosen its own: that one, and a far one.

    That is 1 MiB, or 25 MiB where the plan has no larger ones.
    """
    if not gradients.bucket_times_s or not is_small(job):
        return ()
    own, small = job.settings.bucket_bytes, BUCKET_SIZES[1]
    return own, DDP_BUCKET_BYTES if own <= small else small


def settled(job: Job, row: Baseline, fabric: Fabric, seed: int, fidelity: Fidelity) -> Baseline:
    """Return a baseline with the fastest of some buckets, and an algorithm per message where that is faster.

    On circuits that change, both stay as they are.
    """
    if fabric.reconfiguration is not None:
        return row
    laid = ringed(job, row.strategy, fabric, seed)
    if fidelity.bucket_sizes:
        row = replace(row, bucket_bytes=job.settings.bucket_bytes)
    for size in fidelity.bucket_sizes:
        if size == row.bucket_bytes:
            continue
        other = outcome_on(_with(job, bucket_bytes=size), row.strategy, laid, fidelity.of_search)
        now_s = _weighed_s(row.outcome.iteration_time_s, row.bucket_bytes or 0, DDP_BUCKET_BYTES)
        if _weighed_s(other.iteration_time_s, size, DDP_BUCKET_BYTES) < now_s:
            row = replace(row, outcome=other, bucket_bytes=size)
    if fidelity.options.algorithm == QUICKEST and is_small(job):
        other = outcome_on(job_of_baseline(job, row), row.strategy, laid, fidelity)
        if is_worth_it(other.iteration_time_s, row.outcome.iteration_time_s):
            row = replace(row, outcome=other)
    return row


def _weighed_s(time_s: float, size_bytes: int, usual_bytes: int) -> float:
    return time_s if size_bytes == usual_bytes else time_s * (1 + WORTH_ANOTHER_BUCKET)


def job_of_baseline(job: Job, row: Baseline) -> Job:
    """Return the job of a plan with the buckets that a baseline has."""
    return job if row.bucket_bytes is None else _with(job, bucket_bytes=row.bucket_bytes)


@lru_cache(maxsize=16)
def _with_settings(job: Job, changes: tuple[tuple[str, Any], ...]) -> Job:
    return replace(job, settings=replace(job.settings, **dict(changes)))


def _with(job: Job, **changes: Any) -> Job:
    same = all(getattr(job.settings, name) == value for name, value in changes.items())
    return job if same else _with_settings(job, tuple(changes.items()))
