"""Workers of served models: given at arrival, before any training, and kept until they go, whoever has the rest."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from topoopt.clusters.scheduled.running_job import RunningJob


@dataclass(frozen=True, slots=True)
class ServingWorkers:
    """What served models have from now on.

    Attributes
    ----------
    counts : mapping from job to workers
        Of those that have any.
    waiting : bool
        Whether one has come and finds too few.
    ends_leases : bool
        Whether the leases of training end now, for one that has come needs some of those workers.
    """

    counts: Mapping[str, int]
    waiting: bool = False
    ends_leases: bool = False


def serving_workers(jobs: Sequence[RunningJob], workers: int, renewed: bool, leases: bool) -> ServingWorkers:
    """Return which served models get workers: in order of arrival, all that they ask for.

    Parameters
    ----------
    jobs
        All that have come and not gone, in order of arrival.
    workers
        Of the cluster.
    renewed
        Whether no training has workers that it keeps.
    leases
        Whether it can be made so.
    """
    served = [job for job in jobs if job.job.serving]
    counts = {job.job.job: len(job.servers) for job in served if job.servers}
    trained = 0 if renewed else sum(len(job.servers) for job in jobs if not job.job.serving)
    left = workers - sum(counts.values())
    ends_leases = False
    for job in served:
        if job.servers:
            continue
        wanted = job.job.servers
        if wanted > left - trained and leases and wanted <= left:
            trained, ends_leases = 0, True
        if wanted > left - trained:
            return ServingWorkers(counts, True, ends_leases)
        counts[job.job.job] = wanted
        left -= wanted
    return ServingWorkers(counts, False, ends_leases)
