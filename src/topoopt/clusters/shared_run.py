"""One run of jobs that meet on links, from their steps to their iteration times.

Jobs of very different lengths on shared links: short ones run as longer ones that send as much more.

While a language model does one iteration of half a minute, a recommendation model does thousands. Max-min fair sharing
is independent of scale: a job that computes k times as long and sends k times as much takes k times as long, alone and
beside others that are scaled with it. Beside a longer job it takes the same part of every link over time, in k times
longer bursts; as long as it still repeats many times within the longer one's iteration, that is the same load.

Where jobs really meet: links that may be saturated, and the jobs that meet on them.

Most links of a fabric never decide a fair share: a server's own link is fuller than those above it that carry a part
of the same bytes. They are omitted, which changes no rate.
"""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from topoopt.base.arrays import Floats, Ints, grouped
from topoopt.base.errors import InvalidInput
from topoopt.clusters.pace import IterationTimes, SendTimes, ServedSends
from topoopt.clusters.settings import SharingOptions
from topoopt.clusters.shared_job import SharedJob
from topoopt.clusters.shared_run_kernel import (
    SERVED_EVENTS,
    BackToBack,
    Rules,
    covered_links,
    run_back_to_back,
)
from topoopt.simulation import Sharing, TaskRun, make_links, make_sharing, make_task_run

ROUNDING = 1e-9
"""A link that jobs can fill by no more than this above its capacity is never short."""


@dataclass(frozen=True, eq=False)
class SharedLinks:
    """Links on which several usages compete. A usage of a job is a class, as in ``shared_run_kernel.py``.

    Attributes
    ----------
    ceiling_bytes_per_s : float64 array, shape (classes,)
        Rate that the busiest link of a class leaves it.
    class_first, class_link, coefficient : arrays, shapes (classes+1,), (entries,), (entries,)
        Links of each class, numbered anew, and the part of the link that it takes for each byte/s.
    links : int
    """

    ceiling_bytes_per_s: Floats
    class_first: Ints
    class_link: Ints
    coefficient: Floats
    links: int


REPEATS = 16
"""Least repetitions of a scaled job within an iteration of the longest."""
NEAREST = 4
"""Repetitions of the shortest job that is not scaled with it, so that two of different lengths stay so."""
MOST_SAMPLES = 256
"""Iterations of a job that are kept one by one; the mean is over all of them."""
MOST_SENDS = 4096
"""Sends of a job that are kept one by one; the cycle of a served model has up to some thousand."""
MOST_EVENTS = 50_000_000
"""Some ten seconds: a job that repeats so often beside a longer one is a mistake."""


def run_alone(job: SharedJob, options: SharingOptions) -> IterationTimes:
    """Return the iteration time of a job alone: all its iterations are the same."""
    return _run([job], options, 1, np.zeros(1), np.ones(1))[0]


def run_together(
    names: Sequence[str], jobs: Sequence[SharedJob], alone: Sequence[IterationTimes], options: SharingOptions
) -> tuple[IterationTimes, ...]:
    """Return the iteration times of jobs that run beside each other.

    Short ones are run as longer ones where others are very much longer, see :func:`time_scales`.

    Parameters
    ----------
    alone : sequence of IterationTimes
        Results of :func:`run_alone`; a job without length slows no other.

    Raises
    ------
    InvalidInput
        If the jobs differ so much in length that the run would not end.
    """
    results = list(alone)
    busy = [place for place, times in enumerate(alone) if times.mean_s > 0]
    if len(busy) < 2:
        return tuple(results)
    alone_s = [alone[place].mean_s for place in busy]
    scale = time_scales(alone_s)
    begin_s = np.array([_phase(names[place], options) for place in busy]) * alone_s * scale
    together = _run([jobs[place] for place in busy], options, options.iterations, begin_s, scale)
    for place, times in zip(busy, together, strict=True):
        results[place] = times
    return tuple(results)


def _phase(name: str, options: SharingOptions) -> float:
    """Return the start of a job as a fraction of its iteration."""
    if not options.staggered:
        return 0.0
    return float(np.random.default_rng([options.seed, zlib.crc32(name.encode()), 1]).random())


def _run(
    jobs: Sequence[SharedJob], options: SharingOptions, iterations: int, begin_s: Floats, scale: Floats
) -> list[IterationTimes]:
    """Return the iteration times of jobs that are run ``scale`` times as long, shape (jobs,)."""
    links = shared_links(jobs)
    run, sharing, jobs_run = _state(jobs, begin_s, scale, links.ceiling_bytes_per_s)
    rules = Rules(iterations, MOST_EVENTS, options.connections == "collective", float(begin_s.max()))
    most = links.coefficient * np.repeat(links.ceiling_bytes_per_s, np.diff(links.class_first))
    net = make_links(links.class_first, links.class_link, links.coefficient, np.ones(links.links), most=most)
    run_back_to_back(run, sharing, net, jobs_run, rules)
    counted = jobs_run.counted
    if jobs_run.tally[SERVED_EVENTS] > MOST_EVENTS:
        raise InvalidInput(
            f"shared fabric: its jobs are so unlike in length that the shortest runs {counted.max()} times before the "
            f"longest has run {iterations} times; run jobs of more similar length together"
        )
    total, sample = jobs_run.total / scale, jobs_run.sample / scale[:, None]
    rows = zip(counted.tolist(), total.tolist(), sample, _sends(jobs_run, scale), strict=True)
    return [
        IterationTimes(total / count, tuple(row[:count].tolist()), sends) for count, total, row, sends in rows
    ]


def _sends(jobs_run: BackToBack, scale: Floats) -> list[ServedSends]:
    """Return the send times of each job over whole iterations; the start of another one is no fair sample."""
    mean_s = jobs_run.whole_total / np.maximum(jobs_run.whole_sends, 1) / scale[:, None]
    sample_s = jobs_run.send_sample / scale[:, None, None]
    rows = zip(jobs_run.whole_sends.tolist(), mean_s.tolist(), sample_s, strict=True)
    return [
        ServedSends(
            *(SendTimes(mean, tuple(row[:count].tolist())) for count, mean, row in zip(*kinds, strict=True))
        )
        for kinds in rows
    ]


def _state(
    jobs: Sequence[SharedJob], begin_s: Floats, scale: Floats, ceiling_bytes_per_s: Floats
) -> tuple[TaskRun, Sharing, BackToBack]:
    """Return the state in which each job is about to begin its first iteration."""
    first = np.cumsum([0, *(len(job.steps) for job in jobs)])
    first_device = np.cumsum([0, *(job.devices for job in jobs)])
    first_class = np.cumsum([0, *(len(job.usages) for job in jobs)])
    steps = [step for job in jobs for step in job.steps]
    of = np.repeat(np.arange(len(jobs)), np.diff(first))
    device = np.array([step.device for step in steps], np.int64)
    usage = np.array([step.usage for step in steps], np.int64)
    lead_s = np.array([step.lead_s for step in steps]) * scale[of]
    successor_first, successor, predecessors = _dependencies(jobs, first)
    run = make_task_run(
        np.where(device < 0, -1, device + first_device[of]),
        lead_s,
        successor_first,
        successor,
        predecessors,
        int(first_device[-1]),
        len(jobs),
    )
    order = np.argsort(begin_s, kind="stable")  # a sorted array is a heap
    run.keys[: len(jobs)], run.codes[: len(jobs)] = begin_s[order], len(steps) + order
    run.tally[:] = len(jobs), 0, 0, 0
    sharing = make_sharing(
        np.where(usage < 0, -1, usage + first_class[of]),
        np.array([step.size_bytes for step in steps]) * scale[of],
        np.ones(len(steps)),
        int(first_class[-1]),
        ceiling_bytes_per_s,
    )
    tail_s = np.array([step.tail_s for step in steps]) * scale[of]
    timed = np.flatnonzero((predecessors == 0) & (device < 0))
    timed = timed[np.lexsort((lead_s[timed], of[timed]))]
    follows = np.diff(of[timed], prepend=-1) == 0
    next_timed = np.full(len(of), -1, np.int64)
    next_timed[timed[:-1][follows[1:]]] = timed[follows]
    root = np.sort(np.concatenate([np.flatnonzero((predecessors == 0) & (device >= 0)), timed[~follows]]))
    roots = np.searchsorted(of[root], np.arange(of[-1] + 2)).astype(np.int64), root, next_timed
    steady = np.array([step.steady for step in steps], np.int64)
    return run, sharing, _back_to_back(first, of, (tail_s, steady), predecessors, roots, int(first_class[-1]))


def _dependencies(jobs: Sequence[SharedJob], first: Ints) -> tuple[Ints, Ints, Ints]:
    """Return the dependencies as in a task graph: ``successor_first``, ``successor`` and ``predecessors``."""
    waits = [
        (begin + before, begin + after)
        for begin, job in zip(first.tolist(), jobs, strict=False)
        for after, row in enumerate(job.waits_for)
        for before in row
    ]
    before, after = np.array(sorted(waits), np.int64).reshape(-1, 2).T
    predecessors = np.bincount(after, minlength=int(first[-1])).astype(np.int64)
    return (
        np.searchsorted(before, np.arange(first[-1] + 1)).astype(np.int64),
        np.ascontiguousarray(after),
        predecessors,
    )


def _back_to_back(
    first: Ints,
    of: Ints,
    ends: tuple[Floats, Ints],
    predecessors: Ints,
    roots: tuple[Ints, Ints, Ints],
    classes: int,
) -> BackToBack:
    """Return the state before any job has begun."""
    jobs = len(first) - 1
    root_first, root, next_timed = roots
    tail_s, steady = ends
    return BackToBack(
        job_task=first,
        job=of,
        tail=tail_s,
        predecessors=predecessors,
        root_first=root_first,
        root=root,
        next_timed=next_timed,
        sent=np.zeros(len(of), np.int64),
        to_end=np.zeros(jobs, np.int64),
        began=np.full(jobs, -1.0),
        late=np.zeros(jobs),
        counted=np.zeros(jobs, np.int64),
        total=np.zeros(jobs),
        sample=np.zeros((jobs, MOST_SAMPLES)),
        left_at=np.zeros(len(of)),
        steady=steady,
        sends=np.zeros((jobs, 2), np.int64),
        send_total=np.zeros((jobs, 2)),
        send_sample=np.zeros((jobs, 2, MOST_SENDS)),
        whole_sends=np.zeros((jobs, 2), np.int64),
        whole_total=np.zeros((jobs, 2)),
        sending=np.zeros(classes, np.int64),
        rate=np.zeros(classes),
        touched_at=np.zeros(classes),
        end_time=np.full(classes, np.inf),
        changed=np.zeros(classes, np.int64),
        is_changed=np.zeros(classes, np.int64),
        tally=np.array([jobs, 0, 0]),
    )


def time_scales(times_s: Sequence[float]) -> Floats:
    """Return the factor by which each job is run longer, an integer >= 1.

    From the longest job down, all that are shorter than some job are scaled alike.

    Parameters
    ----------
    times_s : sequence of float
        Iteration times alone, above 0.

    Returns
    -------
    float64 array, shape (jobs,)

    Examples
    --------
    >>> time_scales([30.0, 10.0, 0.06, 0.015]).tolist()
    [1.0, 1.0, 31.0, 31.0]
    >>> time_scales([0.131, 0.06, 0.015]).tolist()
    [1.0, 1.0, 1.0]
    """
    times = np.asarray(times_s, float)
    scales = np.ones(len(times))
    order = np.argsort(-times, kind="stable")
    for place in range(1, len(order)):
        own_s, next_s = (times * scales)[order[[place, place - 1]]].tolist()
        most_s = min(float(times[order[0]]) / REPEATS, next_s / NEAREST)
        scales[order[place:]] *= max(most_s // own_s, 1.0)
    return scales


def shared_links(jobs: Sequence[SharedJob]) -> SharedLinks:
    """Return the links that matter to a set of jobs; classes are numbered job by job."""
    usages = [usage for job in jobs for usage in job.usages]
    link = np.concatenate([usage[0] for usage in usages] or [np.zeros(0, np.int64)])
    part = np.concatenate([usage[1] for usage in usages] or [np.zeros(0)])
    of_class = np.repeat(np.arange(len(usages)), [len(usage[0]) for usage in usages])
    short = can_be_short(jobs, int(link.max(initial=0)) + 1)[link]
    order = np.flatnonzero(short)[np.lexsort((of_class[short], link[short]))]
    link, of_class, part = link[order], of_class[order], part[order]
    number, users = np.unique(link, return_inverse=True, return_counts=True)[1:]
    first = np.concatenate(([0], np.cumsum(users)))
    kept = ~covered_links(first, of_class, part, len(usages)) & (users > 1)
    link, chosen = (np.cumsum(kept) - 1)[number], kept[number]
    order = np.flatnonzero(chosen)[np.lexsort((link[chosen], of_class[chosen]))]
    return SharedLinks(
        np.array([1.0 / usage[1].max() for usage in usages]),
        np.searchsorted(of_class[order], np.arange(len(usages) + 1)).astype(np.int64),
        link[order],
        part[order],
        int(kept.sum()),
    )


def can_be_short(jobs: Sequence[SharedJob], links: int) -> NDArray[np.bool_]:
    """Return whether jobs together can fill a link, each kept back by its own; shape (links,).

    The *gauge* of a job, which bounds its load on others, counts in any case.
    """
    filled = np.zeros(links)
    for job in jobs:
        filled[job.most.link] += job.most.part
    short = filled > 1.0 + ROUNDING
    short[[job.most.gauge for job in jobs if job.most.gauge >= 0]] = True
    return short


def meeting_jobs(jobs: Sequence[SharedJob]) -> list[list[int]]:
    """Return the jobs in groups that meet on no link which can be short."""
    from scipy.sparse import csr_matrix  # noqa: PLC0415 - slow to import
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415 - slow to import

    links = max((int(job.most.link.max(initial=0)) for job in jobs), default=0) + 1
    short = can_be_short(jobs, links)
    used = [job.most.link[short[job.most.link]] for job in jobs]
    row = np.repeat(np.arange(len(jobs)), [len(link) for link in used])
    column = len(jobs) + np.concatenate([*used, np.zeros(0, np.int64)])
    size = len(jobs) + links
    graph = csr_matrix((np.ones(len(row), np.int8), (row, column)), (size, size))
    label = connected_components(graph, directed=False)[1][: len(jobs)]
    return list(grouped((of, job) for job, of in enumerate(label.tolist())).values())
