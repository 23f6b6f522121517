"""The noun SharingJob: what a process does in an iteration, from a profile and a scale."""

from dataclasses import dataclass

from topoopt.base.errors import InvalidInput
from topoopt.clusters.interleave import CommunicationProfile, Phase

PACED_BELOW = 0.98
"""Of the link: phases of a lower rate are held back by the kernel, others send as fast as they can."""


@dataclass(frozen=True, slots=True)
class TestbedLink:
    """The link that jobs share, and by how much it is smaller here.

    Attributes
    ----------
    capacity_bps : float
        Not scaled.
    scale : float
        How many times slower it is here.
    stretch : float
        How many times longer an iteration is here.
    """

    __test__ = False

    capacity_bps: float
    scale: float
    stretch: float

    @property
    def bandwidth_bps(self) -> float:
        """Its bandwidth here."""
        return self.capacity_bps / self.scale


@dataclass(frozen=True, slots=True)
class Transfer:
    """What is sent, after a time of computing; a rate of 0 is as fast as it goes."""

    gap_s: float
    size_bytes: int
    rate_bps: float


@dataclass(frozen=True, slots=True)
class SharingJob:
    """A job as a process runs it, in seconds and bytes of the testbed.

    Attributes
    ----------
    begins_s : float
        Where in the profile the process begins: after a phase that wraps, else at its start.
    transfers : tuple of Transfer
        One for each phase.
    last_gap_s : float
        Computing after the last.
    """

    profile: CommunicationProfile
    begins_s: float
    transfers: tuple[Transfer, ...]
    last_gap_s: float

    @property
    def name(self) -> str:
        """What the job is called."""
        return self.profile.job

    @property
    def total_bytes(self) -> int:
        """What it sends in an iteration."""
        return sum(one.size_bytes for one in self.transfers)

    @property
    def compute_time_s(self) -> float:
        """The longest time for which it sends nothing; what comes after it is a new iteration."""
        gaps_s = [one.gap_s for one in self.transfers]
        gaps_s[0] += self.last_gap_s  # around the end of an iteration
        return max(gaps_s)


def sharing_job(profile: CommunicationProfile, link: TestbedLink) -> SharingJob:
    """Return what a process does in an iteration of a job.

    The gaps of the profile are timed; a phase lasts as long as its bytes take, at most at its rate.

    Raises
    ------
    InvalidInput
        If the job sends nothing, or never stops.
    """
    if not profile.phases or not profile.size_bytes:
        raise InvalidInput(f"job {profile.job}: sends nothing; give a job with a phase")
    period_s = profile.iteration_time_s
    begins_s = max(0.0, profile.phases[-1].end_s - period_s)
    at_s, transfers = begins_s, []
    for phase in profile.phases:
        transfers.append(_transfer(phase, max(0.0, phase.start_s - at_s), link))
        at_s = phase.end_s
    last_gap_s = max(0.0, period_s + begins_s - at_s)
    job = SharingJob(profile, begins_s * link.stretch, tuple(transfers), last_gap_s * link.stretch)
    if not job.compute_time_s:
        raise InvalidInput(f"job {profile.job}: sends all the time; jobs that share a link pause somewhere")
    return job


def _transfer(phase: Phase, gap_s: float, link: TestbedLink) -> Transfer:
    rate_bps = (
        phase.bandwidth_bps / link.scale if phase.bandwidth_bps < PACED_BELOW * link.capacity_bps else 0.0
    )
    size_bytes = max(1, round(phase.size_bytes * link.stretch / link.scale))
    return Transfer(gap_s * link.stretch, size_bytes, rate_bps)
