"""Jobs on workers made by hand: half of an iteration they compute, then each sends to the next in a ring."""

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.clusters.interleave import CommunicationProfile, Phase
from topoopt.clusters.scheduling.model_workers import MakeWorkerJob, WorkerJob
from topoopt.clusters.trace import TraceJob

LINK_BPS = 50e9


def ring_job(
    name: str, workers: int, *, iteration_time_s: float = 0.2, duty: float = 0.5, rate_bps: float = LINK_BPS
) -> WorkerJob:
    """A job that computes, then sends around a ring for this part of its iteration."""
    phases = (Phase(iteration_time_s * (1 - duty), iteration_time_s * duty, rate_bps),) if workers > 1 else ()
    src = np.arange(workers if workers > 1 else 0)
    share: Floats = np.ones(len(src))
    return WorkerJob(
        CommunicationProfile(name, iteration_time_s, phases), src, (src + 1) % max(workers, 1), share
    )


def ring_jobs(iteration_time_s: float = 0.2, duty: float = 0.5) -> MakeWorkerJob:
    """Jobs of one kind, whatever the trace says."""

    def make(job: TraceJob, workers: int) -> WorkerJob:
        return ring_job(job.model, workers, iteration_time_s=iteration_time_s, duty=duty)

    return make
