"""The noun PeriodicJob: a job that repeats its profile, where it sends, and when it begins."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from topoopt.base.errors import InvalidInput
from topoopt.base.limits import whole
from topoopt.clusters.interleave.profile import CommunicationProfile

DRIFT_TOLERANCE = 0.05
"""Part of an iteration by which a start may be off before a job's time shift is applied anew, as in CASSINI."""


@dataclass(frozen=True, slots=True)
class PeriodicJob:
    """A job that repeats its profile, on some links.

    Attributes
    ----------
    profile : CommunicationProfile
        A phase's bytes begin when those of the phase before have ended plus the gap between the two; its rate is that
        of the phase at most.
    links : mapping of int to float, or a sequence of them
        The links that a phase's bytes cross, and how many bytes on it for each byte of the profile; for all phases, or
        a mapping for each.
    begin_s : float
        When the first iteration starts: CASSINI's time shift, or the arrival.
    iterations : int, optional
        After so many the job is gone; by default it goes on as long as the run.
    noise : float
        Standard deviation of each stretch of computing, as a part of its length.
    slot_s : float
        The job starts iterations at ``begin_s`` plus multiples of this, if it would miss them by more than
        ``drift_tolerance`` of its iteration time: it then waits for the next one. 0: it never waits.
    drift_tolerance : float
    group : int, optional
        Of jobs that are shifted against each other. One that is late does not wait: the others of its group start as
        much later than they would have.

    Raises
    ------
    InvalidInput
        For times, links and counts that cannot be.
    """

    profile: CommunicationProfile
    links: Mapping[int, float] | Sequence[Mapping[int, float]] = field(default_factory=lambda: {0: 1.0})
    begin_s: float = 0.0
    iterations: int | None = None
    noise: float = 0.0
    slot_s: float = 0.0
    drift_tolerance: float = DRIFT_TOLERANCE
    group: int | None = None

    def __post_init__(self) -> None:
        here = f"job {self.profile.job}"
        for name, value in (
            ("begin", self.begin_s),
            ("noise", self.noise),
            ("slot", self.slot_s),
            ("drift tolerance", self.drift_tolerance),
        ):
            if not 0 <= value < math.inf:
                raise InvalidInput(f"{here}: {name} {value:g}: expected a finite number >= 0")
        if self.iterations is not None:
            whole(f"{here}: iterations", self.iterations, 1)
        phases = len(self.profile.phases)
        if not isinstance(self.links, Mapping) and len(self.links) != phases:
            raise InvalidInput(
                f"{here}: links of {len(self.links)} phases: expected as many as the profile has, {phases}"
            )

    def phase_links(self, phase: int) -> Mapping[int, float]:
        """Return the links of a phase of the profile."""
        return self.links if isinstance(self.links, Mapping) else self.links[phase]
