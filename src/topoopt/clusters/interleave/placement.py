"""Which of several placements lets jobs share links best: CASSINI's module for schedulers."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from topoopt.base.errors import InvalidInput
from topoopt.clusters.interleave.affinity import AffinityEdge, AffinityGraph
from topoopt.clusters.interleave.link_rotation import (
    InterleavingRules,
    LinkRotation,
    link_rotation,
    score_with,
)
from topoopt.clusters.interleave.merging import MergedLink, merge_links
from topoopt.clusters.interleave.shared_link import ALIKE, SharedLink
from topoopt.clusters.interleave.unaligned import unaligned_score

MOST_CANDIDATES = 10
"""Placements that a scheduler hands over, as in the paper."""
SAME_SCORE = 1e-9
"""Scores that differ by no more are equal; of these the scheduler's earlier placement is taken."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A placement, as far as jobs meet in it.

    Attributes
    ----------
    name : str
    links : tuple of SharedLink
        The links that its jobs use, each with what every job sends there; those of one job do not count.

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
"""Links are merged, and of several quanta the best is taken."""


@dataclass(frozen=True, slots=True)
class JudgedLink:
    """Links that got one interleaving.

    Attributes
    ----------
    link : str
        Its name in the affinity graph.
    jobs : tuple of str
    stands_for : tuple of str
        All links whose jobs it suits.
    scores : tuple of float
        Of each of these; where the jobs are not aligned, the mean over all rotations.
    rotation : LinkRotation or None
        How its jobs are aligned; None where that does not help.
    """

    link: str
    jobs: tuple[str, ...]
    stands_for: tuple[str, ...]
    scores: tuple[float, ...]
    rotation: LinkRotation | None


@dataclass(frozen=True, slots=True)
class JudgedPlacement:
    """What came of a candidate.

    Attributes
    ----------
    name : str
    score : float
        Mean over the links with several jobs; 1 where there is none.
    links : tuple of JudgedLink
        Without those that are never short.
    graph : AffinityGraph
        Of those whose jobs are aligned. If it has a loop the placement is discarded.
    loop : tuple of str
        That loop; empty if there is none.
    """

    name: str
    score: float
    links: tuple[JudgedLink, ...]
    graph: AffinityGraph
    loop: tuple[str, ...]

    @property
    def time_shifts_s(self) -> dict[str, float]:
        """When each job begins an iteration, once; a job that meets nobody at 0. Nobody waits where there is a loop."""
        if self.loop:
            return dict.fromkeys(self.graph.iteration_times_s, 0.0)
        return self.graph.time_shifts_s()


@dataclass(frozen=True, slots=True)
class PlacementChoice:
    """Candidates as judged, and which of them was taken.

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
        """The one that was taken."""
        return self.placements[self.chosen]

    @property
    def discarded(self) -> int:
        """How many have loops."""
        return sum(bool(placement.loop) for placement in self.placements)


def choose_placement(
    candidates: Sequence[Candidate], rules: InterleavingRules = DEFAULT_RULES
) -> PlacementChoice:
    """Return the placement of the highest mean score of its links, and when its jobs begin.

    Parameters
    ----------
    candidates : sequence of Candidate
        In the order in which the scheduler likes them, at most :data:`MOST_CANDIDATES`.

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
    graph = _graph(candidate, links)
    scores = [score for link in links for score in link.scores]
    scores += [1.0] * (len(candidate.shared) - len(scores))
    score = math.fsum(scores) / len(scores) if scores else 1.0
    return JudgedPlacement(candidate.name, score, links, graph, graph.loop())


def _graph(candidate: Candidate, links: Sequence[JudgedLink]) -> AffinityGraph:
    times_s = {profile.job: profile.iteration_time_s for link in candidate.links for profile in link.profiles}
    edges = [
        AffinityEdge(job, link.link, shift_s)
        for link in links
        if link.rotation is not None
        for job, shift_s in zip(link.jobs, link.rotation.time_shifts_s, strict=True)
    ]
    return AffinityGraph(times_s, tuple(edges))


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
