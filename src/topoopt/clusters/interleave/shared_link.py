"""A link, and what each of the jobs sends over it; how the demands of one link compare with another's."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.base.errors import InvalidInput
from topoopt.clusters.interleave.profile import CommunicationProfile, Phase

ALIKE = 1e-6
"""Times within this part of an iteration, and rates within this part of another, are the same: both come from sums."""


@dataclass(frozen=True)
class SharedLink:
    """A link and the jobs on it.

    Attributes
    ----------
    link : str
        Its name.
    capacity_bps : float
    profiles : tuple of CommunicationProfile
        What each job sends here over an iteration.
    cable : str
        The same for the two directions of a cable; empty where that is not known.

    Raises
    ------
    InvalidInput
        Without a name or capacity, or for a job that is there twice.
    """

    link: str
    capacity_bps: float
    profiles: tuple[CommunicationProfile, ...]
    cable: str = ""

    def __post_init__(self) -> None:
        if not self.link:
            raise InvalidInput("shared link: has no name; give each link its own")
        if not 0 < self.capacity_bps < math.inf:
            raise InvalidInput(
                f"link {self.link}: capacity {self.capacity_bps:g} b/s: expected a finite rate > 0"
            )
        names = [profile.job for profile in self.profiles]
        for name in names:
            if names.count(name) > 1:
                raise InvalidInput(f"link {self.link}: job {name} is there twice; add up what it sends")

    @cached_property
    def jobs(self) -> dict[str, CommunicationProfile]:
        """The profile of each job."""
        return {profile.job: profile for profile in self.profiles}

    @cached_property
    def fullness(self) -> float:
        """The part of its capacity that is asked for where all jobs send their most at once."""
        return math.fsum(profile.peak_bps for profile in self.profiles) / self.capacity_bps

    @property
    def can_be_short(self) -> bool:
        """Whether the jobs can ask for more than it has, whenever each sends."""
        return len(self.profiles) > 1 and self.fullness > 1 + ALIKE

    def same_demands(self, other: "SharedLink") -> bool:
        """Return whether the same jobs send the same here and there."""
        return self.jobs.keys() == other.jobs.keys() and all(
            _at_most(profile, other.jobs[job]) and _at_most(other.jobs[job], profile)
            for job, profile in self.jobs.items()
        )

    def covers(self, other: "SharedLink") -> bool:
        """Return whether all jobs of another link are here, and never take a larger part of that link than of this."""
        factor = self.capacity_bps / other.capacity_bps
        return all(
            job in self.jobs and _at_most(profile, self.jobs[job], factor)
            for job, profile in other.jobs.items()
        )


def highest_profile(profiles: Sequence[CommunicationProfile]) -> CommunicationProfile:
    """Return at every time the highest rate of a job's profiles.

    Parameters
    ----------
    profiles : sequence of CommunicationProfile
        Of one job and one iteration time, on several links.

    Examples
    --------
    >>> one = CommunicationProfile("a", 1.0, (Phase(0.0, 0.4, 1.0),))
    >>> two = CommunicationProfile("a", 1.0, (Phase(0.25, 0.5, 2.0),))
    >>> highest_profile([one, two]).phases[0], highest_profile([one, two]).phases[1].end_s
    (Phase(start_s=0.0, duration_s=0.25, bandwidth_bps=1.0), 0.75)
    """
    first = profiles[0]
    begins_s, ends_s = _pieces(profiles)
    middle_s = (begins_s + ends_s) / 2
    rate = np.max([profile.demand_bps(middle_s) for profile in profiles], axis=0)
    pieces = zip(begins_s.tolist(), (ends_s - begins_s).tolist(), rate.tolist(), strict=True)
    phases = [Phase(begin_s, length_s, rate_bps) for begin_s, length_s, rate_bps in pieces if rate_bps > 0]
    joined: list[Phase] = []
    for phase in phases:
        last = joined[-1] if joined else None
        if last is not None and last.end_s == phase.start_s and last.bandwidth_bps == phase.bandwidth_bps:
            joined[-1] = Phase(last.start_s, phase.end_s - last.start_s, phase.bandwidth_bps)
        else:
            joined.append(phase)
    return CommunicationProfile(first.job, first.iteration_time_s, tuple(joined))


def _at_most(low: CommunicationProfile, high: CommunicationProfile, factor: float = 1.0) -> bool:
    """Return whether ``low * factor`` is never above ``high``."""
    if abs(low.iteration_time_s - high.iteration_time_s) > ALIKE * high.iteration_time_s:
        return False
    begins_s, ends_s = _pieces([low, high])
    long = ends_s - begins_s > ALIKE * high.iteration_time_s
    middle_s = (begins_s + ends_s)[long] / 2
    above = low.demand_bps(middle_s) * factor - high.demand_bps(middle_s) * (1 + ALIKE)
    return bool((above <= ALIKE * high.peak_bps).all())


def _pieces(profiles: Sequence[CommunicationProfile]) -> tuple[Floats, Floats]:
    """Return begin and end of the stretches of an iteration in which no rate changes; none where nothing is sent."""
    period_s = profiles[0].iteration_time_s
    times_s = [
        time for profile in profiles for phase in profile.phases for time in (phase.start_s, phase.end_s)
    ]
    begins_s = np.unique(np.mod(np.array(times_s, np.float64), period_s))
    return begins_s, np.append(begins_s[1:], begins_s[:1] + period_s)
