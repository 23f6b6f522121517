"""Task graph merged from those of several jobs, each placed on a fabric and repeated back to back."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from topoopt.base.arrays import Floats, Ints, pointer
from topoopt.base.errors import Infeasible, InvalidInput, check_known
from topoopt.simulation.task_graph import COLUMNS, TRANSFER, TaskGraph, TaskRows, task_graph_from_edges

Placement = tuple[tuple[int, ...], ...]
"""Servers of the fabric per job, in the order of the job's own servers."""


def _strided(sizes: Sequence[int], servers: int, seed: int) -> Placement:
    rows: list[list[int]] = [[] for _ in sizes]
    hungry = [job for job, _ in enumerate(sizes)]
    server = 0
    while hungry:
        for job in hungry:
            rows[job].append(server)
            server += 1
        hungry = [job for job in hungry if len(rows[job]) < sizes[job]]
    return tuple(tuple(row) for row in rows)


def _cut(order: list[int], sizes: Sequence[int]) -> Placement:
    ends = np.cumsum(sizes).tolist()
    return tuple(tuple(order[end - size : end]) for end, size in zip(ends, sizes, strict=True))


PLACEMENTS: Mapping[str, Callable[[Sequence[int], int, int], Placement]] = {
    "contiguous": lambda sizes, servers, seed: _cut(list(range(servers)), sizes),
    "strided": _strided,
    "random": lambda sizes, servers, seed: _cut(
        np.random.default_rng(seed).permutation(servers).tolist(), sizes
    ),
}
"""Ways to place jobs, by name."""
LARGEST_GRAPH_TASKS = 20_000_000
"""About 4 GB of arrays: more repetitions than that are a mistake."""


@dataclass(frozen=True, eq=False)
class MergedJobs:
    """One graph of several jobs.

    Attributes
    ----------
    graph : TaskGraph
        Job by job, repetition by repetition, in the order of the job's own tasks. Two repetitions are separated by
        a barrier: an empty transfer from a server to itself. ``iteration`` counts through the repetitions of a
        job.
    job_tasks, repetitions : tuple of int
        Tasks of one repetition of each job, and how many of them there are.
    """

    graph: TaskGraph
    first_task: tuple[int, ...]
    job_tasks: tuple[int, ...]
    repetitions: tuple[int, ...]

    def ends_s(self, job: int, finish_s: Floats) -> Floats:
        """Return the end of each repetition of a job, shape (repetitions,)."""
        tasks, first = self.job_tasks[job], self.first_task[job]
        starts = first + np.arange(self.repetitions[job]) * (tasks + 1)
        return np.array([finish_s[start : start + tasks].max() for start in starts.tolist()])


def merge_jobs(
    jobs: Sequence[TaskGraph],
    placement: Placement,
    repetitions: Sequence[int],
    servers: int,
    begin_s: Sequence[float] = (),
) -> MergedJobs:
    """Return the jobs side by side on a fabric of ``servers`` servers.

    A repetition starts when all tasks of the one before it are done.

    Parameters
    ----------
    placement : servers of each job, see :func:`topoopt.simulation.place_jobs`
    repetitions : how often each job's graph is run, at least once
    begin_s : when each job begins; all at 0 by default

    Raises
    ------
    InvalidInput
        If a job has no tasks, the placement or the times do not fit, or the graph would be absurdly large.
    """
    check_jobs(jobs, placement, servers)
    for number, repeats in enumerate(repetitions):
        if repeats < 1:
            raise InvalidInput(f"job {number}: must be repeated at least once, got {repeats}")
    total = sum((len(job) + 1) * repeats - 1 for job, repeats in zip(jobs, repetitions, strict=True))
    if total > LARGEST_GRAPH_TASKS:
        most = int(np.argmax([len(job) * repeats for job, repeats in zip(jobs, repetitions, strict=True)]))
        raise InvalidInput(
            f"jobs: job {most} would be repeated {repetitions[most]} times while the slowest runs once, "
            f"{total} tasks in all, more than {LARGEST_GRAPH_TASKS}; run jobs of more similar length together"
        )
    begins = checked_begins(begin_s, len(jobs))
    parts = [
        _delayed(_repeated(_placed(job, np.asarray(row, np.int64), servers, number), repeats), delay_s)
        for number, (job, row, repeats, delay_s) in enumerate(
            zip(jobs, placement, repetitions, begins, strict=True)
        )
    ]
    first = pointer([len(part) for part in parts])[:-1]
    return MergedJobs(
        _side_by_side(parts, servers),
        tuple(first.tolist()),
        tuple(len(job) for job in jobs),
        tuple(repetitions),
    )


def check_jobs(jobs: Sequence[TaskGraph], placement: Placement, servers: int) -> None:
    """Refuse jobs without tasks, or a placement that does not fit them or the fabric.

    Raises
    ------
    InvalidInput
        If so.
    """
    for number, job in enumerate(jobs):
        if not len(job):
            raise InvalidInput(f"job {number}: has no tasks; leave it out")
    check_placement(placement, [job.servers for job in jobs], servers)


def placed_groups(jobs: Sequence[TaskGraph], placement: Placement) -> tuple[tuple[int, ...], ...]:
    """Return the sorted members of each group of each job on the fabric, every group once: those need rings."""
    groups = {
        tuple(sorted(row[member] for member in group))
        for job, row in zip(jobs, placement, strict=True)
        for group in job.groups
    }
    return tuple(sorted(groups))


def checked_begins(begin_s: Sequence[float], jobs: int) -> tuple[float, ...]:
    """Return the start of each job, checked.

    Raises
    ------
    InvalidInput
        If there are some times, but not one for each job, or one that cannot be.
    """
    begins = tuple(begin_s) or (0.0,) * jobs
    if len(begins) != jobs:
        raise InvalidInput(f"begin: expected a time for each of {jobs} jobs, got {len(begins)}")
    for number, time_s in enumerate(begins):
        if not 0 <= time_s < float("inf"):
            raise InvalidInput(f"begin: job {number}: expected a finite time >= 0, got {time_s:g} s")
    return begins


def _placed(job: TaskGraph, row: Ints, servers: int, number: int) -> TaskGraph:
    """Return the job with the fabric's server numbers and a job number."""

    def moved(numbers: Ints) -> Ints:
        return np.where(numbers < 0, -1, row[numbers])

    return dataclasses.replace(
        job,
        servers=servers,
        server=moved(job.server),
        src=moved(job.src),
        dst=moved(job.dst),
        member=row[job.member],
        job=np.broadcast_to(np.int32(number), len(job)),
    )


def _repeated(job: TaskGraph, repeats: int) -> TaskGraph:
    """Return the job several times, a barrier between one time and the next."""
    if repeats == 1:
        return job
    tasks = len(job)
    sinks = np.flatnonzero(np.diff(job.successor_first) == 0)
    # a sink of every repetition leads to the barrier behind it
    source = np.concatenate([job.waited_for, sinks])
    target = np.concatenate([job.successor, np.full(len(sinks), tasks)])
    order = np.argsort(source, kind="stable")
    source, target = source[order], target[order]
    begins = np.flatnonzero(job.predecessors == 0)
    # one period: the tasks, then the barrier, which leads to the begins of the next period
    source = np.concatenate([source, np.full(len(begins), tasks)])
    target = np.concatenate([target, tasks + 1 + begins])
    shift = np.repeat(np.arange(repeats) * (tasks + 1), len(source))
    source, target = np.tile(source, repeats) + shift, np.tile(target, repeats) + shift
    total = repeats * (tasks + 1) - 1  # no barrier behind the last
    inside = (source < total) & (target < total)
    barrier = _barrier(job)
    period = _side_by_side([job, barrier], job.servers)
    many = _side_by_side([period] * (repeats - 1) + [job], job.servers)
    number = np.arange(total) // (tasks + 1)
    return dataclasses.replace(
        many,
        successor_first=np.searchsorted(source[inside], np.arange(total + 1)).astype(np.int64),
        successor=target[inside],
        predecessors=np.bincount(target[inside], minlength=total).astype(np.int64),
        iteration=many.iteration + number * job.iterations,
        operator=np.where(many.operator < 0, -1, many.operator % max(len(job.operator_names), 1)),
        operator_names=job.operator_names,
    )


def _barrier(job: TaskGraph) -> TaskGraph:
    """Return the graph of one task that takes no time."""
    here = int(max(job.server.max(), job.src.max(), job.member.max(initial=-1)))
    none = np.zeros(0, np.int64)
    row = TaskRows(TRANSFER, 1, src=here, dst=here, iteration=job.iterations - 1, job=int(job.job[0]))
    return task_graph_from_edges(job.servers, [row], none, none)


def _delayed(part: TaskGraph, begin_s: float) -> TaskGraph:
    """Return a job that waits for a time: for one task more, behind its own, which does nothing until then."""
    if begin_s == 0:
        return part
    begins = np.flatnonzero(part.predecessors == 0)
    wait = dataclasses.replace(
        _barrier(part), duration_s=np.array([begin_s]), iteration=np.zeros(1, np.int32)
    )
    both = _side_by_side([part, wait], part.servers)
    predecessors = both.predecessors.copy()
    predecessors[begins] += 1
    return dataclasses.replace(
        both,
        successor_first=pointer([*np.diff(part.successor_first), len(begins)]),
        successor=np.concatenate([part.successor, begins]),
        predecessors=predecessors,
        operator=np.where(both.operator < 0, -1, both.operator % max(len(part.operator_names), 1)),
        operator_names=part.operator_names,
    )


def _side_by_side(parts: Sequence[TaskGraph], servers: int) -> TaskGraph:
    first = pointer([len(part) for part in parts])
    names = pointer([len(part.operator_names) for part in parts])
    columns = {
        name: np.concatenate([getattr(part, name) for part in parts])
        for name in (*COLUMNS, "predecessors", "member")
    }
    columns["operator"] = np.concatenate(
        [
            np.where(part.operator < 0, -1, part.operator + begin)
            for part, begin in zip(parts, names[:-1], strict=True)
        ]
    )
    return TaskGraph(
        servers,
        **columns,
        member_first=_joined_pointers([part.member_first for part in parts]),
        successor_first=_joined_pointers([part.successor_first for part in parts]),
        successor=np.concatenate(
            [part.successor + begin for part, begin in zip(parts, first[:-1], strict=True)]
        ),
        operator_names=tuple(name for part in parts for name in part.operator_names),
    )


def _joined_pointers(pointers: Sequence[Ints]) -> Ints:
    return pointer(np.concatenate([np.diff(first) for first in pointers]))


def place_jobs(sizes: Sequence[int], servers: int, how: str = "contiguous", seed: int = 0) -> Placement:
    """Return servers for jobs of the given sizes, no server twice.

    Parameters
    ----------
    sizes : servers of each job
    servers : int
        Servers of the fabric; unused ones stay idle.
    how : str
        Name in :data:`PLACEMENTS`. ``contiguous``: one job after the other. ``strided``: dealt like cards, a
        server to each job in turn. ``random``: drawn with the seed.

    Raises
    ------
    InvalidInput
        If there is no such placement, or a job has no server.
    Infeasible
        If the fabric is too small.

    Examples
    --------
    >>> place_jobs([2, 3], 6)
    ((0, 1), (2, 3, 4))
    >>> place_jobs([2, 3], 6, "strided")
    ((0, 2), (1, 3, 4))
    """
    check_known("placement", how, PLACEMENTS)
    for job, size in enumerate(sizes):
        if size < 1:
            raise InvalidInput(f"placement: job {job} must have at least one server, got {size}")
    if sum(sizes) > servers:
        raise Infeasible(
            f"placement: {len(sizes)} jobs need {sum(sizes)} servers, the fabric has {servers}; "
            "take a larger fabric or fewer jobs"
        )
    return PLACEMENTS[how](sizes, servers, seed)


def check_placement(placement: Placement, sizes: Sequence[int], servers: int) -> None:
    """Refuse a placement that does not fit the jobs or the fabric.

    Raises
    ------
    InvalidInput
        If a job has too many or too few servers, a server does not exist, or two jobs share one.
    """
    if len(placement) != len(sizes):
        raise InvalidInput(f"placement: expected one row for each of {len(sizes)} jobs, got {len(placement)}")
    holder: dict[int, int] = {}
    for job, (row, size) in enumerate(zip(placement, sizes, strict=True)):
        if len(row) != size:
            raise InvalidInput(f"placement: job {job} has {size} servers, its row names {len(row)}")
        for server in row:
            if not 0 <= server < servers:
                raise InvalidInput(
                    f"placement: job {job}: server must be in 0..{servers - 1}, got {server}; "
                    "take a larger fabric or place the job on servers that are there"
                )
            if server in holder:
                raise InvalidInput(
                    f"placement: server {server} is given to job {holder[server]} and to job {job}; "
                    "give each server once"
                )
            holder[server] = job
