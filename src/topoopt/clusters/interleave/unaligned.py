"""The score of jobs that nobody aligns: the mean over all rotations."""

from collections.abc import Sequence

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.clusters.interleave.profile import CommunicationProfile


def unaligned_score(profiles: Sequence[CommunicationProfile], capacity_bps: float) -> float:
    """Return the mean compatibility score over all rotations of all jobs.

    It is what jobs come to whose iteration times have nothing in common, since these drift through all rotations, and
    what is to be expected of others before anybody shifts them.

    Examples
    --------
    Two jobs that are on half of the time meet for a quarter of it:

    >>> from topoopt.clusters.interleave.profile import Phase
    >>> jobs = [CommunicationProfile(name, 0.1, (Phase(0.0, 0.05, 50e9),)) for name in "ab"]
    >>> unaligned_score(jobs, 50e9)
    0.75
    """
    demand_bps: Floats = np.zeros(1)
    part: Floats = np.ones(1)
    for profile in profiles:
        rate_bps = np.array([0.0, *(phase.bandwidth_bps for phase in profile.phases)])
        parts = np.array([0.0, *(phase.duration_s / profile.iteration_time_s for phase in profile.phases)])
        parts[0] = max(0.0, 1.0 - parts.sum())
        demand_bps, place = np.unique(np.add.outer(demand_bps, rate_bps), return_inverse=True)
        part = np.asarray(np.bincount(place.ravel(), np.multiply.outer(part, parts).ravel()), np.float64)
    return float(1.0 - part @ np.maximum(demand_bps / capacity_bps - 1.0, 0.0))
