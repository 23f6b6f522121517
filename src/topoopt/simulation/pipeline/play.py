"""When each worker is done: the passes of one replica, one after the other by the schedule.

What a worker sends on in one direction goes one after the other; nothing else shares its links.
"""

from dataclasses import dataclass
from math import isnan

from topoopt.simulation.pipeline.queues import Queues
from topoopt.workloads.pipelined_step import PipelinedStep

Seconds = list[float]


@dataclass(frozen=True, slots=True)
class PassTimes:
    """Seconds of the passes of one replica through each chunk, and of what chunks send each other.

    Attributes
    ----------
    seconds : list of lists, one per direction and chunk
        With the exchanges inside.
    output_s, gradient_s : lists, one per chunk
        Of activations from the chunk to the next, and of the gradients that come back; the last is not read.
    """

    seconds: list[Seconds]
    output_s: Seconds
    gradient_s: Seconds


@dataclass(frozen=True, slots=True)
class Played:
    """When each stage is done with its passes and with what comes after them; when each chunk's last one runs."""

    stage_end_s: Seconds
    drained_s: Seconds
    last_begin_s: Seconds
    last_end_s: Seconds


def play(step: PipelinedStep, times: PassTimes, queues: tuple[Queues, ...]) -> Played:
    """Return when the workers of one replica are done.

    Parameters
    ----------
    queues : tuple of Queues, one per stage
        What goes on around the passes of the stage.
    """
    stages, last = step.stages, len(step.chunks) - 1
    never = float("nan")
    arrived = [[[never] * step.micro_batches for _ in step.chunks] for _ in (0, 1)]
    orders = [_passes(step, stage) for stage in range(stages)]
    free_s, place = [0.0] * stages, [0] * stages
    sent_s = [[0.0] * stages, [0.0] * stages]
    begin_s, end_s = [0.0] * (last + 1), [0.0] * (last + 1)
    seconds = times.seconds
    stage = waiting = 0
    while waiting < stages:
        order, at = orders[stage], place[stage]
        waiting += 1
        while at < len(order):
            backward, chunk, batch = order[at]
            ready_s = _ready_s(arrived, backward, chunk, batch, last)
            if isnan(ready_s):
                break
            begin = max(free_s[stage], ready_s, queues[stage].fetched_s(at))
            free_s[stage] = begin + seconds[backward][chunk]
            sent = _sent_s(times, backward, chunk, last)
            if sent:
                sending = max(sent_s[backward][stage], free_s[stage]) + sent
                sent_s[backward][stage] = arrived[backward][chunk][batch] = sending
                if step.chunks[chunk - backward].blocking and at + 1 < len(order):
                    free_s[stage] = sending
            else:
                arrived[backward][chunk][batch] = free_s[stage]
            queues[stage].finish(at, free_s[stage])
            if backward:
                begin_s[chunk], end_s[chunk] = begin, free_s[stage]
            at += 1
            waiting = 0
        place[stage] = at
        stage = (stage + 1) % stages
    assert all(at == len(order) for at, order in zip(place, orders, strict=True)), "a schedule never blocks"
    drained_s = [queue.drained_s() for queue in queues]
    return Played(free_s, drained_s, begin_s, end_s)


def _ready_s(arrived: list[list[Seconds]], backward: int, chunk: int, batch: int, last: int) -> float:
    """Return when the input of a pass is there; nan if that is not known yet."""
    if not backward:
        return arrived[0][chunk - 1][batch] if chunk else 0.0
    return arrived[0][chunk][batch] if chunk == last else arrived[1][chunk + 1][batch]


def _sent_s(times: PassTimes, backward: int, chunk: int, last: int) -> float:
    """Return how long what a pass hands on is under way."""
    if backward:
        return times.gradient_s[chunk - 1] if chunk else 0.0
    return times.output_s[chunk] if chunk < last else 0.0


def _passes(step: PipelinedStep, stage: int) -> list[tuple[int, int, int]]:
    order = step.order_of(stage)
    columns = order.direction.tolist(), order.chunk.tolist(), order.micro_batch.tolist()
    return list(zip(*columns, strict=True))
