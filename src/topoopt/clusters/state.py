"""What the course of a cluster knows between two events: jobs to come, in the queue, with servers, and ended."""

from dataclasses import dataclass

from topoopt.clusters.active_job import ActiveJob
from topoopt.clusters.job_plans import Prepared
from topoopt.clusters.shards import Shard, Shards


@dataclass(slots=True)
class WaitingJob:
    """A job in the queue.

    Attributes
    ----------
    shard : tuple of Shard
        With look-ahead the one that is wired for it, if any.
    free_s : float
        When the servers of that shard were expected to be free.
    """

    index: int
    prepared: Prepared
    shard: tuple[Shard, ...] = ()
    free_s: float = 0.0


class ClusterState:
    """Time, jobs and servers; :func:`~topoopt.clusters.run.go_on` goes on to the next event.

    Attributes
    ----------
    pending : list of WaitingJob
        Jobs that have not come yet, the next one last.
    changes : list of (float, int, int)
        At each change of the running jobs: the time, how many run, on how many servers.
    """

    def __init__(self, jobs: tuple[Prepared, ...], servers: int, shards: Shards) -> None:
        self.now_s = 0.0
        self.pending = [WaitingJob(index, job) for index, job in enumerate(jobs)][::-1]
        self.queue: list[WaitingJob] = []
        self.active: list[ActiveJob] = []
        self.ended: list[ActiveJob] = []
        self.changes: list[tuple[float, int, int]] = []
        self.servers, self.shards = servers, shards

    def arrive(self, waiting: WaitingJob) -> None:
        """Let a job join the queue: behind all others, or, if it is a model to be served, before all training."""
        served = [other.prepared.job.serving for other in self.queue]
        first = served.index("") if "" in served else len(served)
        self.queue.insert(first if waiting.prepared.job.serving else len(served), waiting)

    def give_up_wirings(self) -> None:
        """Take back what is wired ahead for training, so that a model to be served gets its servers first."""
        for waiting in self.queue:
            if waiting.shard and not waiting.prepared.job.serving:
                self.shards.release(waiting.prepared.job.job, self.now_s)
                waiting.shard = ()

    def place(self, waiting: WaitingJob, shard: Shard) -> None:
        """Give a shard to a job of the queue; it begins when the shard is ready."""
        self.queue.remove(waiting)
        self.shards.idle.difference_update(shard.servers)
        ready_s = max(self.now_s, shard.wired_s) + self.shards.change_s
        self.active.append(ActiveJob(waiting.index, waiting.prepared, shard, self.now_s, ready_s))

    def pause(self, job: ActiveJob) -> None:
        """Take the servers from a job."""
        job.advance(self.now_s)
        job.running = False
        self.shards.release(job.job.job, self.now_s)
        self.shards.idle.update(job.servers)

    def free_s(self) -> list[float]:
        """Return when each server is free, as it looks now."""
        free_s = [self.now_s] * self.servers
        for job in self.active:
            end_s = job.expected_end_s(self.now_s)
            for server in job.servers:
                free_s[server] = end_s
        return free_s
