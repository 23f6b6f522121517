"""PeriodicJob and LinkSharing: a job that repeats its profile, and the rule by which jobs share links."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.base.errors import InvalidInput
from topoopt.base.limits import whole
from topoopt.base.units import format_time
from topoopt.clusters.interleave.profiles.profile import CommunicationProfile
from topoopt.simulation import FAIR, Aggressiveness

MOST_UNEQUAL = 0.99
"""The largest part that a job gets of a link which it shares with the next one."""


@dataclass(frozen=True, slots=True)
class LinkSharing:
    """Weights of jobs that share links max-min fairly, one per job.

    Attributes
    ----------
    name : str
        Name in :data:`SHARINGS`.
    aggressiveness : Aggressiveness
        The weight of a job, by the part of its iteration's bytes that it has sent.
    ratio : float
        Additional factor between the weights of a job and the next one in order; 1 for equal jobs.
    learning_iterations : int
        Iterations in which a job learns its total bytes and its computing time, and has the weight 1.
    """

    name: str
    aggressiveness: Aggressiveness = FAIR
    ratio: float = 1.0
    learning_iterations: int = 0


def fair_sharing() -> LinkSharing:
    """Return the sharing of plain congestion control: all weights are 1."""
    return LinkSharing("fair")


def static_sharing(part: float = 0.6) -> LinkSharing:
    """Return static unfairness: of two jobs that follow each other in order the first has always this part of a link.

    Raises
    ------
    InvalidInput
        For a part below a half or above :data:`MOST_UNEQUAL`.

    Examples
    --------
    >>> round(static_sharing(0.6).ratio, 3)
    1.5
    """
    if not 0.5 <= part <= MOST_UNEQUAL:
        raise InvalidInput(f"static sharing: part {part:g}: expected 0.5 (fair) to {MOST_UNEQUAL:g}")
    return LinkSharing("static", ratio=part / (1.0 - part))


def mltcp_sharing(
    aggressiveness: Aggressiveness | None = None, *, learning_iterations: int = 0
) -> LinkSharing:
    """Return MLTCP's sharing, with totals given, or learned in the first iterations.

    Raises
    ------
    InvalidInput
        For a negative number of iterations.
    """
    if learning_iterations < 0:
        raise InvalidInput(f"learning_iterations: must be >= 0, got {learning_iterations}")
    return LinkSharing("mltcp", aggressiveness or Aggressiveness(), learning_iterations=learning_iterations)


SHARINGS: Mapping[str, Callable[[], LinkSharing]] = {
    "fair": fair_sharing,
    "static": static_sharing,
    "mltcp": mltcp_sharing,
}
"""Default rule of each sharing policy, by name."""


@dataclass(frozen=True, slots=True, eq=False)
class JobIterations:
    """The iterations of a job, all arrays of shape (iterations,).

    Attributes
    ----------
    job : str
    start_s, end_s : array
        Start and end of each iteration; the next one starts when it ends, or in the job's next slot.
    send_s : array
        Time at which its first phase begins to send.
    communication_s : array
        All its phases together.
    marks : array
        Packets of it with an ECN mark, as estimated in :class:`LinkUse`.
    sent_bytes : float
        Bytes of the profile sent since the start of the run, including those of an unfinished iteration.
    realignments : int
        Number of times that it waited for its slot.
    """

    job: str
    alone_s: float
    start_s: Floats
    end_s: Floats
    send_s: Floats
    communication_s: Floats
    marks: Floats
    sent_bytes: float
    realignments: int

    @property
    def time_s(self) -> Floats:
        """Duration of each iteration."""
        return self.end_s - self.start_s

    @property
    def period_s(self) -> Floats:
        """Time from start to start, waiting for slots included; the last iteration to its end."""
        return np.append(self.start_s[1:], self.end_s[-1:]) - self.start_s

    def settled_s(self, part: float = 0.5) -> float:
        """Return the mean time of the last iterations, this part of all; nan without any."""
        times_s = self.time_s[int(len(self.time_s) * (1.0 - part)) :]
        return float(times_s.mean()) if len(times_s) else float("nan")

    def __str__(self) -> str:
        if not len(self.start_s):
            return f"{self.job}: no iteration"
        return f"{self.job}: {len(self.start_s)} iterations, mean {format_time(float(self.time_s.mean()))}"


@dataclass(frozen=True, slots=True)
class LinkUse:
    """Use of a link during a run.

    Attributes
    ----------
    carried_bytes : float
    oversubscribed_s : float
        Time during which the active phases, each at its full rate, could have taken more than the capacity.
    ecn_marks : float
        An estimate of packets that are marked: while a link is full, and those who send could take D of its capacity
        C, the part 1 - C/D of the packets that cross it. By so much congestion control has to slow them all down. A
        measure to compare runs by; how many it is on a switch depends on its queue and on the transport, which the
        packet simulator has.
    """

    carried_bytes: float
    oversubscribed_s: float
    ecn_marks: float


@dataclass(frozen=True, slots=True, eq=False)
class PeriodicRun:
    """Result of :func:`run_periodic_jobs`: jobs and links in the given order.

    Attributes
    ----------
    jobs : tuple of JobIterations
    links : tuple of LinkUse
    """

    jobs: tuple[JobIterations, ...]
    links: tuple[LinkUse, ...]
    end_s: float

    @property
    def ecn_marks(self) -> float:
        """ECN marks of all links."""
        return sum(link.ecn_marks for link in self.links)

    def __str__(self) -> str:
        return "; ".join(map(str, self.jobs))


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
        Start of the first iteration: CASSINI's time shift, or the arrival.
    iterations : int, optional
        Iterations after which the job ends; by default it runs as long as the run.
    noise : float
        Standard deviation of each stretch of computing, as a part of its length.
    slot_s : float
        The job starts iterations at ``begin_s`` plus multiples of this, if it would miss them by more than
        ``drift_tolerance`` of its iteration time: it then waits for the next one. 0: it never waits.
    drift_tolerance : float
    group : int, optional
        Group of jobs that are shifted against each other. A late job does not wait: the others of its group start
        later by the same time.

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
