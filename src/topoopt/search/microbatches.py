"""Micro-batches of a graph of operators: the job as one batch that takes as long, and the strategies that gain."""

from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from topoopt.jobs import AUTO_MICROBATCHES, BUCKET_SIZES, Job, operators_of
from topoopt.search.options import SearchOptions
from topoopt.search.port_estimate import PortNetwork, port_estimate
from topoopt.search.starting_strategies import fits
from topoopt.search.strategy_pool import strategy_pool
from topoopt.workloads import Operator, OperatorTime, OperatorTimer, ParallelStrategy

LARGEST_TO_SETTLE = 256
"""Servers up to which all sizes of buckets are tried, here and on other fabrics, and an algorithm for each message. Of
1,024 servers each simulation takes seconds of CPU time, and choosing algorithms half a minute: above, the default
bucket or the largest is used, with rings."""

FEW = MappingProxyType({"bucket_bytes": (BUCKET_SIZES[1], BUCKET_SIZES[-1]), "microbatches": (2, 4)})
"""Values that are tried on other fabrics beside the default."""
LARGEST_TO_CUT, MOST_CUT = 64, 2
"""Servers up to which strategies are ranked by their time in micro-batches, and the most of them that are simulated."""


def is_small(job: Job) -> bool:
    """Return whether a simulation of the job takes so little that many are made."""
    return job.cluster.servers <= LARGEST_TO_SETTLE


def for_search(job: Job) -> Job:
    """Return the job as searched: with rings, which the search's estimate models."""
    return with_settings(job, collective="stepped")


def possible_counts(job: Job, counts: tuple[int, ...]) -> tuple[int, ...]:
    """Return the numbers of micro-batches of whole samples; one, where a simulation takes long."""
    samples = operators_of(job).graph.batch_per_accelerator if is_small(job) else 1
    return tuple(count for count in counts if count <= samples)


@dataclass(frozen=True, slots=True)
class MicrobatchTimer:
    """Timer of all micro-batches of a part, one after the other, as if they were one batch."""

    timer: OperatorTimer
    count: int

    def time(self, op: Operator, samples: float, channel_degree: int = 1) -> OperatorTime:
        """Return the time of all of them together."""
        one = self.timer.time(op, samples / self.count, channel_degree)
        return replace(one, forward_s=self.count * one.forward_s, backward_s=self.count * one.backward_s)


def jobs_in_microbatches(job: Job) -> dict[int, Job]:
    """Return the job as one batch that takes as long as its micro-batches, by the number of these.

    The numbers are those that other fabrics try. Estimates of them do not see that the exchanges of a micro-batch
    overlap with the computation of the next.
    """
    setting, work = job.settings.microbatches, operators_of(job)
    one = with_settings(job, microbatches=1)
    counts = possible_counts(job, (1, *FEW["microbatches"])) if setting == AUTO_MICROBATCHES else (setting,)
    timers = {count: MicrobatchTimer(work.timer, count) if count > 1 else work.timer for count in counts}
    return {count: replace(one, work=replace(work, timer=timer)) for count, timer in timers.items()}


@lru_cache(maxsize=16)
def cut_strategies(job: Job, options: SearchOptions) -> tuple[tuple[ParallelStrategy, int], ...]:
    """Return strategies of the pool that gain from several micro-batches, with the number of these, the best first.

    The search estimates whole batches, whose best strategy need not be the best for micro-batches: CANDLE on 8 servers
    with 8 ports of 400 Gb/s takes 102.6 ms with the best strategy for whole batches, and 89.0 ms data parallel in four
    micro-batches. They are estimated on one switch that has all ports.
    """
    if job.settings.microbatches != AUTO_MICROBATCHES or job.cluster.servers > LARGEST_TO_CUT:
        return ()
    cluster, times_s = job.cluster, dict[tuple[ParallelStrategy, int], float]()
    switch = PortNetwork(1, 1, cluster.server_bandwidth_bps, cluster.link_latency_s, 2)
    pool = tuple(dict.fromkeys((job.work.plain_strategy(cluster.servers), *strategy_pool(job, options))))
    known = tuple(row for row in pool if fits(job, row)) if len(pool) > 1 else ()
    for count, batch in jobs_in_microbatches(for_search(job)).items() if known else ():
        estimate = port_estimate(batch, known)
        for place, strategy in enumerate(known):
            times_s[strategy, count] = estimate.iteration_time_s(place, switch)
    whole_s = min((time_s for (_, count), time_s in times_s.items() if count == 1), default=0.0)
    faster = [row for row, time_s in times_s.items() if row[1] > 1 and time_s < whole_s]
    return tuple(sorted(faster, key=times_s.__getitem__)[:MOST_CUT])


@lru_cache(maxsize=16)
def _replaced(job: Job, changes: tuple[tuple[str, Any], ...]) -> Job:
    return replace(job, settings=replace(job.settings, **dict(changes)))


def with_settings(job: Job, **changes: Any) -> Job:
    """Return the job with changed settings; the job itself where they are the same."""
    same = all(getattr(job.settings, name) == value for name, value in changes.items())
    return job if same else _replaced(job, tuple(changes.items()))
