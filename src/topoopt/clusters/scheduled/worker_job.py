"""A model on so many workers: one iteration of it where nobody disturbs it, and which workers send to which."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.clusters.interleave import CommunicationProfile, Phase
from topoopt.clusters.scheduled.network import WorkerNetwork
from topoopt.clusters.scheduled.placement import PlacedWorkers
from topoopt.clusters.trace import TraceJob


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
