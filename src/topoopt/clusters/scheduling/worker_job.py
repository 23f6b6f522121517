"""A model on so many workers: one iteration of it where nobody disturbs it, and which workers send to which."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.clusters.interleave import CommunicationProfile, Phase
from topoopt.clusters.scheduling.network import WorkerNetwork
from topoopt.clusters.trace import TraceJob


@dataclass(frozen=True, eq=False)
class PlacedWorkers:
    """A job on its workers.

    Attributes
    ----------
    job : str
    servers : tuple of int
        One for each worker, in the job's own order.
    profile : CommunicationProfile
        What the busiest of them sends over one iteration, where nobody disturbs it.
    links : int64 array, shape (links used,)
        Directed links of the network, ascending; none for a single worker.
    shares : float64 array, shape (links used,)
        The job's rate on each, over that of the profile.
    """

    job: str
    servers: tuple[int, ...]
    profile: CommunicationProfile
    links: Ints
    shares: Floats


Placement = tuple[PlacedWorkers, ...]
"""All jobs that run at a time."""


@dataclass(frozen=True, slots=True)
class ChosenPlacement:
    """One of several placements, and when its jobs begin an iteration.

    Attributes
    ----------
    candidate : int
    score : float
        Mean compatibility score of the links that several jobs use; 1 where none is.
    time_shifts_s : tuple of float
        For each job of the placement, in order: iterations begin at this time, modulo the iteration time, after one
        common moment.
    periods_s : tuple of float
        The iteration times to which jobs are held, as they were rounded to find the shifts: a job that is off by more
        than 5 % of its iteration has its shift applied anew. 0 for a job that is let run as it does.
    groups : tuple of tuples of int
        Sets of jobs of which each has its shift among the others; the moment is one for each set. A job that is in
        none starts when it can.
    """

    candidate: int
    score: float
    time_shifts_s: tuple[float, ...]
    periods_s: tuple[float, ...]
    groups: tuple[tuple[int, ...], ...]


class Interleaver(Protocol):
    """Chooses among placements by how well jobs share links in them, as CASSINI does."""

    def __call__(self, candidates: Sequence[Placement], capacities_bps: Floats) -> ChosenPlacement:
        """Return the best placement with its time shifts.

        Parameters
        ----------
        candidates : sequence of Placement
            One to ten, the scheduler's own first; all have the same jobs in the same order.
        capacities_bps : float64 array, shape (links,)
            Of the links of the network.
        """
        ...


@dataclass(frozen=True, eq=False)
class WorkerJob:
    """One iteration on workers 0, 1, ...

    Attributes
    ----------
    profile : CommunicationProfile
        What the busiest worker sends; no phases where there is one worker only.
    src, dst : int64 arrays, shape (pairs,)
        Workers that send each other something.
    share : float64 array, shape (pairs,)
        The rate of a pair over that of the profile, the same in all phases.
    spread : bool
        Whether a pair has connections on all paths, as a served model has, and not one.
    """

    profile: CommunicationProfile
    src: Ints
    dst: Ints
    share: Floats
    spread: bool = False


MakeWorkerJob = Callable[[TraceJob, int], WorkerJob]
"""Returns a job of a trace on so many workers."""


def placed_workers(
    network: WorkerNetwork, job: str, shape: WorkerJob, servers: tuple[int, ...]
) -> PlacedWorkers:
    """Return a job on servers of a network, with what it puts on which links.

    Where several of its own connections meet on one link it takes longer than with links for each.
    """
    at = np.array(servers, np.int64)
    src, dst = at[shape.src], at[shape.dst]
    if shape.spread:
        links, shares = network.spread_shares(src, dst, shape.share)
    else:
        links, shares = network.link_shares(job, src, dst, shape.share)
    worst_per_bps = float((shares / network.capacities_bps[links]).max(initial=0.0))
    return PlacedWorkers(job, servers, slowed(replace(shape.profile, job=job), worst_per_bps), links, shares)


def slowed(profile: CommunicationProfile, per_bps: float) -> CommunicationProfile:
    """Return a profile whose phases last longer where a link would be more than full.

    Parameters
    ----------
    per_bps : float
        The part of its fullest link that each bit a second of the profile takes.

    Examples
    --------
    >>> from topoopt.clusters.interleave import Phase
    >>> alone = CommunicationProfile("a", 0.2, (Phase(0.1, 0.02, 30e9), Phase(0.15, 0.05, 50e9)))
    >>> there = slowed(alone, 2 / 50e9)
    >>> round(there.iteration_time_s, 3), [round(phase.start_s, 3) for phase in there.phases], round(there.peak_bps)
    (0.254, [0.1, 0.154], 25000000000)
    """
    phases: list[Phase] = []
    later_s = 0.0
    for phase in profile.phases:
        longer = max(phase.bandwidth_bps * per_bps, 1.0)
        phases.append(Phase(phase.start_s + later_s, phase.duration_s * longer, phase.bandwidth_bps / longer))
        later_s += phase.duration_s * (longer - 1.0)
    return CommunicationProfile(profile.job, profile.iteration_time_s + later_s, tuple(phases))
