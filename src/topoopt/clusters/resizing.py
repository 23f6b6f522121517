"""Elastic jobs: they shrink when another one comes and finds no servers, and grow when servers are idle."""

from topoopt.clusters.active_job import ActiveJob
from topoopt.clusters.state import ClusterState


def shrink_for(state: ClusterState, servers: int) -> bool:
    """Halve elastic jobs, the largest first, until so many servers are idle; do nothing if that is not enough."""
    elastic = [job for job in state.active if job.running] if state.shards.elastic else []
    spare = sum(len(job.servers) - min(job.plans) for job in elastic)
    if len(state.shards.idle) + spare < servers:
        return False
    while len(state.shards.idle) < servers:
        largest = max(
            (job for job in elastic if len(job.servers) > min(job.plans)),
            key=lambda job: (len(job.servers), job.index),
        )
        smaller = max(size for size in largest.plans if size < len(largest.servers))
        resize(state, largest, largest.servers[:smaller])
    return True


def grow(state: ClusterState) -> None:
    """Enlarge elastic jobs, the earliest first, as far as servers are idle and the job is done sooner for it."""
    for job in sorted(state.active, key=lambda job: job.index) if state.shards.elastic else ():
        size = len(job.servers)
        for larger in sorted((other for other in job.plans if other > size), reverse=True):
            beside = state.shards.idle_beside(job.servers)
            choice = state.shards.choose(beside, larger - size) if job.running else None
            if choice is not None and _worth_it(state, job, larger):
                resize(state, job, (*job.servers, *choice[0]))
                break


def resize(state: ClusterState, job: ActiveJob, servers: tuple[int, ...]) -> None:
    """Let a job go on with other servers; it pauses while its links are made."""
    state.pause(job)
    plan = job.plans[len(servers)]
    choice = state.shards.choose(servers, len(servers))
    assert choice is not None, "the ports of idle servers are free"
    shard = state.shards.wire(job.job.job, servers, choice[1], plan.topology, state.now_s)
    state.shards.idle.difference_update(servers)
    job.resize(shard, state.now_s, max(state.now_s, shard.wired_s) + state.shards.change_s)


def _worth_it(state: ClusterState, job: ActiveJob, size: int) -> bool:
    """Return whether the pause for a larger size is made up for before the job ends."""
    job.advance(state.now_s)
    then_s = state.shards.change_s + job.left_s(job.plans[size].alone.mean_s, size)
    return then_s < job.left_s(job.times.mean_s, len(job.servers))
