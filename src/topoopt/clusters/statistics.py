"""Statistics of all jobs of a trace on one fabric: means, quantiles and totals."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from topoopt.catalog import NetworkRow
from topoopt.clusters.result import Distribution, FabricRun, IterationTime, JobRecord, ServedRecord
from topoopt.clusters.trace import TraceJob
from topoopt.schema.files import noun_from


class CountedJob:
    """A job's progress from arrival to end, on its own servers or on single workers.

    Attributes
    ----------
    index : int
        Position in order of arrival.
    end_s : float
        End at the current pace of iterations; infinite until it is known.
    weights : mapping from seconds to iterations
        Number of iterations by duration.
    run_s, alone_s : float
        Time of all iterations, and their time on the same servers without other jobs.
    done : float
        Iterations done, counted on the servers that the trace requests.
    moves : int
        Fibers or workers moved for it.
    """

    def __init__(self, index: int, job: TraceJob) -> None:
        self.index, self.job, self.end_s = index, job, float("inf")
        self.weights: defaultdict[float, float] = defaultdict(float)
        self.done, self.iterations, self.run_s, self.alone_s = 0.0, 0.0, 0.0, 0.0
        self.moves, self._stopped_s = 0, 0.0
        self._first_servers: tuple[int, ...] = ()
        self._assigned_s = self._start_s = job.arrival_s
        self._resizes: list[tuple[float, int]] = []

    @property
    def mean_s(self) -> float:
        """Mean iteration time until now."""
        return self.run_s / self.iterations

    def record(self) -> JobRecord:
        """Return the record of a job that has ended."""
        arrival_s = self.job.arrival_s
        return JobRecord(
            self.job.job,
            self.job.model,
            self._first_servers,
            arrival_s,
            self._start_s,
            self.end_s,
            self._assigned_s - arrival_s,
            self._stopped_s,
            self.end_s - arrival_s,
            self._counted,
            IterationTime(self.mean_s, distribution(list(self.weights), list(self.weights.values())).p99),
            self.moves,
            tuple(self._resizes),
            self._served() if self.job.serving else None,
            None if self.job.serving else self.alone_s / self.iterations,
        )

    @property
    def _counted(self) -> float:
        return self.iterations

    def _served(self) -> ServedRecord:
        raise NotImplementedError


def fabric_run(
    fabric: NetworkRow,
    ended: Sequence[CountedJob],
    changes: Sequence[tuple[float, int, int]],
    *,
    servers: int,
    weighting: str,
    parts: int = 1,
) -> FabricRun:
    """Return the results of a fabric from its jobs, all ended.

    Parameters
    ----------
    servers, parts : int
        Servers of the cluster, and logical servers in each.
    weighting : str
        Name in :data:`topoopt.clusters.WEIGHTINGS`.
    """
    jobs = [job.record() for job in sorted(ended, key=lambda job: job.index)]
    running = tuple((time_s, count, servers / parts) for time_s, count, servers in changes)
    busy = sum((later[0] - row[0]) * row[2] for row, later in pairwise(running))
    last_s = max(job.end_s for job in jobs)
    return noun_from(
        FabricRun,
        fabric,
        server_bandwidth_bps=fabric.server_bandwidth_bps * parts,
        iteration_time_s=iteration_times([job for job in ended if not job.job.serving], weighting),
        completion_time_s=distribution([job.completion_time_s for job in jobs]),
        queueing_s=distribution([job.queueing_s for job in jobs]),
        rewiring_s=distribution([job.rewiring_s for job in jobs]),
        utilization=busy / (servers * last_s),
        moves=sum(job.moves for job in jobs),
        jobs=tuple(jobs),
        running=running,
    )


def iteration_times(jobs: Sequence[CountedJob], weighting: str) -> Distribution:
    """Return the distribution of iteration times of all jobs together; those of served models are none.

    With ``jobs`` every job counts the same, and so does every iteration of one job; the mean is then the mean of the
    jobs' means, as in the paper's figure of the shared cluster. With ``iterations`` every iteration counts the same,
    so that jobs of short iterations count most.
    """
    values: list[float] = []
    weights: list[float] = []
    for job in jobs:
        scale = 1.0 / job.iterations if weighting == "jobs" else 1.0
        values += job.weights
        weights += [weight * scale for weight in job.weights.values()]
    counts = [1.0 if weighting == "jobs" else job.iterations for job in jobs]
    mean_s = sum(job.mean_s * count for job, count in zip(jobs, counts, strict=True)) / sum(counts)
    return replace(distribution(values, weights), mean=mean_s)


def distribution(values: Sequence[float], weights: Sequence[float] = ()) -> Distribution:
    """Return mean, median, 99th percentile and maximum of weighted values.

    A quantile is the least value that, with all below it, has that share of the weight; nothing is interpolated.

    Parameters
    ----------
    values : at least one
    weights : of each value, >= 0; by default all count alike

    Examples
    --------
    >>> distribution([1.0, 2.0, 3.0], [1.0, 1.0, 2.0])
    Distribution(mean=2.25, p50=2.0, p99=3.0, max=3.0)
    """
    counted = np.asarray(weights if len(weights) else np.ones(len(values)), np.float64)
    order = np.argsort(values, kind="stable")
    ascending, share = np.asarray(values, np.float64)[order], np.cumsum(counted[order])
    share /= share[-1]
    p50, p99 = (float(ascending[np.searchsorted(share, q - 1e-12)]) for q in (0.5, 0.99))
    mean = float(np.average(values, weights=counted))
    return Distribution(mean, p50, p99, float(ascending[-1]))
