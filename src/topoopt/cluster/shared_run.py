"""One run of jobs that meet on links, from their steps to their iteration times."""

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topoopt.cluster.kernel import run_back_to_back
from topoopt.cluster.pace import IterationTimes
from topoopt.cluster.shared_job import SharedJob
from topoopt.cluster.shared_links import SharedLinks, shared_links
from topoopt.cluster.shared_options import SharingOptions
from topoopt.errors import InvalidInput

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

MOST_SAMPLES = 256
"""Iterations of a job that are kept one by one; the mean is over all of them."""

MOST_EVENTS = 50_000_000
"""Some ten seconds: a job that repeats so often beside a longer one is a mistake."""


def run_alone(job: SharedJob, options: SharingOptions) -> IterationTimes:
    """Return the iteration time of a job that nobody disturbs: all its iterations are the same."""
    return _run([job], options, 1, np.zeros(1))[0]


def run_together(
    names: Sequence[str],
    jobs: Sequence[SharedJob],
    alone: Sequence[IterationTimes],
    options: SharingOptions,
) -> tuple[IterationTimes, ...]:
    """Return the iteration times of jobs that run beside each other.

    Parameters
    ----------
    alone : sequence of IterationTimes
        What :func:`run_alone` says of each; a job without length disturbs nobody.

    Raises
    ------
    InvalidInput
        If the jobs are so unlike in length that it would take for ever.
    """
    found = list(alone)
    busy = [place for place, times in enumerate(alone) if times.mean_s > 0]
    if len(busy) < 2:
        return tuple(found)
    begin_s = np.array([_phase(names[place], options) * alone[place].mean_s for place in busy])
    together = _run([jobs[place] for place in busy], options, options.iterations, begin_s)
    for place, times in zip(busy, together, strict=True):
        found[place] = times
    return tuple(found)


def _phase(name: str, options: SharingOptions) -> float:
    """Return when a job begins, as a part of its iteration."""
    if not options.staggered:
        return 0.0
    return float(np.random.default_rng([options.seed, zlib.crc32(name.encode()), 1]).random())


def _run(
    jobs: Sequence[SharedJob], options: SharingOptions, iterations: int, begin_s: Floats
) -> list[IterationTimes]:
    links = shared_links(jobs)
    sample_s = np.zeros((len(jobs), MOST_SAMPLES))
    counted, total_s, events = run_back_to_back(
        iterations,
        options.connections == "collective",
        MOST_EVENTS,
        sum(job.devices for job in jobs),
        *(*_steps(jobs, begin_s), *_links(links), sample_s),
    )
    if events > MOST_EVENTS:
        raise InvalidInput(
            f"shared fabric: its jobs are so unlike in length that the shortest runs {counted.max()} times before the "
            f"longest has run {iterations} times; run jobs of more similar length together"
        )
    rows = zip(counted.tolist(), total_s.tolist(), sample_s, strict=True)
    return [IterationTimes(total / count, tuple(row[:count].tolist())) for count, total, row in rows]


def _steps(jobs: Sequence[SharedJob], begin_s: Floats) -> tuple[Any, ...]:
    """Return the arrays of the kernel from ``job_task`` to ``next_timed``."""
    first = np.cumsum([0, *(len(job.steps) for job in jobs)])
    first_device = np.cumsum([0, *(job.devices for job in jobs)])
    first_class = np.cumsum([0, *(len(job.usages) for job in jobs)])
    steps = [step for job in jobs for step in job.steps]
    of = np.repeat(np.arange(len(jobs)), np.diff(first))
    device = np.array([step.device for step in steps], np.int64)
    usage = np.array([step.usage for step in steps], np.int64)
    waits = [
        (begin + before, begin + after)
        for begin, job in zip(first.tolist(), jobs, strict=False)
        for after, row in enumerate(job.waits_for)
        for before in row
    ]
    before, after = np.array(sorted(waits), np.int64).reshape(-1, 2).T
    lead_s, predecessors = np.array([step.lead_s for step in steps]), np.bincount(after, minlength=len(steps))
    return (
        first,
        begin_s,
        np.where(device < 0, -1, device + first_device[of]),
        lead_s,
        np.array([step.tail_s for step in steps]),
        np.array([step.size_bytes for step in steps]),
        np.where(usage < 0, -1, usage + first_class[of]),
        np.searchsorted(before, np.arange(len(steps) + 1)).astype(np.int64),
        np.ascontiguousarray(after),
        predecessors.astype(np.int64),
        *_roots(of, device, lead_s, predecessors),
    )


def _roots(of: Ints, device: Ints, lead_s: Floats, predecessors: Ints) -> tuple[Ints, Ints, Ints]:
    """Return the arrays of the kernel from ``root_first`` to ``next_timed``."""
    timed = np.flatnonzero((predecessors == 0) & (device < 0))
    timed = timed[np.lexsort((lead_s[timed], of[timed]))]
    follows = np.diff(of[timed], prepend=-1) == 0
    next_timed = np.full(len(of), -1, np.int64)
    next_timed[timed[:-1][follows[1:]]] = timed[follows]
    root = np.sort(np.concatenate([np.flatnonzero((predecessors == 0) & (device >= 0)), timed[~follows]]))
    return np.searchsorted(of[root], np.arange(of[-1] + 2)).astype(np.int64), root, next_timed


def _links(links: SharedLinks) -> tuple[Any, ...]:
    """Return the arrays of the kernel from ``class_first`` to ``link_entry``."""
    of_class = np.repeat(np.arange(len(links.class_first) - 1), np.diff(links.class_first))
    order = np.argsort(links.class_link, kind="stable")
    return (
        links.class_first,
        links.class_link,
        links.coefficient,
        links.ceiling_bytes_per_s,
        np.searchsorted(links.class_link[order], np.arange(links.links + 1)).astype(np.int64),
        of_class[order],
        order,
    )
