"""Choice among placements by how well their jobs share links: CASSINI's module for schedulers."""

import math
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from topoopt.base.arrays import grouped
from topoopt.base.errors import Infeasible, InvalidInput
from topoopt.clusters.interleave.link_rotation import (
    ALIKE,
    InterleavingRules,
    LinkRotation,
    MergedLink,
    SharedLink,
    link_rotation,
    merge_links,
    score_with,
)
from topoopt.clusters.interleave.unified_circle import unaligned_score


@dataclass(frozen=True, slots=True)
class AffinityEdge:
    """A job on a link that it shares.

    Attributes
    ----------
    job, link : str
    shift_s : float
        Start of the job for this link alone; only differences between the jobs of a link count.
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
        Iteration time of every job, including jobs that share no link.
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
                # the loop that a second way to a job closes
                one, two = _back(came_from, job), _back(came_from, other)
                up = next(k for k in range(len(one)) if one[k] in two[k % 2 :: 2])
                down = 2 * two[up % 2 :: 2].index(one[up]) + up % 2
                ring = (*reversed(one[: up + 1]), link, *two[:down])
                return (*ring[1:], ring[0]) if up % 2 else ring
            came_from[other] = job, link
        return ()

    def time_shifts_s(self) -> dict[str, float]:
        """Return the shift of each job: applied once, all links have their best rotations.

        The first job of every component begins at 0; a walk over the graph gives the starts of the others:
        ``t_k = (t_j - w(j, l) + w(k, l)) mod T_k``.

        Returns
        -------
        dict of str to float
            Shifts in ``[0, T)``, in the order of ``iteration_times_s``.

        Raises
        ------
        Infeasible
            If the graph has a loop: the shifts of its links may be inconsistent.
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
        together = grouped((root, job) for job, root in root_of.items())
        return tuple(tuple(jobs) for jobs in together.values())

    def walk(self) -> Iterator[tuple[str, str, str]]:
        """Yield the steps of a breadth-first search, ``(job, link, other job)``; a root as ``(root, "", root)``.

        A link is traversed once, from the first job that reaches it; where the graph has a loop, the search reaches
        a job twice.
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


MOST_CANDIDATES = 10
"""Placements that a scheduler hands over, as in the paper."""
SAME_SCORE = 1e-9
"""Scores that differ by no more are equal; the earliest of the scheduler's placements is chosen."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A placement, as far as jobs meet in it.

    Attributes
    ----------
    name : str
    links : tuple of SharedLink
        Links that its jobs use, each with every job's profile there; those of one job do not count.

    Raises
    ------
    InvalidInput
        If a link is there twice, or a job has two iteration times.
    """

    name: str
    links: tuple[SharedLink, ...]

    def __post_init__(self) -> None:
        seen: set[str] = set()
        for link in self.links:
            if link.link in seen:
                raise InvalidInput(
                    f"placement {self.name}: link {link.link} is there twice; put its jobs together"
                )
            seen.add(link.link)
        known: dict[str, float] = {}
        for profile in (profile for link in self.links for profile in link.profiles):
            time_s = known.setdefault(profile.job, profile.iteration_time_s)
            if abs(time_s - profile.iteration_time_s) > ALIKE * time_s:
                raise InvalidInput(
                    f"placement {self.name}: job {profile.job}: has iteration times {time_s:g} s and "
                    f"{profile.iteration_time_s:g} s on two links; give it one"
                )

    @property
    def shared(self) -> tuple[SharedLink, ...]:
        """The links with several jobs."""
        return tuple(link for link in self.links if len(link.profiles) > 1)


DEFAULT_RULES = InterleavingRules()
"""Links are merged, and the best of several quanta is used."""


@dataclass(frozen=True, slots=True)
class JudgedLink:
    """Links that share one interleaving.

    Attributes
    ----------
    link : str
        Name in the affinity graph.
    jobs : tuple of str
    stands_for : tuple of str
        All links whose jobs it suits.
    scores : tuple of float
        Score of each of these; where the jobs are not aligned, the mean over all rotations.
    rotation : LinkRotation or None
        Alignment of its jobs; None where that does not help.
    """

    link: str
    jobs: tuple[str, ...]
    stands_for: tuple[str, ...]
    scores: tuple[float, ...]
    rotation: LinkRotation | None


@dataclass(frozen=True, slots=True)
class JudgedPlacement:
    """Evaluation of a candidate.

    Attributes
    ----------
    name : str
    score : float
        Mean over the links with several jobs; 1 where there is none.
    links : tuple of JudgedLink
        Links that can be short of bandwidth.
    graph : AffinityGraph
        Graph of the links whose jobs are aligned. A placement with a loop is discarded.
    loop : tuple of str
        Loop in that graph; empty if there is none.
    """

    name: str
    score: float
    links: tuple[JudgedLink, ...]
    graph: AffinityGraph
    loop: tuple[str, ...]

    @property
    def time_shifts_s(self) -> dict[str, float]:
        """Delay of each job's next iteration, applied once; 0 for a job that shares no link. All are 0 if there is
        a loop."""
        if self.loop:
            return dict.fromkeys(self.graph.iteration_times_s, 0.0)
        return self.graph.time_shifts_s()


@dataclass(frozen=True, slots=True)
class PlacementChoice:
    """Candidates as judged, and the chosen one.

    Attributes
    ----------
    chosen : int
        Index of the best; of the first, the scheduler's own, where all have loops.
    placements : tuple of JudgedPlacement
    """

    chosen: int
    placements: tuple[JudgedPlacement, ...]

    @property
    def best(self) -> JudgedPlacement:
        """The chosen candidate."""
        return self.placements[self.chosen]


def choose_placement(
    candidates: Sequence[Candidate], rules: InterleavingRules = DEFAULT_RULES
) -> PlacementChoice:
    """Return the placement of the highest mean score of its links, and when its jobs begin.

    Parameters
    ----------
    candidates : sequence of Candidate
        Candidates in the scheduler's order, at most :data:`MOST_CANDIDATES`.

    Raises
    ------
    InvalidInput
        If there are none or too many.

    References
    ----------
    .. [1] S. Rajasekaran et al., "CASSINI", NSDI 2024, section 4, Algorithm 2.
    """
    if not 1 <= len(candidates) <= MOST_CANDIDATES:
        raise InvalidInput(
            f"placements: expected 1 to {MOST_CANDIDATES} candidates, got {len(candidates)}; hand over the best ones"
        )
    judged = tuple(judge_placement(candidate, rules) for candidate in candidates)
    chosen, best = 0, -math.inf
    for number, placement in enumerate(judged):
        if not placement.loop and placement.score > best + SAME_SCORE:
            chosen, best = number, placement.score
    return PlacementChoice(chosen, judged)


def judge_placement(candidate: Candidate, rules: InterleavingRules = DEFAULT_RULES) -> JudgedPlacement:
    """Interleave the jobs on each link of a placement, and make of this one shift a job where the links agree."""
    links = tuple(_judged(link, rules) for link in merge_links(candidate.shared, rules.merging))
    times_s = {profile.job: profile.iteration_time_s for link in candidate.links for profile in link.profiles}
    edges = [
        AffinityEdge(job, link.link, shift_s)
        for link in links
        if link.rotation is not None
        for job, shift_s in zip(link.jobs, link.rotation.time_shifts_s, strict=True)
    ]
    graph = AffinityGraph(times_s, tuple(edges))
    scores = [score for link in links for score in link.scores]
    scores += [1.0] * (len(candidate.shared) - len(scores))
    score = math.fsum(scores) / len(scores) if scores else 1.0
    return JudgedPlacement(candidate.name, score, links, graph, graph.loop())


def _judged(merged: MergedLink, rules: InterleavingRules) -> JudgedLink:
    decides, links = merged.decides, merged.links
    rotation = link_rotation(decides.profiles, decides.capacity_bps, rules)
    if rotation is not None:
        shift_s = dict(zip(decides.jobs, rotation.time_shifts_s, strict=True))
        scores = tuple(score_with(link, rotation, shift_s, rules) for link in links)
    else:
        scores = tuple(unaligned_score(link.profiles, link.capacity_bps) for link in links)
    names = tuple(link.link for link in links)
    return JudgedLink(decides.link, tuple(decides.jobs), names, scores, rotation)


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
