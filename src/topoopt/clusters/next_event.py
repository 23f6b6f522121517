"""From one event of a cluster to the next: jobs end, come, get servers, begin, and grow into what is idle."""

from topoopt.clusters.easy_backfill import start_waiting
from topoopt.clusters.pace import Pace
from topoopt.clusters.resizing import grow
from topoopt.clusters.state import ClusterState


def go_on(state: ClusterState, pace: Pace, backfill: bool) -> bool:
    """Go on to the next event and do what it brings; False if there is none."""
    times_s = [job.end_s if job.running else job.ready_s for job in state.active]
    if state.pending:
        times_s.append(_arrival_s(state))
    if not times_s:
        assert not state.queue, "a job that fits is started on an idle cluster"
        return False
    state.now_s = max(min(times_s), state.now_s)
    before = _running(state)
    _end(state)
    while state.pending and _arrival_s(state) <= state.now_s:
        state.arrive(state.pending.pop())
    start_waiting(state, backfill)
    _begin(state)
    if not state.queue:
        grow(state)
        _begin(state)
    if _running(state) != before:
        _retime(state, pace)
    return True


def _arrival_s(state: ClusterState) -> float:
    return state.pending[-1].prepared.job.arrival_s


def _running(state: ClusterState) -> list[tuple[int, tuple[int, ...]]]:
    """Return who runs where, in order of arrival."""
    return sorted((job.index, job.servers) for job in state.active if job.running)


def _end(state: ClusterState) -> None:
    for job in [job for job in state.active if job.running and job.end_s <= state.now_s]:
        job.end(state.now_s)
        state.pause(job)
        state.active.remove(job)
        state.ended.append(job)


def _begin(state: ClusterState) -> None:
    for job in state.active:
        if not job.running and job.ready_s <= state.now_s:
            state.shards.activate(job.job.job, state.now_s)
            job.begin(state.now_s)


def _retime(state: ClusterState, pace: Pace) -> None:
    """Ask for iteration times, for other jobs run, or on other servers, than before."""
    running = sorted((job for job in state.active if job.running), key=lambda job: job.index)
    for job, times in zip(running, pace([job.placed for job in running]), strict=True):
        job.retime(times, state.now_s)
    state.changes.append((state.now_s, len(running), sum(len(job.servers) for job in running)))
