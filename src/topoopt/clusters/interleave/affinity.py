"""Which jobs meet on which links, and from a shift on each link to one shift for each job: the affinity graph."""

import math
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from topoopt.base.errors import Infeasible, InvalidInput


@dataclass(frozen=True, slots=True)
class AffinityEdge:
    """A job on a link that it shares.

    Attributes
    ----------
    job, link : str
    shift_s : float
        When the job has to begin for the sake of this link alone; only differences between the jobs of a link
        count.
    """

    job: str
    link: str
    shift_s: float


@dataclass(frozen=True, slots=True)
class AffinityGraph:
    """The bipartite graph of jobs and the links on which several of them meet.

    A job may have one name with a link.

    Attributes
    ----------
    iteration_times_s : mapping of str to float
        Of every job, also of those that share no link.
    edges : tuple of AffinityEdge

    Raises
    ------
    InvalidInput
        For times that cannot be, an unknown job, or a job that is twice on one link.

    References
    ----------
    .. [1] S. Rajasekaran et al., "CASSINI", NSDI 2024, section 4, Algorithm 1.

    Examples
    --------
    Three jobs in a chain:

    >>> edges = (AffinityEdge("1", "a", 30), AffinityEdge("2", "a", 20), AffinityEdge("2", "b", 40))
    >>> graph = AffinityGraph({"1": 1000, "2": 1000, "3": 1000}, (*edges, AffinityEdge("3", "b", 10)))
    >>> graph.time_shifts_s()
    {'1': 0.0, '2': 990.0, '3': 960.0}
    """

    iteration_times_s: Mapping[str, float]
    edges: tuple[AffinityEdge, ...]

    def __post_init__(self) -> None:
        for job, time_s in self.iteration_times_s.items():
            if not 0 < time_s < math.inf:
                raise InvalidInput(f"job {job}: iteration time {time_s:g} s: expected a finite time > 0")
        seen: set[tuple[str, str]] = set()
        for edge in self.edges:
            here = f"job {edge.job} on link {edge.link}"
            if edge.job not in self.iteration_times_s:
                raise InvalidInput(f"{here}: the job has no iteration time; name it among the jobs")
            if not math.isfinite(edge.shift_s):
                raise InvalidInput(f"{here}: shift {edge.shift_s:g} s: expected a finite time")
            if (edge.job, edge.link) in seen:
                raise InvalidInput(f"{here}: is there twice; add up what the job sends on a link")
            seen.add((edge.job, edge.link))

    def loop(self) -> tuple[str, ...]:
        """Return the jobs and links around a loop, in turns, beginning with a job; none where the graph is a forest."""
        came_from: dict[str, tuple[str, str]] = {}
        for job, link, other in self.walk():
            if other in came_from:
                return _around(came_from, job, link, other)
            came_from[other] = job, link
        return ()

    def time_shifts_s(self) -> dict[str, float]:
        """Return the shift of each job: applied once, all links are as they want to be.

        The first job of every component begins at 0; a walk over the graph tells when the others do:
        ``t_k = (t_j - w(j, l) + w(k, l)) mod T_k``.

        Returns
        -------
        dict of str to float
            In ``[0, T)``, in the order of ``iteration_times_s``.

        Raises
        ------
        Infeasible
            If the graph has a loop: what its links ask for need not agree.
        """
        loop = self.loop()
        if loop:
            raise Infeasible(
                f"affinity graph: loop through {', '.join(loop)}: the shifts of its links need not agree; merge links "
                "or take another placement"
            )
        weight_s = {(edge.job, edge.link): edge.shift_s for edge in self.edges}
        shift_s = dict.fromkeys(self.iteration_times_s, 0.0)
        for job, link, other in self.walk():
            if other != job:
                begins_s = shift_s[job] - weight_s[job, link] + weight_s[other, link]
                shift_s[other] = _within(begins_s, self.iteration_times_s[other])
        return shift_s

    def components(self) -> tuple[tuple[str, ...], ...]:
        """Return the sets of jobs that meet, directly or by others; every job is in one."""
        root_of: dict[str, str] = {}
        for job, _, other in self.walk():
            root_of.setdefault(other, root_of.get(job, job))
        together: dict[str, list[str]] = {}
        for job, root in root_of.items():
            together.setdefault(root, []).append(job)
        return tuple(tuple(jobs) for jobs in together.values())

    def walk(self) -> Iterator[tuple[str, str, str]]:
        """Yield the steps of a breadth-first search, ``(job, link, other job)``; a root as ``(root, "", root)``.

        A link is gone over once, from the job that comes to it first; where the graph has a loop, the search comes
        to a job twice.
        """
        links_of: dict[str, list[str]] = {job: [] for job in self.iteration_times_s}
        jobs_on: dict[str, list[str]] = {}
        for edge in self.edges:
            links_of[edge.job].append(edge.link)
            jobs_on.setdefault(edge.link, []).append(edge.job)
        seen_jobs: set[str] = set()
        seen_links: set[str] = set()
        for root in self.iteration_times_s:
            if root in seen_jobs:
                continue
            yield root, "", root
            seen_jobs.add(root)
            queue = deque([root])
            while queue:
                job = queue.popleft()
                for link in links_of[job]:
                    if link in seen_links:
                        continue
                    seen_links.add(link)
                    for other in jobs_on[link]:
                        if other != job:
                            yield job, link, other
                            if other not in seen_jobs:
                                queue.append(other)
                            seen_jobs.add(other)


def _around(came_from: Mapping[str, tuple[str, str]], job: str, link: str, other: str) -> tuple[str, ...]:
    """Return the loop that a second way to a job closes."""
    one, two = _back(came_from, job), _back(came_from, other)
    up = next(k for k in range(len(one)) if one[k] in two[k % 2 :: 2])
    down = 2 * two[up % 2 :: 2].index(one[up]) + up % 2
    ring = (*reversed(one[: up + 1]), link, *two[:down])
    return (*ring[1:], ring[0]) if up % 2 else ring


def _back(came_from: Mapping[str, tuple[str, str]], job: str) -> list[str]:
    """Return a job, the link over which it was found, the job before it, and so on to the root."""
    way = [job]
    while came_from[way[-1]][0] != way[-1]:
        before, link = came_from[way[-1]]
        way += [link, before]
    return way


def _within(time_s: float, period_s: float) -> float:
    """Return a time modulo a period, in [0, period) whatever the rounding."""
    time_s = math.fmod(time_s, period_s)
    if time_s < 0:
        time_s += period_s
    return 0.0 if time_s >= period_s else time_s
