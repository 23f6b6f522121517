"""The noun PeriodicRun: every iteration of jobs that shared links, and what the links carried."""

from dataclasses import dataclass

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.base.units import format_time


@dataclass(frozen=True, slots=True, eq=False)
class JobIterations:
    """The iterations of a job, all arrays of shape (iterations,).

    Attributes
    ----------
    job : str
    alone_s : float
        Its iteration time where nobody disturbs it.
    start_s, end_s : array
        Of each iteration; the next one starts when it ends, or in the job's next slot.
    send_s : array
        When its first phase begins to send.
    communication_s : array
        All its phases together.
    marks : array
        Packets of it with an ECN mark, as estimated in :class:`LinkUse`.
    sent_bytes : float
        Of the profile, since the start of the run; those of an iteration that is not done are among them.
    realignments : int
        How often it waited for its slot.
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
        """What each iteration took."""
        return self.end_s - self.start_s

    @property
    def period_s(self) -> Floats:
        """From start to start, waiting for slots included; the last iteration to its end."""
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
    """What a link carried.

    Attributes
    ----------
    carried_bytes : float
    oversubscribed_s : float
        For so long those who sent, each at the rate of its phase, could have taken more than the link has.
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
    """What :func:`run_periodic_jobs` answers: jobs and links in the order in which they were given.

    Attributes
    ----------
    jobs : tuple of JobIterations
    links : tuple of LinkUse
    end_s : float
        When the run ended.
    """

    jobs: tuple[JobIterations, ...]
    links: tuple[LinkUse, ...]
    end_s: float

    @property
    def ecn_marks(self) -> float:
        """Of all links."""
        return sum(link.ecn_marks for link in self.links)

    def __str__(self) -> str:
        return "; ".join(map(str, self.jobs))
