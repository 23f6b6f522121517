"""EASY backfilling: who of the queue gets servers now, and who may go first because that delays nobody ahead.

A model to be served stands before all training in the queue, and takes the servers that are wired ahead for training
if it finds no others.

References
----------
.. [1] D. Lifka, "The ANL/IBM SP scheduling system", JSSPP 1995.
"""

from collections.abc import Mapping

from topoopt.clusters.resizing import shrink_for
from topoopt.clusters.state import ClusterState, WaitingJob

Promised = dict[int, float]
"""Servers of jobs further ahead in the queue, and from when (seconds) they need them."""


def start_waiting(state: ClusterState, backfill: bool) -> None:
    """Go through the queue once, and give servers to whom they can be given.

    Parameters
    ----------
    backfill
        Whether jobs may go past the first one that has to wait, on servers that it does not need before they end.
    """
    promised: Promised = {}
    for waiting in list(state.queue):
        if waiting.prepared.job.serving and not waiting.shard:
            if _start_now(state, waiting, {**_wired_ahead(state), **promised}, backfill=False):
                continue
            state.give_up_wirings()
        if waiting.shard:
            _place_or_promise(state, waiting, promised)
        elif _start_now(state, waiting, promised, backfill) or _wire_ahead(state, waiting, promised):
            continue
        elif not backfill or state.shards.look_ahead:
            break  # with look-ahead: more shards cannot be wired before one of these jobs has gone
        elif not promised:
            reservation = state.shards.earliest(state.free_s(), waiting.prepared.wish, ())
            promised = dict.fromkeys(reservation[0], reservation[2]) if reservation else {}


def _wired_ahead(state: ClusterState) -> Promised:
    """Return the servers that are wired for who waits."""
    return {
        server: waiting.free_s
        for waiting in state.queue
        for shard in waiting.shard
        for server in shard.servers
    }


def _place_or_promise(state: ClusterState, waiting: WaitingJob, promised: Promised) -> None:
    shard = waiting.shard[0]
    if state.shards.idle.issuperset(shard.servers):
        state.place(waiting, shard)
    else:
        promised.update(dict.fromkeys(shard.servers, max(waiting.free_s, shard.wired_s)))


def _start_now(
    state: ClusterState, waiting: WaitingJob, promised: Mapping[int, float], backfill: bool
) -> bool:
    """Start a job on idle servers, an elastic one on fewer if need be, others shrinking for the first."""
    prepared = waiting.prepared
    sizes = sorted((size for size in prepared.plans if size <= prepared.wish), reverse=True)
    if any(_start_at(state, waiting, size, promised, backfill) for size in sizes):
        return True
    may_shrink = not promised and shrink_for(state, sizes[-1])
    return may_shrink and _start_at(state, waiting, sizes[-1], promised, backfill)


def _start_at(
    state: ClusterState, waiting: WaitingJob, size: int, promised: Mapping[int, float], backfill: bool
) -> bool:
    prepared, shards = waiting.prepared, state.shards
    plan = prepared.plans[size]
    usable = shards.idle.difference(promised)
    if backfill and promised:
        work_s = prepared.work * plan.alone.mean_s * prepared.job.servers / size
        end_s = state.now_s + shards.longest_wait_s(plan.topology, state.now_s) + work_s
        usable.update(server for server in shards.idle if promised.get(server, 0.0) >= end_s)
    choice = shards.choose(usable, size)
    if choice is None:
        return False
    state.place(waiting, shards.wire(prepared.job.job, *choice, plan.topology, state.now_s))
    return True


def _wire_ahead(state: ClusterState, waiting: WaitingJob, promised: Promised) -> bool:
    """With look-ahead, wire a job on the other plane of the servers that are free first."""
    if not state.shards.look_ahead:
        return False
    size = waiting.prepared.wish
    reservation = state.shards.earliest(state.free_s(), size, promised)
    if reservation is None:
        return False
    servers, plane, waiting.free_s = reservation
    topology = waiting.prepared.plans[size].topology
    shard = state.shards.wire(waiting.prepared.job.job, servers, plane, topology, state.now_s)
    waiting.shard = (shard,)
    promised.update(dict.fromkeys(servers, max(waiting.free_s, shard.wired_s)))
    return True
