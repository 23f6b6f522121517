"""The question that is put to every way of sharing a link: which jobs, on which link, how far apart, for how long."""

import math
from dataclasses import dataclass, field

from topoopt.base.errors import InvalidInput
from topoopt.base.limits import whole
from topoopt.clusters.interleave.link_sharing import static_sharing
from topoopt.clusters.interleave.profile import CommunicationProfile, Phase
from topoopt.simulation import Aggressiveness

MOST_NOISE = 0.5


@dataclass(frozen=True, slots=True)
class SharingQuestion:
    """Jobs that share one link.

    Attributes
    ----------
    profiles : tuple of CommunicationProfile
    capacity_bps : float
        Of the link.
    iterations : int
        Of the longest job.
    offset : float
        Each job begins so much of the first job's communication after the one before it. At 0 jobs that are alike stay
        together for ever, also under MLTCP: nothing tells them apart.
    aggressiveness : Aggressiveness
        MLTCP's F.
    learning_iterations : int
        Iterations in which MLTCP learns its totals; 0 where they are given.
    static_part : float
        What a job gets of the link beside the next one under static unfairness.
    noise : float
        Standard deviation of computing times, as a part of them.
    seed : int
        Of the noise.

    Raises
    ------
    InvalidInput
        For no job, and numbers that cannot be.
    """

    profiles: tuple[CommunicationProfile, ...]
    capacity_bps: float
    iterations: int = 20
    offset: float = 0.05
    aggressiveness: Aggressiveness = field(default_factory=Aggressiveness)
    learning_iterations: int = 0
    static_part: float = 0.6
    noise: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        if not self.profiles:
            raise InvalidInput("jobs: expected at least one, got none; give job files, or communication=0.4")
        if not 0 < self.capacity_bps < math.inf:
            raise InvalidInput(
                f"capacity: expected a rate > 0 of the link that the jobs share, such as 50Gbps, got "
                f"{self.capacity_bps:g} b/s"
            )
        whole("iterations", self.iterations, 1)
        whole("learn", self.learning_iterations)
        whole("seed", self.seed)
        if not 0 <= self.offset < math.inf:
            raise InvalidInput(f"offset {self.offset:g}: expected a part of the communication >= 0")
        if not 0 <= self.noise <= MOST_NOISE:
            raise InvalidInput(
                f"noise {self.noise:g}: expected a part of the computing time, 0..{MOST_NOISE:g}"
            )
        static_sharing(self.static_part)  # refuses what is no part

    @property
    def begins_s(self) -> tuple[float, ...]:
        """When each job begins."""
        first = self.profiles[0]
        step_s = self.offset * first.duty * first.iteration_time_s
        return tuple(number * step_s for number in range(len(self.profiles)))


def equal_jobs(communication: tuple[float, ...], period_s: float, capacity_bps: float) -> SharingQuestion:
    """Return the question of jobs of one period that each send for a part of it at the full rate of the link.

    Raises
    ------
    InvalidInput
        For a part that is not in 0 < part < 1.

    Examples
    --------
    >>> [profile.job for profile in equal_jobs((0.4, 0.4), 0.1, 50e9).profiles]
    ['job 0', 'job 1']
    """
    for part in communication:
        if not 0 < part < 1:
            raise InvalidInput(f"communication {part:g}: expected a part of the period, 0 < part < 1")
    profiles = tuple(
        CommunicationProfile(f"job {number}", period_s, (Phase(0.0, part * period_s, capacity_bps),))
        for number, part in enumerate(communication)
    )
    return SharingQuestion(profiles, capacity_bps)
