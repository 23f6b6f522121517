"""Pipelined steps that several tests of this folder share."""

import heapq
from typing import Any

import numpy as np

from topoopt.routing import Fabric, make_routes
from topoopt.topologies import full_mesh
from topoopt.workloads.pipelined_step import Chunk, PipelinedStep

BANDWIDTH_BPS = 80e9


def pipeline(
    stages: int, replicas: int, micro_batches: int, chunks: tuple[Chunk, ...], **others: Any
) -> PipelinedStep:
    """Return a step whose workers have a server each: worker (s, r) is on server s·replicas + r."""
    servers = stages * replicas
    place = np.arange(servers).reshape(stages, replicas, 1)
    return PipelinedStep(servers, micro_batches, chunks, place, **others)


def equal_chunks(count: int, forward_s: float, backward_s: float, output_bytes: int = 0) -> tuple[Chunk, ...]:
    chunk = Chunk(forward_s, backward_s, output_bytes)
    return (chunk,) * (count - 1) + (Chunk(forward_s, backward_s),)


def own_links(servers: int) -> Fabric:
    """Return a fabric with a link for every pair of servers."""
    topology = full_mesh(servers, BANDWIDTH_BPS * (servers - 1))
    return Fabric("full-mesh", topology, make_routes("ecmp", topology), {})


def scheduled_s(forward_s: list[float], backward_s: list[float], stages: int, micro_batches: int) -> float:
    """Return the makespan of a pipeline by events, without a word of the code that is tested.

    One chunk a stage: a worker goes forward while fewer micro-batches than the stages from it to the end are under
    way, else backward. Several chunks: the nested loops of the paper's description.
    """
    order = _orders(len(forward_s) // stages, stages, micro_batches)
    done: set[tuple[str, int, int]] = set()
    idle, events, now = set(range(stages)), [(0.0, 0, -1, ("", 0, 0))], 0.0
    heapq.heapify(events)
    number, last = 0, len(forward_s) - 1
    while events:
        now, _, worker, task = heapq.heappop(events)
        if worker >= 0:
            done.add(task)
            idle.add(worker)
        for free in sorted(idle):
            if not order[free]:
                continue
            kind, chunk, batch = order[free][0]
            needs = (
                [("F", chunk - 1, batch)] if kind == "F" else [("B", chunk + 1, batch), ("F", chunk, batch)]
            )
            if all(need in done or not 0 <= need[1] <= last for need in needs):
                number += 1
                seconds = (forward_s if kind == "F" else backward_s)[chunk]
                heapq.heappush(events, (now + seconds, number, free, order[free].pop(0)))
                idle.remove(free)
    assert not any(order), "the schedule is stuck"
    return now


def _orders(chunks_per_stage: int, stages: int, micro_batches: int) -> list[list[tuple[str, int, int]]]:
    found = []
    for stage in range(stages):
        forth, back = [], []
        for first in range(0, micro_batches, stages):
            batches = range(first, min(first + stages, micro_batches))
            mine = [stage + local * stages for local in range(chunks_per_stage)]
            forth += [("F", chunk, batch) for chunk in mine for batch in batches]
            back += [("B", chunk, batch) for chunk in reversed(mine) for batch in batches]
        order, under_way = [], 0
        after = stages - stage - 1
        most = after + 1 if chunks_per_stage == 1 else 2 * after + stages * (chunks_per_stage - 1) + 1
        while back:
            if forth and under_way < most:
                order.append(forth.pop(0))
                under_way += 1
            else:
                order.append(back.pop(0))
                under_way -= 1
        found.append(order)
    return found
