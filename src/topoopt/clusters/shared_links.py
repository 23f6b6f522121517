"""Where jobs really meet: links that could hold somebody up, and who meets whom over them.

Most links of a fabric never decide a fair share: a server's own link is fuller than those above it that carry a part
of the same bytes. They are left out, which changes no rate.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from topoopt.base.arrays import Floats, Ints
from topoopt.clusters.shared_job import SharedJob
from topoopt.clusters.shared_links_kernel import covered_links

ROUNDING = 1e-9
"""A link that jobs can fill by no more than this above its capacity is never short."""


@dataclass(frozen=True, eq=False)
class SharedLinks:
    """Links on which several usages compete. A usage of a job is a class, as in ``shared_run_kernel.py``.

    Attributes
    ----------
    ceiling_bytes_per_s : float64 array, shape (classes,)
        What the busiest link of a class leaves it.
    class_first, class_link, coefficient : arrays, shapes (classes+1,), (entries,), (entries,)
        Links of each class, numbered anew, and the part of the link that it takes for each byte/s.
    links : int
    """

    ceiling_bytes_per_s: Floats
    class_first: Ints
    class_link: Ints
    coefficient: Floats
    links: int


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

    The *gauge* of a job, which bounds what it puts on others, counts in any case.
    """
    filled = np.zeros(links)
    for job in jobs:
        filled[job.most.link] += job.most.part
    short = filled > 1.0 + ROUNDING
    short[[job.most.gauge for job in jobs if job.most.gauge >= 0]] = True
    return short


def meeting_jobs(jobs: Sequence[SharedJob]) -> list[list[int]]:
    """Return the jobs in groups that meet on no link which can be short."""
    links = max((int(job.most.link.max(initial=0)) for job in jobs), default=0) + 1
    short = can_be_short(jobs, links)
    used = [job.most.link[short[job.most.link]] for job in jobs]
    row = np.repeat(np.arange(len(jobs)), [len(link) for link in used])
    column = len(jobs) + np.concatenate([*used, np.zeros(0, np.int64)])
    size = len(jobs) + links
    graph = csr_matrix((np.ones(len(row), np.int8), (row, column)), (size, size))
    label = connected_components(graph, directed=False)[1][: len(jobs)]
    groups: dict[int, list[int]] = {}
    for job, of in enumerate(label.tolist()):
        groups.setdefault(of, []).append(job)
    return list(groups.values())
