"""Results of jobs that shared a link: their iterations per run, and the effect of each congestion control."""

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from topoopt.base.answers import Frame, fields_of, frame, shows_itself
from topoopt.plugins.testbeds.congestion_control import MltcpIteration
from topoopt.plugins.testbeds.sharing.processes import Iteration, SharingJob, TestbedLink

STEADY = 0.5
"""The last part of a run's iterations, whose mean is its steady iteration time."""


@dataclass(frozen=True, slots=True)
class JobRun:
    """A job in one run.

    Attributes
    ----------
    dedicated_s : float
        Iteration time with the link to itself, under reno.
    iterations : tuple of Iteration
    """

    job: str
    dedicated_s: float
    iterations: tuple[Iteration, ...]

    @property
    def steady_s(self) -> float:
        """Mean of the last half of the iterations."""
        last = self.iterations[int(len(self.iterations) * (1 - STEADY)) :]
        return fmean(one.time_s for one in last)

    @property
    def slowdown(self) -> float:
        """Steady over dedicated."""
        return self.steady_s / self.dedicated_s


@dataclass(frozen=True, slots=True)
class SharedRun:
    """All jobs in one run.

    Attributes
    ----------
    jobs : tuple of JobRun
    dropped_packets : int
        Packets dropped before the shared link.
    kernel : tuple of MltcpIteration
        Final estimates of MLTCP, per connection or per job.
    """

    jobs: tuple[JobRun, ...]
    dropped_packets: int
    kernel: tuple[MltcpIteration, ...] = ()

    @property
    def slowdown(self) -> float:
        """Steady over dedicated, the mean of all jobs."""
        return fmean(job.slowdown for job in self.jobs)

    @property
    def slowdowns(self) -> tuple[float, ...]:
        """Iteration time over dedicated time by iteration, the mean of all jobs."""
        columns = zip(
            *([one.time_s / job.dedicated_s for one in job.iterations] for job in self.jobs), strict=False
        )
        return tuple(fmean(column) for column in columns)


@dataclass(frozen=True, slots=True)
class Sharing:
    """Results of one sharing policy, over all runs.

    Attributes
    ----------
    congestion : str
        ``reno``, ``cubic`` or ``mltcp``.
    shifted : bool
        Whether jobs began with CASSINI's time shifts.
    """

    congestion: str
    shifted: bool
    runs: tuple[SharedRun, ...]

    @property
    def name(self) -> str:
        """Display name."""
        return f"{self.congestion} + CASSINI" if self.shifted else self.congestion

    @property
    def slowdown(self) -> float:
        """Steady over dedicated, the mean of all runs."""
        return fmean(run.slowdown for run in self.runs)

    @property
    def least_slowdown(self) -> float:
        """Slowdown of the best run."""
        return min(run.slowdown for run in self.runs)

    @property
    def most_slowdown(self) -> float:
        """Slowdown of the worst run."""
        return max(run.slowdown for run in self.runs)

    @property
    def first_slowdown(self) -> float:
        """Slowdown of the first iteration, the mean of all runs."""
        return fmean(run.slowdowns[0] for run in self.runs)

    @property
    def steady_time_s(self) -> float:
        """Steady iteration time, the mean of all runs and jobs."""
        return fmean(job.steady_s for run in self.runs for job in run.jobs)

    @property
    def dropped_packets(self) -> float:
        """Dropped packets per run, the mean."""
        return fmean(run.dropped_packets for run in self.runs)


@shows_itself
@dataclass(frozen=True, eq=False, repr=False)
class TestbedShare:
    """Jobs that shared a link of this host, under one policy after the other.

    Attributes
    ----------
    jobs : tuple of SharingJob
    link : TestbedLink
    queue_bytes : int
        Queue before the link.
    dedicated_s : tuple of float
        Mean iteration time of each job with the link to itself, under reno.
    ways : tuple of Sharing
        The first is the one to compare with.
    time_shifts_s : tuple of float
        CASSINI's, in seconds of the testbed; empty where not requested.
    """

    __test__ = False

    jobs: tuple[SharingJob, ...]
    link: TestbedLink
    queue_bytes: int
    dedicated_s: tuple[float, ...]
    ways: tuple[Sharing, ...]
    time_shifts_s: tuple[float, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return all figures; times and bytes are the testbed's."""
        return {
            "jobs": [
                {
                    "job": job.name,
                    **fields_of(job, "total_bytes", "compute_time_s"),
                    "dedicated_s": dedicated_s,
                }
                for job, dedicated_s in zip(self.jobs, self.dedicated_s, strict=True)
            ],
            **fields_of(self.link, "capacity_bps", "bandwidth_bps", "scale", "stretch"),
            "queue_bytes": self.queue_bytes,
            "time_shifts_s": list(self.time_shifts_s),
            "ways": [{**_way(way), "runs": [_run(run) for run in way.runs]} for way in self.ways],
        }

    def to_frame(self) -> Frame:
        """Return one row per policy as a pandas table."""
        return frame(map(_way, self.ways))


def _way(way: Sharing) -> Mapping[str, Any]:
    return {
        "congestion": way.congestion,
        "cassini": way.shifted,
        **fields_of(
            way,
            "slowdown",
            "least_slowdown",
            "most_slowdown",
            "first_slowdown",
            "steady_time_s",
            "dropped_packets",
        ),
    }


def _run(run: SharedRun) -> Mapping[str, Any]:
    return {
        "slowdown": run.slowdown,
        "slowdowns": list(run.slowdowns),
        "dropped_packets": run.dropped_packets,
        "jobs": [
            {
                "job": job.job,
                "steady_time_s": job.steady_s,
                "starts_s": [one.start_s for one in job.iterations],
                "iteration_times_s": [one.time_s for one in job.iterations],
                "sending_times_s": [one.sending_s for one in job.iterations],
            }
            for job in run.jobs
        ],
        "kernel": [{name: getattr(one, name) for name in MltcpIteration.__slots__} for one in run.kernel],
    }
