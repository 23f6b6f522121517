"""Several jobs at once on one fabric: how much each one slows the others down.

Every job runs its iterations back to back, so that a short job keeps disturbing a long one. The time until the
slowest job has done its first iteration counts; later iterations are ignored. Or every job runs a number of
iterations, all of which count: this shows whether jobs drift towards each other, or apart.
"""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.base.errors import InvalidInput
from topoopt.base.limits import whole
from topoopt.base.units import format_time
from topoopt.routing import Fabric
from topoopt.simulation.jobs.merged_jobs import Placement, check_jobs, checked_begins, merge_jobs, place_jobs
from topoopt.simulation.options import DEFAULT_OPTIONS, Report, SimulationOptions
from topoopt.simulation.result import SimResult
from topoopt.simulation.simulators import simulate
from topoopt.simulation.task_graph import TaskGraph


@dataclass(frozen=True, eq=False)
class JobsTogether:
    """Times of jobs that share a fabric.

    An iteration of a job is one run of its task graph from start to end.

    Attributes
    ----------
    placement : tuple of tuples of int
        Servers of each job.
    first_s : tuple of float
        First iteration of each job.
    mean_s : tuple of float
        Mean iteration of each job, over those that ended before the slowest job's first; or over all that were
        requested.
    iterations : tuple of int
        Number of these iterations, at least 1.
    begin_s : tuple of float
        Start of each job.
    ends_s : tuple of float64 arrays, shape (iterations,)
        End of each of these iterations of each job.
    result : SimResult
        Result of the whole run, with the tasks of all jobs; its own iteration time has no meaning here.
    """

    placement: Placement
    first_s: tuple[float, ...]
    mean_s: tuple[float, ...]
    iterations: tuple[int, ...]
    begin_s: tuple[float, ...]
    ends_s: tuple[Floats, ...]
    result: SimResult

    @property
    def iteration_times_s(self) -> tuple[Floats, ...]:
        """Every iteration of each job, from the end of the one before it."""
        return tuple(
            np.diff(ends_s, prepend=begin_s)
            for begin_s, ends_s in zip(self.begin_s, self.ends_s, strict=True)
        )

    @property
    def marks(self) -> tuple[int, ...] | None:
        """Packets of each job that arrived with a mark of congestion, all its iterations together; of packets alone."""
        result = self.result
        if result.packet is None:
            return None
        marks = np.bincount(result.graph.job, result.packet.task_marks, minlength=len(self.ends_s))
        return tuple(marks.astype(np.int64).tolist())

    def summary(self) -> dict[str, object]:
        """Return the figures for a table or a JSON file."""
        return {
            "simulator": self.result.simulator,
            "jobs": len(self.first_s),
            "first_iteration_time_s": list(self.first_s),
            "mean_iteration_time_s": list(self.mean_s),
            "iterations": list(self.iterations),
        }

    def __str__(self) -> str:
        rows = zip(self.first_s, self.mean_s, self.iterations, strict=True)
        return f"{self.result.simulator}: " + "; ".join(
            f"job {job} {format_time(first)}, mean of {count} {format_time(mean)}"
            for job, (first, mean, count) in enumerate(rows)
        )


def simulate_together(
    simulator: str,
    jobs: Sequence[TaskGraph],
    fabric: Fabric,
    placement: Placement | None = None,
    options: SimulationOptions = DEFAULT_OPTIONS,
    on_progress: Report | None = None,
    iterations: int | None = None,
    begin_s: Sequence[float] = (),
) -> JobsTogether:
    """Run jobs at once on one fabric, with any simulator.

    A fabric with rings has to hold those of :func:`topoopt.simulation.placed_groups`; an unknown group
    reduces on one ring along the routes.

    Parameters
    ----------
    placement : tuple of tuples of int, optional
        Servers of each job; by default one job after the other.
    iterations : int, optional
        Iterations per job; by default as many as fit into the slowest job's first.
    begin_s : sequence of float, optional
        Start of each job; by default all start together.

    Raises
    ------
    InvalidInput
        If there is no job, one without tasks, or a placement, a number or a time that does not fit.
    Infeasible
        If the fabric has too few servers.
    """
    if not jobs:
        raise InvalidInput("jobs: expected at least one, got none")
    servers = fabric.topology.servers
    if placement is None:
        placement = place_jobs([job.servers for job in jobs], servers)
    check_jobs(jobs, placement, servers)
    begins = checked_begins(begin_s, len(jobs))
    if iterations is None:
        alone = [_alone_s(job, fabric, row, options) for job, row in zip(jobs, placement, strict=True)]
        slowest = int(np.argmax(alone))
        repetitions = [1 + int(alone[slowest] / time_s) if time_s > 0 else 1 for time_s in alone]
        repetitions[slowest] = 1
    else:
        repetitions = [whole("iterations", iterations, 1)] * len(jobs)
    while True:
        merged = merge_jobs(jobs, placement, repetitions, servers, begins)
        result = simulate(simulator, merged.graph, fabric, options, on_progress)
        ends_s = [merged.ends_s(job, result.finish_s) for job in range(len(jobs))]
        if iterations is not None:
            return _seen(placement, begins, ends_s, float("inf"), result)
        until_s = max(float(ends[0]) for ends in ends_s)
        # a job that takes no time is never enough
        short = [begin < ends[-1] < until_s for begin, ends in zip(begins, ends_s, strict=True)]
        if not any(short):
            return _seen(placement, begins, ends_s, until_s, result)
        repetitions = [2 * times if early else times for times, early in zip(repetitions, short, strict=True)]


def _alone_s(job: TaskGraph, fabric: Fabric, row: tuple[int, ...], options: SimulationOptions) -> float:
    merged = merge_jobs([job], (row,), [1], fabric.topology.servers)
    options = dataclasses.replace(options, split="spread")  # the quickest to prepare
    quick = "analytic" if fabric.reconfiguration is None else "flow"
    return float(simulate(quick, merged.graph, fabric, options).finish_s.max())


def _seen(
    placement: Placement,
    begins: tuple[float, ...],
    ends_s: Sequence[Floats],
    until_s: float,
    result: SimResult,
) -> JobsTogether:
    counts = [max(1, int((ends <= until_s).sum())) for ends in ends_s]
    seen = tuple(ends[:count] for ends, count in zip(ends_s, counts, strict=True))
    return JobsTogether(
        placement,
        tuple(float(ends[0]) - begin_s for begin_s, ends in zip(begins, seen, strict=True)),
        tuple((float(ends[-1]) - begin_s) / len(ends) for begin_s, ends in zip(begins, seen, strict=True)),
        tuple(counts),
        begins,
        seen,
        result,
    )
