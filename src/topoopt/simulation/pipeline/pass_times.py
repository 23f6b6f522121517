"""When each worker is done: the passes of one replica, one after the other by the schedule.

What a worker sends on in one direction goes one after the other; nothing else shares its links.
"""

from collections import deque
from dataclasses import dataclass, field
from math import isnan

from topoopt.workloads.pipelined_step import PipelinedStep

Key = tuple[int, int]
"""Direction of a pass as an index into ``PASSES``, and the chunk."""
Around = tuple[float, float, int]
"""Seconds of an exchange before it needs links, those for which it would hold them alone, and its operations."""
TIE_S = 1e-15


@dataclass(slots=True)
class _Request:
    """An exchange that is under way or waits for the one before it: its pass, and what is left of it."""

    place: int
    delay_s: float
    links_s: float


@dataclass(slots=True)
class _Queue:
    """Exchanges of one kind; the first is under way."""

    seconds: dict[Key, Around]
    before: bool
    waiting: deque[_Request] = field(default_factory=deque)


@dataclass(slots=True)
class Queues:
    """The exchanges around the passes of one stage, while its passes are played.

    What is before pass k may begin when pass k - 2 is done, that of the first two at once. All operations but one of
    the first pass, and of the last, go on beside it.

    Attributes
    ----------
    order : list of (direction, chunk)
        Of the stage's passes.
    """

    order: list[Key]
    queues: list[_Queue] = field(default_factory=list)
    now_s: float = 0.0
    fetched: dict[int, float] = field(default_factory=dict)

    def add(self, seconds: dict[Key, Around], *, before: bool) -> None:
        """Add a kind of exchanges."""
        queue = _Queue(seconds, before)
        self.queues.append(queue)
        if before:
            self._request(queue, 0, self.order[0], one_of_them=True)
            self._request(queue, 1, self.order[0], one_of_them=False)
            self._request(queue, 1, self.order[1])

    def fetched_s(self, place: int) -> float:
        """Return when all that comes before a pass is there; the passes before it are done."""
        while any(
            queue.before and queue.waiting and queue.waiting[0].place <= place for queue in self.queues
        ):
            self._advance(float("inf"))
        return self.fetched.get(place, 0.0)

    def finish(self, place: int, end_s: float) -> None:
        """Tell that a pass is done at ``end_s``."""
        if not self.queues:
            return
        while self._advance(end_s):
            pass
        last = len(self.order) - 1
        for queue in self.queues:
            if queue.before:
                if place + 2 <= last:
                    self._request(queue, place + 2, self.order[place + 2])
                continue
            if place < last:
                self._request(queue, place, self.order[place])
            if place >= last - 1:
                self._request(queue, last, self.order[last], one_of_them=place == last)

    def drained_s(self) -> float:
        """Return when all exchanges are done, 0 if there are none."""
        while any(queue.waiting for queue in self.queues):
            self._advance(float("inf"))
        return self.now_s

    def _request(self, queue: _Queue, place: int, key: Key, *, one_of_them: bool | None = None) -> None:
        """Ask for the exchange of a pass; or for one of its operations, or for all but one."""
        if key in queue.seconds:
            delay_s, links_s, count = queue.seconds[key]
            share = 1.0 if one_of_them is None else 1 / count if one_of_them else 1 - 1 / count
            queue.waiting.append(_Request(place, delay_s * share, links_s * share))

    def _advance(self, until_s: float) -> bool:
        """Go on to ``until_s`` or until something changes; tell whether it has."""
        active = [queue.waiting[0] for queue in self.queues if queue.waiting]
        delayed = [one for one in active if one.delay_s > TIE_S]
        moving = [one for one in active if one.delay_s <= TIE_S]
        share = max(len(moving), 1)
        changes = [one.delay_s for one in delayed] + [one.links_s * share for one in moving]
        passed_s = min([until_s - self.now_s, *changes])
        for one in delayed:
            one.delay_s -= passed_s
        for one in moving:
            one.links_s -= passed_s / share
        self.now_s += passed_s
        for queue in self.queues:
            if queue.waiting and max(queue.waiting[0].delay_s, queue.waiting[0].links_s) <= TIE_S:
                place = queue.waiting.popleft().place
                if queue.before:
                    self.fetched[place] = max(self.fetched.get(place, 0.0), self.now_s)
        return self.now_s < until_s and bool(changes)


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
