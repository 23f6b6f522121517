"""The same where gradients of weights are passes of their own, and where several passes are done as one."""

from math import isnan

import numpy as np

from topoopt.simulation.pipeline.passes import FORWARD, WEIGHTS
from topoopt.simulation.pipeline.play import PassTimes, Played, Seconds
from topoopt.simulation.pipeline.queues import Queues
from topoopt.workloads.pipelined_step import PipelinedStep

Pass = tuple[int, int, int, int]
"""Place in its worker's order, direction, chunk and micro-batch."""


def play_split(step: PipelinedStep, times: PassTimes, queues: tuple[Queues, ...]) -> Played:
    """Return when the workers of one replica are done, as :func:`~topoopt.simulation.pipeline.play.play`."""
    stages, never = step.stages, float("nan")
    arrived = [[[never] * step.micro_batches for _ in step.chunks] for _ in (0, 1)]
    before, after = ([step.neighbor(chunk, way) for chunk in range(len(step.chunks))] for way in (-1, 1))
    orders = [_done_as_one(step, stage) for stage in range(stages)]
    free_s, at = [0.0] * stages, [0] * stages
    sent_s = [[0.0] * len(step.chunks) for _ in (0, 1)]
    begin_s, end_s = ([0.0] * len(step.chunks) for _ in (0, 1))

    def seconds_of(one: Pass) -> float:
        """Return how long what a pass makes is under way."""
        _, direction, chunk, _ = one
        to = (after, before)[direction][chunk]
        return 0.0 if to is None else (times.output_s, times.gradient_s)[direction][min(chunk, to)]

    stage = waiting = 0
    while waiting < stages:
        waiting += 1
        while at[stage] < len(orders[stage]):
            passes = orders[stage][at[stage]]
            ready_s = _ready_s(arrived, passes, before, after)
            if isnan(ready_s):
                break
            now_s = max(free_s[stage], ready_s)
            for place, direction, chunk, _ in passes:
                begin = max(now_s, queues[stage].fetched_s(place))
                now_s = begin + times.seconds[direction][chunk]
                queues[stage].finish(place, now_s)
                if direction == WEIGHTS:
                    begin_s[chunk], end_s[chunk] = begin, now_s
            free_s[stage] = now_s
            at[stage] += 1
            left = [one for one in passes if one[1] != WEIGHTS]
            sending_s = sum(seconds_of(one) for one in left)  # they have the same way, and share its links
            for one in left:
                _, direction, chunk, batch = one
                there_s = now_s
                if seconds_of(one):
                    there_s = max(sent_s[direction][chunk], now_s) + sending_s
                    sent_s[direction][chunk] = there_s
                    blocking = step.chunks[chunk if direction == FORWARD else chunk - 1].blocking
                    if blocking and at[stage] < len(orders[stage]):
                        free_s[stage] = max(free_s[stage], there_s)
                arrived[direction][chunk][batch] = there_s
            waiting = 0
        stage = (stage + 1) % stages
    assert all(place == len(order) for place, order in zip(at, orders, strict=True)), (
        "a schedule never blocks"
    )
    drained_s = [queue.drained_s() for queue in queues]
    return Played(free_s, drained_s, begin_s, end_s)


def _ready_s(
    arrived: list[list[Seconds]], passes: list[Pass], before: list[int | None], after: list[int | None]
) -> float:
    """Return when the inputs of passes are there; nan if that is not known yet."""
    ready_s = 0.0
    for _, direction, chunk, batch in passes:
        if direction == WEIGHTS:
            continue
        of = (before, after)[direction][chunk]
        if of is not None:
            input_s = arrived[direction][of][batch]
        else:
            input_s = arrived[FORWARD][chunk][batch] if direction else 0.0
        if isnan(input_s):
            return input_s
        ready_s = max(ready_s, input_s)
    return ready_s


def _done_as_one(step: PipelinedStep, stage: int) -> list[list[Pass]]:
    order = step.order_of(stage)
    columns = order.direction.tolist(), order.chunk.tolist(), order.micro_batch.tolist()
    passes = list(zip(range(len(order)), *columns, strict=True))
    begins = np.unique(order.begin)
    return [passes[begin : int(order.end[begin]) + 1] for begin in begins.tolist()]
