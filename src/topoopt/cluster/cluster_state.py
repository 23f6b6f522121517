"""What the course of a cluster knows between two events, and what an event does to it."""

from collections.abc import Mapping
from dataclasses import dataclass

from topoopt.cluster.active_job import ActiveJob
from topoopt.cluster.pace import Pace
from topoopt.cluster.prepared import Prepared
from topoopt.cluster.resizing import grow, shrink_for
from topoopt.cluster.shards import Shard, Shards


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
    """Jobs to come, in the queue, with servers, and ended; :meth:`step` goes on to the next event.

    Attributes
    ----------
    changes : list of (float, int, int)
        At each change of the running jobs: the time, how many run, on how many servers.
    """

    def __init__(
        self, jobs: tuple[Prepared, ...], servers: int, shards: Shards, pace: Pace, backfill: bool
    ) -> None:
        self.now_s = 0.0
        self.queue: list[WaitingJob] = []
        self.active: list[ActiveJob] = []
        self.ended: list[ActiveJob] = []
        self.changes: list[tuple[float, int, int]] = []
        self.shards = shards
        self._pending = list(enumerate(jobs))[::-1]
        self._servers, self._pace, self._backfill = servers, pace, backfill
        self._ran: list[tuple[int, tuple[int, ...]]] = []

    def step(self) -> bool:
        """Go on to the next event and do what it brings; False if there is none."""
        times_s = [job.end_s if job.running else job.ready_s for job in self.active]
        if self._pending:
            times_s.append(self._pending[-1][1].job.arrival_s)
        if not times_s:
            assert not self.queue, "a job that fits is started on an idle cluster"
            return False
        self.now_s = max(min(times_s), self.now_s)
        for job in [job for job in self.active if job.running and job.end_s <= self.now_s]:
            job.end(self.now_s)
            self.pause(job)
            self.active.remove(job)
            self.ended.append(job)
        while self._pending and self._pending[-1][1].job.arrival_s <= self.now_s:
            self.queue.append(WaitingJob(*self._pending.pop()))
        self._schedule()
        self._begin()
        if not self.queue:
            grow(self)
            self._begin()
        self._retime()
        return True

    def pause(self, job: ActiveJob) -> None:
        """Take the servers from a job."""
        job.advance(self.now_s)
        job.running = False
        self.shards.release(job.job.job, self.now_s)
        self.shards.idle.update(job.servers)

    def _begin(self) -> None:
        for job in self.active:
            if not job.running and job.ready_s <= self.now_s:
                self.shards.activate(job.job.job, self.now_s)
                job.begin(self.now_s)

    def _retime(self) -> None:
        """Ask for iteration times if other jobs run, or on other servers, than before."""
        running = sorted((job for job in self.active if job.running), key=lambda job: job.index)
        run = [(job.index, job.servers) for job in running]
        if run == self._ran:
            return
        self._ran = run
        for job, times in zip(running, self._pace([job.placed for job in running]), strict=True):
            job.retime(times, self.now_s)
        self.changes.append((self.now_s, len(running), sum(len(job.servers) for job in running)))

    def _schedule(self) -> None:
        """Go through the queue once; ``promised`` are servers of jobs further ahead, and from when they need them."""
        promised: dict[int, float] = {}
        for waiting in list(self.queue):
            if waiting.shard:
                self._place_or_promise(waiting, promised)
            elif self._start_now(waiting, promised) or self._wire_ahead(waiting, promised):
                continue
            elif not self._backfill or self.shards.look_ahead:
                break  # with look-ahead: more shards cannot be wired before one of these jobs has gone
            elif not promised:
                found = self.shards.earliest(self._free_s(), waiting.prepared.wish, ())
                promised = dict.fromkeys(found[0], found[2]) if found else {}

    def _place_or_promise(self, waiting: WaitingJob, promised: dict[int, float]) -> None:
        shard = waiting.shard[0]
        if self.shards.idle.issuperset(shard.servers):
            self._place(waiting, shard)
        else:
            promised.update(dict.fromkeys(shard.servers, max(waiting.free_s, shard.wired_s)))

    def _start_now(self, waiting: WaitingJob, promised: Mapping[int, float]) -> bool:
        """Start a job on idle servers, an elastic one on fewer if need be, others shrinking for the first."""
        prepared = waiting.prepared
        sizes = sorted((size for size in prepared.plans if size <= prepared.wish), reverse=True)
        if any(self._start_at(waiting, size, promised) for size in sizes):
            return True
        may_shrink = not promised and shrink_for(self, sizes[-1])
        return may_shrink and self._start_at(waiting, sizes[-1], promised)

    def _start_at(self, waiting: WaitingJob, size: int, promised: Mapping[int, float]) -> bool:
        plan = waiting.prepared.plans[size]
        usable = self.shards.idle.difference(promised)
        if self._backfill and promised:
            work_s = waiting.prepared.work * plan.alone.mean_s * waiting.prepared.job.servers / size
            end_s = self.now_s + self.shards.longest_wait_s(plan.topology, self.now_s) + work_s
            usable.update(server for server in self.shards.idle if promised.get(server, 0.0) >= end_s)
        found = self.shards.choose(usable, size)
        if found is None:
            return False
        self._place(waiting, self.shards.wire(waiting.prepared.job.job, *found, plan.topology, self.now_s))
        return True

    def _wire_ahead(self, waiting: WaitingJob, promised: dict[int, float]) -> bool:
        """With look-ahead, wire a job on the other plane of the servers that are free first."""
        if not self.shards.look_ahead:
            return False
        size = waiting.prepared.wish
        found = self.shards.earliest(self._free_s(), size, promised)
        if found is None:
            return False
        servers, plane, waiting.free_s = found
        topology = waiting.prepared.plans[size].topology
        shard = self.shards.wire(waiting.prepared.job.job, servers, plane, topology, self.now_s)
        waiting.shard = (shard,)
        promised.update(dict.fromkeys(servers, max(waiting.free_s, shard.wired_s)))
        return True

    def _place(self, waiting: WaitingJob, shard: Shard) -> None:
        """Give a shard to a job; it begins when the shard is ready."""
        self.queue.remove(waiting)
        self.shards.idle.difference_update(shard.servers)
        ready_s = max(self.now_s, shard.wired_s) + self.shards.change_s
        self.active.append(ActiveJob(waiting.index, waiting.prepared, shard, self.now_s, ready_s))

    def _free_s(self) -> list[float]:
        """Return when each server is free, as it looks now."""
        free_s = [self.now_s] * self._servers
        for job in self.active:
            end_s = job.expected_end_s(self.now_s)
            for server in job.servers:
                free_s[server] = end_s
        return free_s
