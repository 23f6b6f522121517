"""CASSINI as the course of single workers asks it: the best of several placements, and when its jobs begin."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.clusters.interleave import (
    Candidate,
    CommunicationProfile,
    InterleavingRules,
    JudgedPlacement,
    SharedLink,
    choose_placement,
    job_slots_s,
)
from topoopt.clusters.scheduled.network import WorkerNetwork
from topoopt.clusters.scheduled.placement import ChosenPlacement, PlacedWorkers, Placement

DEFAULT_RULES = InterleavingRules()
"""Links are merged, and of several quanta the best is taken."""


@dataclass(frozen=True, eq=False)
class Cassini:
    """An :class:`~topoopt.clusters.scheduled.placement.Interleaver`; make it with :func:`cassini`.

    Attributes
    ----------
    cables : tuple of str
        Of each directed link: the two directions of a cable have the same.
    rules : InterleavingRules
    """

    cables: tuple[str, ...]
    rules: InterleavingRules

    def __call__(self, candidates: Sequence[Placement], capacities_bps: Floats) -> ChosenPlacement:
        """Return the placement with the best mean score of its links, and the shifts of its jobs."""
        links = [
            Candidate(str(number), self._shared(placement, capacities_bps))
            for number, placement in enumerate(candidates)
        ]
        choice = choose_placement(links, self.rules)
        jobs = [placed.job for placed in candidates[choice.chosen]]
        return _chosen(choice.chosen, choice.best, jobs)

    def _shared(self, placement: Placement, capacities_bps: Floats) -> tuple[SharedLink, ...]:
        """Return the links that several jobs use, with what jobs that send all the time leave of them.

        Nothing is gained by shifting those, which are served models: the others are shifted around them.
        """
        users: dict[int, list[CommunicationProfile]] = {}
        sending = [
            placed for placed in placement if placed.profile.phases and not sends_always(placed.profile)
        ]
        left_bps = _left(placement, capacities_bps)
        counts = np.bincount(np.concatenate([placed.links for placed in sending] or [np.zeros(0, np.int64)]))
        for placed in sending:
            by_share: dict[float, CommunicationProfile] = {}
            for link, share in zip(placed.links.tolist(), placed.shares.tolist(), strict=True):
                if counts[link] > 1:
                    profile = by_share.setdefault(share, _scaled(placed, share))
                    users.setdefault(link, []).append(profile)
        return tuple(
            SharedLink(f"link {link}", float(left_bps[link]), tuple(users[link]), self.cables[link])
            for link in sorted(users)
        )


def cassini(network: WorkerNetwork, rules: InterleavingRules = DEFAULT_RULES) -> Cassini:
    """Return what chooses among placements of jobs on a network."""
    topology = network.fabric.topology
    seen: dict[tuple[int, int], int] = {}
    cables = []
    for ends in zip(topology.src.tolist(), topology.dst.tolist(), strict=True):
        number = seen[ends] = seen.get(ends, -1) + 1
        cables.append(f"cable {min(ends)}-{max(ends)} {number}")
    return Cassini(tuple(cables), rules)


def sends_always(profile: CommunicationProfile) -> bool:
    """Return whether a job sends at one rate from one iteration to the next, as a served model does on average."""
    return len(profile.phases) == 1 and profile.phases[0].duration_s >= profile.iteration_time_s


def _left(placement: Placement, capacities_bps: Floats) -> Floats:
    """Return what is left of each link beside jobs that send all the time; at least a fair share for all on it."""
    left_bps, jobs = capacities_bps.astype(float), np.ones(len(capacities_bps))
    for placed in placement:
        jobs[placed.links] += 1
        if placed.profile.phases and sends_always(placed.profile):
            left_bps[placed.links] -= placed.shares * placed.profile.peak_bps
    return np.asarray(np.maximum(left_bps, capacities_bps / jobs))


def _scaled(placed: PlacedWorkers, share: float) -> CommunicationProfile:
    """Return what a job sends on a link on which it has this share of its profile's rate."""
    phases = tuple(
        replace(phase, bandwidth_bps=phase.bandwidth_bps * share) for phase in placed.profile.phases
    )
    return CommunicationProfile(placed.job, placed.profile.iteration_time_s, phases)


def _chosen(candidate: int, best: JudgedPlacement, jobs: Sequence[str]) -> ChosenPlacement:
    shifts_s, slots_s = best.time_shifts_s, job_slots_s(best)
    place = {job: number for number, job in enumerate(jobs)}
    groups = [] if best.loop else [group for group in best.graph.components() if len(group) > 1]
    return ChosenPlacement(
        candidate,
        best.score,
        tuple(shifts_s.get(job, 0.0) for job in jobs),
        tuple(slots_s.get(job, 0.0) for job in jobs),
        tuple(tuple(place[job] for job in group) for group in groups),
    )
